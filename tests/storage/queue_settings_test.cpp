// Limits and pauses of queues, over all sessions and shards.
#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "tests/storage/set_limits.hpp"
#include "tests/storage/store_test.hpp"

namespace cairn {
namespace {

using namespace test;
using Kind = Verdict::Kind;

class QueueSettingsTest : public StoreTest {
 protected:
  void limit(const std::string& queue, std::optional<std::int32_t> concurrency, bool paused = false) {
    const Status set = set_limits(store(), {.name = queue, .concurrency = concurrency, .paused = paused});
    EXPECT_TRUE(set) << set.error().message;
  }
  // Started in turn on every shard.
  std::vector<TestRun> runs_in(const std::string& queue, int count, std::int32_t priority = 0) {
    std::vector<TestRun> runs;
    for (int n = 0; n < count; ++n) {
      runs.emplace_back(store(), n % store().shards());
      EXPECT_EQ(runs.back().start(job_of(1, 1, noon + n, queue, priority)).kind, Kind::committed);
    }
    return runs;
  }
  ClaimedBatch claim_of_last_shard(const std::vector<std::string>& queues, std::int32_t most) {
    ClaimRequest request = claim_request(7, most, last_shard());
    request.queues = queues;
    return store().claim(request);
  }
  // From all shards, one after the other.
  std::vector<HeldJob> claim_in(const std::vector<std::string>& queues, SessionId session = 7, std::int32_t most = 10) {
    std::vector<HeldJob> jobs;
    for (Shard shard = 0; shard < store().shards(); ++shard) {
      ClaimRequest request = claim_request(session, most, shard);
      request.queues = queues;
      for (HeldJob& job : store().claim(request).jobs) jobs.push_back(std::move(job));
    }
    return jobs;
  }
  void end_step(TestRun& run, const HeldJob& held, std::vector<JobWrite> jobs) {
    Entry entry = run.entry();
    entry.fences.push_back(fence_of(held));
    entry.jobs = std::move(jobs);
    EXPECT_EQ(run.commit(entry).kind, Kind::committed);
  }
  static TestRun& run_of(std::vector<TestRun>& runs, const HeldJob& held) {
    return *std::find_if(runs.begin(), runs.end(), [&](const TestRun& run) { return run.id() == held.run; });
  }
};

TEST_P(QueueSettingsTest, are_read_back_as_they_were_set) {
  const auto queues = [this] { return store().limits().queue_limits(); };
  EXPECT_TRUE(queues().empty());
  limit("model", 3);
  limit("a queue", {}, true);
  limit("model", 5, true);
  EXPECT_EQ(queues(), (std::vector<QueueLimits>{{.name = "a queue", .revision = 1, .paused = true},
                                                {.name = "model", .revision = 2, .concurrency = 5, .paused = true}}));
  limit("model", {});
  EXPECT_EQ(queues()[1], (QueueLimits{.name = "model", .revision = 3}));
}

TEST_P(QueueSettingsTest, that_make_no_sense_are_refused) {
  for (const QueueLimits& bad :
       {QueueLimits{.name = "", .concurrency = 1}, QueueLimits{.name = "model", .concurrency = 0},
        QueueLimits{.name = "model", .concurrency = -1}, QueueLimits{.name = "cairn.timer", .concurrency = 1},
        QueueLimits{.name = "cairn.timer", .paused = true}}) {
    const Status refused = set_limits(store(), bad);
    ASSERT_FALSE(refused) << bad.name;
    EXPECT_EQ(refused.error().code, Code::invalid);
  }
  EXPECT_TRUE(store().limits().queue_limits().empty());
}

TEST_P(QueueSettingsTest, no_more_jobs_of_a_limited_queue_are_held_than_it_allows_over_all_shards) {
  std::vector<TestRun> runs = runs_in("model", 12);
  limit("model", 3);
  std::vector<HeldJob> held = claim_in({"model"});
  ASSERT_EQ(held.size(), 3u);
  EXPECT_EQ(held[0].run, runs[0].id()) << "the oldest ones first";
  EXPECT_EQ(held[0].run_head, 1);
  EXPECT_TRUE(claim_in({"model"}, 8).empty());

  end_step(run_of(runs, held[0]), held[0], {drop(1)});
  end_step(run_of(runs, held[1]), held[1], {offer(job_of(1, 2, noon + 50, "model"))});
  EXPECT_EQ(claim_in({"model"}, 8).size(), 2u) << "what is dropped or offered frees its place";
  EXPECT_TRUE(claim_in({"model"}, 9).empty());

  const std::vector<std::pair<RunId, Fence>> holds{{held[2].run, fence_of(held[2])}};
  store().jobs().release(holds, noon);
  EXPECT_EQ(claim_in({"model"}, 9).size(), 1u) << "and what is let go";
  limit("model", 5);
  EXPECT_EQ(claim_in({"model"}, 9).size(), 2u);
  limit("model", {});
  EXPECT_EQ(claim_in({"model"}, 9).size(), 6u);
}

TEST_P(QueueSettingsTest, a_kept_step_keeps_its_place_in_the_queue) {
  std::vector<TestRun> runs = runs_in("model", 2);
  limit("model", 1);
  const std::vector<HeldJob> held = claim_in({"model"});
  ASSERT_EQ(held.size(), 1u);
  end_step(run_of(runs, held[0]), held[0], {keep(job_of(1, 2, noon, "model"))});
  EXPECT_TRUE(claim_in({"model"}, 8).empty());
  HeldJob kept = held[0];
  kept.job.step = 2;
  end_step(run_of(runs, held[0]), kept, {drop(1)});
  EXPECT_EQ(claim_in({"model"}, 8).size(), 1u);
}

TEST_P(QueueSettingsTest, what_was_held_before_the_limit_or_is_born_held_counts) {
  std::vector<TestRun> runs = runs_in("model", 6);
  ASSERT_EQ(claim_in({"model"}, 7, store().shards() > 1 ? 1 : 2).size(), store().shards() > 1 ? 4u : 2u);
  limit("model", 6);
  TestRun born(store(), last_shard());
  Entry entry = born.entry();
  entry.jobs = {hold(job_of(1, 1, noon, "model"), 9), hold(job_of(2, 2, noon, "model"), 9)};
  ASSERT_EQ(born.commit(entry).kind, Kind::committed);
  EXPECT_EQ(claim_in({"model"}, 8).size(), store().shards() > 1 ? 0u : 2u);
}

TEST_P(QueueSettingsTest, of_jobs_born_held_in_several_queues_each_counts_in_its_own) {
  runs_in("model", 3);
  limit("model", 3);
  limit("other", 1);
  TestRun born(store(), last_shard());
  Entry entry = born.entry();
  entry.jobs = {hold(job_of(1, 1, noon, "default"), 9), hold(job_of(2, 2, noon, "model"), 9),
                hold(job_of(3, 3, noon, "other"), 9)};
  ASSERT_EQ(born.commit(entry).kind, Kind::committed);
  runs_in("other", 1);
  EXPECT_TRUE(claim_in({"other"}, 8).empty());
  std::size_t claimed = 0;
  for (int n = 0; n < 4; ++n) claimed += claim_in({"model"}, 8).size();
  EXPECT_EQ(claimed, 2u);
}

TEST_P(QueueSettingsTest, nothing_of_a_paused_queue_is_claimed_until_it_goes_on) {
  std::vector<TestRun> runs = runs_in("model", 4);
  const std::vector<HeldJob> held = claim_in({"model"}, 7, 1);
  limit("model", {}, true);
  EXPECT_TRUE(claim_in({"model"}).empty());
  ClaimRequest request = claim_request(7, 10, 0);
  request.queues = {"model"};
  for (const TestRun& run : runs) request.only_runs.push_back(run.id());
  EXPECT_TRUE(store().claim(request).jobs.empty());
  end_step(run_of(runs, held[0]), held[0], {drop(1)});
  limit("model", {});
  EXPECT_EQ(claim_in({"model"}).size(), 4 - held.size());
}

TEST_P(QueueSettingsTest, a_limit_disturbs_no_other_queue) {
  runs_in("model", 6);
  runs_in("default", 6);
  limit("model", 2);
  std::map<std::string, int> claimed;
  for (int n = 0; n < 6; ++n)
    for (const HeldJob& job : claim_in({"model", "default"}, 7, 2)) ++claimed[job.job.queue];
  EXPECT_EQ(claimed["model"], 2);
  EXPECT_EQ(claimed["default"], 6);
}

TEST_P(QueueSettingsTest, a_limited_and_a_free_queue_both_get_their_turn) {
  runs_in("model", 40);
  runs_in("default", 40);
  limit("model", 1'000);
  std::map<std::string, int> claimed;
  for (int n = 0; n < 4; ++n)
    for (const HeldJob& job : claim_in({"model", "default"}, 7, 2)) ++claimed[job.job.queue];
  EXPECT_GT(claimed["model"], 0);
  EXPECT_GT(claimed["default"], 0);
}

TEST_P(QueueSettingsTest, within_a_limit_claims_go_by_priority_then_by_time) {
  std::vector<TestRun> late, early;
  for (int n = 0; n < 3; ++n) {
    late.push_back(started_run(job_of(1, 1, noon + n, "model", 5)));
    early.push_back(started_run(job_of(1, 1, noon + n, "model", 1)));
  }
  limit("model", 4);
  const std::vector<HeldJob> held = claim_in({"model"});
  ASSERT_EQ(held.size(), 4u);
  for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(held[n].run, early[n].id());
  EXPECT_EQ(held[3].run, late[0].id());
}

TEST_P(QueueSettingsTest, a_claim_of_certain_runs_obeys_the_limit) {
  std::vector<TestRun> runs;
  for (int n = 0; n < 5; ++n) runs.push_back(started_run(job_of(1, 1, noon + n, "model", 4 - n)));
  limit("model", 2);
  ClaimRequest request = claim_request(7, 10, last_shard());
  request.queues = {"model"};
  for (int n = 1; n < 5; ++n) request.only_runs.push_back(runs[static_cast<std::size_t>(n)].id());
  const std::vector<HeldJob> held = store().claim(request).jobs;
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].run, runs[4].id());
  EXPECT_EQ(held[1].run, runs[3].id());
  EXPECT_TRUE(store().claim(request).jobs.empty());
}

// To look at each permit with each claim cost as much as to claim so many jobs.
TEST_P(QueueSettingsTest, jobs_that_have_ended_take_no_place_from_any_claim) {
  std::vector<TestRun> runs;
  for (int n = 0; n < 75; ++n) runs.push_back(started_run(job_of(1, 1, noon + n, "model")));
  limit("model", 20);
  for (int round = 0; round < 5; ++round) {
    const std::vector<HeldJob> held = claim_of_last_shard({"model"}, 10).jobs;
    ASSERT_EQ(held.size(), 10u) << "round " << round;
    for (const HeldJob& job : held) end_step(run_of(runs, job), job, {drop(1)});
  }
  for (const std::size_t more : {10u, 10u, 0u}) EXPECT_EQ(claim_of_last_shard({"model"}, 10).jobs.size(), more);
}

std::vector<std::string> without_waiters(const ClaimedBatch& batch, bool NoOneWaits::*reason) {
  std::vector<std::string> names;
  for (const NoOneWaits& there : batch.no_one_waits)
    if (there.*reason) names.push_back(there.queue);
  std::sort(names.begin(), names.end());
  return names;
}

TEST_P(QueueSettingsTest, a_claim_says_where_places_are_left) {
  using Names = std::vector<std::string>;
  limit("model", 3);
  limit("paused", 5, true);
  ASSERT_TRUE(set_limits(store(), {.name = "aged", .concurrency = 5, .ageing_us = 1'000'000}));
  ASSERT_TRUE(set_limits(store(), {.name = "rated", .concurrency = 2, .rate = StartRate{1'000, 1'000'000, 1'000}}));
  const Names queues = {"model", "paused", "aged", "rated", "free"};
  const auto places = [&](std::int32_t most = 10) {
    return without_waiters(claim_of_last_shard(queues, most), &NoOneWaits::for_place);
  };
  std::vector<TestRun> runs;
  for (int n = 0; n < 2; ++n) runs.push_back(started_run(job_of(1, 1, noon + n, "model")));
  started_run(job_of(1, 1, noon, "rated"));
  EXPECT_EQ(places(), (Names{"aged", "model", "rated"})) << "in the others a held branch may not go on";
  started_run(job_of(1, 1, noon, "rated"));
  EXPECT_EQ(places(), (Names{"aged", "model"}));
  started_run(job_of(1, 1, noon, "model"));
  EXPECT_EQ(places(), Names{"aged"});
  end_step(runs[0], job(runs[0], 1), {drop(1)});
  EXPECT_EQ(places(), (Names{"aged", "model"}));
}

TEST_P(QueueSettingsTest, a_claim_says_where_no_one_waits) {
  using Names = std::vector<std::string>;
  ASSERT_TRUE(set_limits(store(), {.name = "aged", .ageing_us = 1'000'000}));
  ASSERT_TRUE(set_limits(store(), {.name = "fair", .key = "tag.customer", .key_concurrency = 2}));
  const auto emptied = [&](std::int32_t most) {
    return without_waiters(claim_of_last_shard({"aged", "fair", "free"}, most), &NoOneWaits::for_turn);
  };
  EXPECT_EQ(emptied(10), (Names{"aged", "fair"}));
  for (const char* queue : {"aged", "aged", "fair", "fair", "fair"}) started_run(job_of(1, 1, noon, queue));
  EXPECT_EQ(emptied(1), Names{});
  EXPECT_EQ(emptied(10), Names{"aged"}) << "one of the same key has no place yet";
}

TEST_P(QueueSettingsTest, claimers_at_the_same_moment_never_exceed_a_limit) {
  constexpr int allowed = 3;
  std::vector<TestRun> runs = runs_in("model", 60);
  limit("model", allowed);
  std::map<RunId, TestRun*> run_named;  // the run itself is its claimer's alone
  for (TestRun& run : runs) run_named[run.id()] = &run;
  std::atomic<int> held{0}, most{0}, ended{0};
  const auto work = [&](SessionId session) {
    for (int idle = 0; ended < 60 && idle < 5'000; ++idle) {
      for (const HeldJob& job : claim_in({"model"}, session, 2)) {
        const int now = ++held;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --held;
        end_step(*run_named.at(job.run), job, {drop(1)});
        ++ended;
      }
    }
  };
  std::vector<std::thread> threads;
  for (SessionId session = 1; session <= 4; ++session) threads.emplace_back(work, session);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, 60);
  EXPECT_LE(most, allowed);
}

TEST_P(QueueSettingsTest, claims_under_way_when_the_limit_is_set_count) {
  runs_in("model", 400);
  std::atomic<bool> stop{false};
  std::atomic<int> claimed{0};
  std::vector<std::thread> threads;
  for (SessionId session = 1; session <= 4; ++session) {
    threads.emplace_back([&, session] {
      while (!stop) claimed += static_cast<int>(claim_in({"model"}, session, 1).size());
    });
  }
  while (claimed < 40) std::this_thread::yield();
  limit("model", 20);
  const std::int64_t held = store().jobs().queues().at(0).held;
  for (int n = 0; n < 20; ++n) claim_in({"model"}, 9, 1);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(held, 40);
  EXPECT_EQ(store().jobs().queues().at(0).held, held) << "after the limit was set nothing more may be claimed";
}

INSTANTIATE_TEST_SUITE_P(Stores, QueueSettingsTest, ::testing::ValuesIn(every_store()), name_of_store);

}  // namespace
}  // namespace cairn
