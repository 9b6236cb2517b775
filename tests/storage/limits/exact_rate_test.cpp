// A rate in PostgreSQL under several claimers at once: the starts by the clock by which they were allowed.
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "storage/limit_book.hpp"
#include "tests/storage/limits/noted_starts.hpp"
#include "tests/storage/limits/windows.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn {
namespace {

using namespace test;

TEST(ExactRate, of_claimers_at_once_on_four_shards_no_window_has_more_than_n_and_the_burst) {
  constexpr std::int32_t shards = 4;
  constexpr int jobs = 60;
  const StartRate rate{40, 500'000, 4};
  const std::string dsn = new_database(shards);
  note_starts(dsn);
  const std::unique_ptr<Store> store = store_on(dsn);
  for (int n = 0; n < jobs; ++n)
    ASSERT_EQ(TestRun(*store, n % shards).start(job_of(1, 1, noon, "model")).kind, Verdict::Kind::committed);
  ASSERT_TRUE(store->limits().change_limits({{.name = "model", .rate = rate}, "ada"}));
  std::atomic<int> claimed{0};
  const auto work = [&](SessionId session) {
    const std::unique_ptr<Store> own = store_on(dsn);
    for (int n = 0; claimed < jobs; ++n) {
      ClaimRequest request = claim_request(session, 3, n % shards);
      request.queues = {"model"};
      claimed += static_cast<int>(own->claim(request).jobs.size());
      if (n % shards == 0) own->await_notification(5, NotifiedBy::any_process);
    }
  };
  std::vector<std::thread> threads;
  for (SessionId session = 1; session <= 4; ++session) threads.emplace_back(work, session);
  for (std::thread& thread : threads) thread.join();
  const std::vector<TimeUs> starts = noted_starts(dsn);
  EXPECT_EQ(starts.size(), std::size_t{jobs});
  EXPECT_LE(most_in_a_window(starts, rate.per_us), rate.n + rate.burst);
}

TEST(ExactRate, of_claimers_and_of_holders_who_take_starts_no_window_has_more_than_n_and_the_burst) {
  constexpr std::int32_t shards = 2;
  constexpr int jobs = 40;
  constexpr std::int64_t most_taken = 60;
  const StartRate rate{50, 500'000, 5};
  const std::string dsn = new_database(shards);
  note_starts(dsn);
  const std::unique_ptr<Store> store = store_on(dsn);
  for (int n = 0; n < jobs; ++n)
    ASSERT_EQ(TestRun(*store, n % shards).start(job_of(1, 1, noon, "model")).kind, Verdict::Kind::committed);
  ASSERT_TRUE(store->limits().change_limits({{.name = "model", .rate = rate}, "ada"}));
  std::atomic<std::int64_t> claimed{0}, taken{0};
  const auto claim = [&](SessionId session) {
    const std::unique_ptr<Store> own = store_on(dsn);
    for (int n = 0; claimed < jobs; ++n) {
      ClaimRequest request = claim_request(session, 3, n % shards);
      request.queues = {"model"};
      claimed += std::ssize(own->claim(request).jobs);
      if (n % shards == 0) own->await_notification(5, NotifiedBy::any_process);
    }
  };
  const auto take = [&] {
    const std::unique_ptr<Store> own = store_on(dsn);
    while (taken < most_taken) {
      for (const auto& [key, count] : own->limits().take_starts("model", {{"", 4}})) taken += count;
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  };
  std::vector<std::thread> threads;
  for (SessionId session = 1; session <= 2; ++session) threads.emplace_back(claim, session);
  for (int n = 0; n < 2; ++n) threads.emplace_back(take);
  for (std::thread& thread : threads) thread.join();
  std::vector<TimeUs> starts = noted_starts(dsn);
  EXPECT_EQ(starts.size(), std::size_t{jobs});
  const std::vector<TimeUs> kept = noted_taken_starts(dsn, interval_us(rate));
  EXPECT_EQ(std::ssize(kept), taken);
  starts.insert(starts.end(), kept.begin(), kept.end());
  EXPECT_LE(most_in_a_window(starts, rate.per_us), rate.n + rate.burst);
}

TEST(ExactRate, a_claimer_whom_the_rate_holds_back_is_woken_when_it_may_go_on) {
  const std::string dsn = new_database(1);
  const std::unique_ptr<Store> store = store_on(dsn);
  for (int n = 0; n < 3; ++n)
    ASSERT_EQ(TestRun(*store).start(job_of(1, 1, noon, "model")).kind, Verdict::Kind::committed);
  ASSERT_TRUE(store->limits().change_limits({{.name = "model", .rate = StartRate{1, 200'000, 1}}, "ada"}));
  ClaimRequest request = claim_request(7);
  request.queues = {"model"};
  store->await_notification(0, NotifiedBy::any_process);
  ASSERT_EQ(store->claim(request).jobs.size(), 1u + 0u) << "the first claim learns of the limit and takes the burst";
  ASSERT_TRUE(store->claim(request).jobs.empty());
  EXPECT_TRUE(store->await_notification(60'000, NotifiedBy::any_process));
  EXPECT_EQ(store->claim(request).jobs.size(), 1u);
}

}  // namespace
}  // namespace cairn
