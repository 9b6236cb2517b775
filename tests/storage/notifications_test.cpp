// The time that a Store gives, and its notifications.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "tests/storage/store_test.hpp"

namespace cairn {
namespace {

using namespace test;

class WakeTest : public StoreTest {};

TEST_P(WakeTest, time_does_not_go_back) {
  TimeUs last = store().database_time();
  EXPECT_GT(last, TimeUs{1'600'000'000'000'000});
  for (int n = 0; n < 1'000; ++n) {
    const TimeUs now = store().database_time();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST_P(WakeTest, a_wake_up_reaches_a_waiter_of_this_process) {
  std::thread waker([&] { store().notify(); });
  bool has_arrived = false;
  for (int n = 0; n < 100 && !has_arrived; ++n) has_arrived = store().await_notification(100, NotifiedBy::any_process);
  EXPECT_TRUE(has_arrived);
  waker.join();
}

TEST_P(WakeTest, a_wake_up_before_the_wait_is_not_lost) {
  store().notify();
  EXPECT_TRUE(store().await_notification(10'000, NotifiedBy::any_process));
}

TEST_P(WakeTest, a_commit_wakes_if_it_is_told_to) {
  const auto is_awake = [&] { return store().await_notification(100, NotifiedBy::any_process); };
  while (is_awake()) {  // listening may begin with a notification of its own
  }
  TestRun run(store(), last_shard());
  const std::vector<Entry> first{run.entry()};
  EXPECT_EQ(store().commit(last_shard(), first, {})[0].kind, Verdict::Kind::committed);
  EXPECT_FALSE(is_awake());
  TestRun other(store(), last_shard());
  const std::vector<Entry> second{other.entry()};
  EXPECT_EQ(store().commit(last_shard(), second, {.notify = true})[0].kind, Verdict::Kind::committed);
  EXPECT_TRUE(is_awake());
}

TEST_P(WakeTest, all_who_wait_are_woken) {
  std::array<std::atomic<int>, 3> woken{};
  std::atomic<bool> over{false};
  std::vector<std::thread> waiters;
  for (std::atomic<int>& mine : woken)
    waiters.emplace_back([&] {
      while (!over) mine += store().await_notification(50, NotifiedBy::any_process) ? 1 : 0;
    });
  const auto all_have = [&](int hints) {
    return std::all_of(woken.begin(), woken.end(), [&](const auto& one) { return one >= hints; });
  };
  for (int hints = 1; hints <= 3; ++hints)
    for (int tries = 0; tries < 100 && !all_have(hints); ++tries) {
      store().notify();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  EXPECT_TRUE(all_have(3));
  over = true;
  for (std::thread& waiter : waiters) waiter.join();
}

TEST_P(WakeTest, a_wait_ends_without_a_wake_up) {
  store().await_notification(50, NotifiedBy::any_process);  // listening may begin with a notification of its own
  while (store().await_notification(50, NotifiedBy::any_process)) {
  }
  EXPECT_FALSE(store().await_notification(1, NotifiedBy::any_process));
}

INSTANTIATE_TEST_SUITE_P(Stores, WakeTest, ::testing::ValuesIn(every_store()), name_of_store);

}  // namespace
}  // namespace cairn
