// Claims: which jobs a claim gets, and in which order; letting go of them; what a queue holds.
#include <algorithm>
#include <limits>
#include <map>
#include <thread>

#include "storage/commit_rules.hpp"
#include "tests/storage/set_limits.hpp"
#include "tests/storage/store_test.hpp"

namespace cairn {
namespace {

using namespace test;

class ClaimTest : public StoreTest {};

TEST_P(ClaimTest, a_claim_holds_with_a_new_epoch_a_deadline_and_the_head) {
  Job job = job_of(1, 1);
  job.timeout_ms = 2'000;
  TestRun run = started_run(job);
  run.commit(run.entry(2));
  const HeldJob before = this->job(run, 1);
  const HeldJob held = claim_one(7);
  EXPECT_EQ(held.run, run.id());
  EXPECT_EQ(held.job, job);
  EXPECT_EQ(held.session, 7);
  EXPECT_EQ(held.epoch, before.epoch + 1);
  EXPECT_EQ(held.run_head, 3);
  EXPECT_EQ(held.deadline_us, noon + 100'000 + (2'000 + deadline_grace_ms) * 1000);
  EXPECT_EQ(this->job(run, 1).deadline_us, held.deadline_us);
  EXPECT_TRUE(claim(8).empty());
}

TEST_P(ClaimTest, a_claim_brings_all_events_of_runs_that_have_few) {
  TestRun few = started_run(job_of(1, 1, noon));
  few.commit(few.entry(2));
  TestRun many = started_run(job_of(1, 1, noon + 1));
  many.commit(many.entry(3));
  ClaimRequest request = claim_request(7, 10, last_shard());
  request.short_history_max = 3;
  const ClaimedBatch claimed = store().claim(request);
  const std::vector<ShortHistory>& histories = claimed.histories;
  EXPECT_EQ(claimed.jobs.size(), 2u);
  ASSERT_EQ(histories.size(), 1u);
  EXPECT_EQ(histories[0].run, few.id());
  const std::vector<EventRow> all = store().events(few.id(), 0, 10);
  ASSERT_EQ(histories[0].events.size(), 3u);
  for (std::size_t at = 0; at < all.size(); ++at) {
    EXPECT_EQ(histories[0].events[at].seq, all[at].seq);
    EXPECT_EQ(histories[0].events[at].payload, all[at].payload);
    EXPECT_EQ(histories[0].events[at].chain_hash, all[at].chain_hash);
  }
}

TEST_P(ClaimTest, a_young_run_comes_once_however_many_of_its_jobs_are_claimed) {
  TestRun run = started_run();
  Entry entry = run.entry();
  for (BranchId branch = 2; branch <= 4; ++branch) entry.jobs.push_back(offer(job_of(branch, branch)));
  run.commit(entry);
  ClaimRequest request = claim_request(7, 10, last_shard());
  request.short_history_max = 10;
  const ClaimedBatch claimed = store().claim(request);
  const std::vector<ShortHistory>& histories = claimed.histories;
  EXPECT_EQ(claimed.jobs.size(), 4u);
  ASSERT_EQ(histories.size(), 1u);
  EXPECT_EQ(histories[0].events.size(), 2u);
}

TEST_P(ClaimTest, a_job_without_a_timeout_gets_the_default_or_no_deadline) {
  started_run();
  started_run();
  EXPECT_EQ(claim_one(7).deadline_us, noon + 100'000 + (60'000 + deadline_grace_ms) * 1000);
  ClaimRequest request = claim_request(7, 1, last_shard());
  request.default_timeout_ms = 0;
  EXPECT_EQ(store().claim(request).jobs.at(0).deadline_us, never_us);
}

TEST_P(ClaimTest, a_timeout_beyond_all_time_does_not_break_claims) {
  Job job = job_of(1, 1);
  job.timeout_ms = std::numeric_limits<std::int64_t>::max();
  started_run(job);
  EXPECT_GT(claim_one(7).deadline_us, noon + 100'000);
}

TEST_P(ClaimTest, claims_go_by_priority_then_by_time) {
  std::vector<TestRun> runs;
  runs.push_back(started_run(job_of(1, 1, noon + 1, "default", 5)));
  runs.push_back(started_run(job_of(1, 1, noon + 4, "default", 0)));
  runs.push_back(started_run(job_of(1, 1, noon + 3, "default", 0)));
  runs.push_back(started_run(job_of(1, 1, noon + 2, "default", 9)));
  runs.push_back(started_run(job_of(1, 1, noon + 9, "default", 5)));
  const std::vector<HeldJob> first = claim(7, 3);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[0].run, runs[2].id());
  EXPECT_EQ(first[1].run, runs[1].id());
  EXPECT_EQ(first[2].run, runs[0].id());
  const std::vector<HeldJob> second = claim(7, 3);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0].run, runs[4].id());
  EXPECT_EQ(second[1].run, runs[3].id());
}

TEST_P(ClaimTest, a_level_where_nothing_is_due_does_not_hide_the_next) {
  started_run(job_of(1, 1, never_us, "default", 0));
  started_run(job_of(1, 1, noon + 2'000'000, "default", 1));
  TestRun due = started_run(job_of(1, 1, noon, "default", 2));
  EXPECT_EQ(claim_one(7).run, due.id());
}

TEST_P(ClaimTest, only_due_jobs_of_the_asked_queues_and_shard_are_claimed) {
  started_run(job_of(1, 1, noon + 2'000'000));
  started_run(job_of(1, 1, noon, "other"));
  EXPECT_TRUE(claim(7).empty());
  TestRun due = started_run(job_of(1, 1, noon + 100'000));
  if (store().shards() > 1) {
    EXPECT_TRUE(store().claim(claim_request(7, 10, 0)).jobs.empty());
  }
  EXPECT_EQ(claim_one(7).run, due.id());
}

TEST_P(ClaimTest, a_limit_counts_over_all_queues_and_no_queue_starves) {
  for (int n = 0; n < 4; ++n) started_run(job_of(1, 1, noon, "default"));
  started_run(job_of(1, 1, noon + 5, "other"));
  ClaimRequest request = claim_request(7, 1, last_shard());
  request.queues = {"default", "other"};
  std::vector<std::string> queues;
  for (int n = 0; n < 5; ++n) {
    const std::vector<HeldJob> jobs = store().claim(request).jobs;
    ASSERT_EQ(jobs.size(), 1u);
    queues.push_back(jobs[0].job.queue);
  }
  EXPECT_EQ(std::count(queues.begin(), queues.end(), "other"), 1);
  EXPECT_TRUE(store().claim(request).jobs.empty());
}

TEST_P(ClaimTest, a_claim_of_nothing_gets_nothing) {
  started_run();
  EXPECT_TRUE(claim(7, 0).empty());
  ClaimRequest request = claim_request(7, 1, last_shard());
  request.queues.clear();
  EXPECT_TRUE(store().claim(request).jobs.empty());
}

TEST_P(ClaimTest, only_runs_claims_from_these_runs_and_no_others) {
  started_run(job_of(1, 1, noon, "default", 0));
  TestRun wanted = started_run(job_of(1, 1, noon + 5, "default", 9));
  TestRun other_queue = started_run(job_of(1, 1, noon, "other"));
  ClaimRequest request = claim_request(7, 10, last_shard());
  request.only_runs = {wanted.id(), other_queue.id(), run_on(last_shard(), store().shards())};
  const std::vector<HeldJob> jobs = store().claim(request).jobs;
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].run, wanted.id());
  EXPECT_EQ(jobs[0].run_head, 1);
  EXPECT_TRUE(store().claim(request).jobs.empty());
}

TEST_P(ClaimTest, threads_never_claim_one_job_twice) {
  constexpr int runs = 60;
  for (int n = 0; n < runs; ++n) started_run();
  std::vector<std::vector<HeldJob>> claimed(4);
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < claimed.size(); ++n) {
    threads.emplace_back([&, n] {
      for (int round = 0; round < 30; ++round) {
        for (HeldJob& job : claim(static_cast<SessionId>(n + 1), 3)) claimed[n].push_back(std::move(job));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<RunId, int> times;
  for (const auto& jobs : claimed) {
    for (const HeldJob& job : jobs) ++times[job.run];
  }
  EXPECT_EQ(times.size(), static_cast<std::size_t>(runs));
  for (const auto& [run, count] : times) EXPECT_EQ(count, 1);
}

TEST_P(ClaimTest, release_frees_only_what_is_still_held) {
  TestRun run = started_run();
  TestRun other = started_run();
  const std::vector<HeldJob> held = claim(7);
  ASSERT_EQ(held.size(), 2u);
  Fence wrong = fence_of(held[1]);
  ++wrong.epoch;
  const std::vector<std::pair<RunId, Fence>> holds{{held[0].run, fence_of(held[0])}, {held[1].run, wrong}};
  EXPECT_EQ(store().jobs().standing(holds), (std::vector{HoldStanding::held, HoldStanding::lost}));
  EXPECT_EQ(store().jobs().release(holds, noon + 3), 1u);
  const std::vector<HeldJob> again = claim(8);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].run, held[0].run);
  EXPECT_EQ(again[0].job.run_at_us, noon + 3);
  EXPECT_GT(again[0].epoch, held[0].epoch);
  EXPECT_EQ(again[0].job.step, 1);
  EXPECT_EQ(store().jobs().release(holds, noon), 0u);
  EXPECT_TRUE(claim(9).empty()) << "a second release of the same hold is stale";
  const std::pair none{run.id(), Fence{99, 7, 1, 1}};
  EXPECT_EQ(store().jobs().standing(std::vector{holds[0], none}),
            (std::vector{HoldStanding::lost, HoldStanding::gone}));
  EXPECT_TRUE(store().jobs().standing({}).empty());
}

// A session is taken for dead, its step that may not be lost is to be offered again, and the session wakes up.
TEST_P(ClaimTest, of_a_hold_that_is_given_up_for_another_and_a_session_that_says_it_begins_one_comes_first) {
  TestRun run = started_run(), other = started_run();
  SessionRow session;
  session.id = 7;
  store().sessions().open(session);
  const std::vector<HeldJob> held = claim(7);
  ASSERT_EQ(held.size(), 2u);
  const std::vector<std::pair<RunId, Fence>> holds{{held[0].run, fence_of(held[0])}, {held[1].run, fence_of(held[1])}};
  store().sessions().set_begun(7, {attempt_text(held[0])});
  EXPECT_EQ(store().jobs().standing_begun(holds), (std::vector{HoldStanding::held, HoldStanding::unsaid}));
  EXPECT_EQ(store().jobs().release_unbegun(holds, noon), 1u);
  EXPECT_EQ(claim_one(8).run, held[1].run) << "the other one has begun";
  store().sessions().set_begun(7, {attempt_text(held[0]), attempt_text(held[1])});
  EXPECT_EQ(store().jobs().standing_begun(holds), (std::vector{HoldStanding::held, HoldStanding::lost}));
  EXPECT_EQ(store().jobs().release(holds, noon), 1u) << "its own session gives up what it has begun";
  const HeldJob again = claim_one(7);
  const std::vector<std::pair<RunId, Fence>> twice{{again.run, fence_of(held[0])}, {again.run, fence_of(again)}};
  EXPECT_EQ(store().jobs().standing_begun(twice), (std::vector{HoldStanding::lost, HoldStanding::unsaid}));
  store().sessions().set_begun(7, {attempt_text(again)});
  EXPECT_EQ(store().jobs().standing_begun(twice), (std::vector{HoldStanding::lost, HoldStanding::held}))
      << "of one branch the newer hold stands";
  EXPECT_TRUE(store().jobs().standing_begun({}).empty());
  EXPECT_EQ(store().jobs().release_unbegun({}, noon), 0u);
}

// On a cluster the row is written through one node, and the node of the job may not have it yet: the step began, and
// a worker that took its session for dead there gave it to another one.
TEST_P(ClaimTest, what_a_session_s_row_does_not_say_where_the_job_is_has_not_begun) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  const std::vector<std::pair<RunId, Fence>> holds{{held.run, fence_of(held)}};
  store().sessions().set_begun(7, {attempt_text(held)});
  EXPECT_EQ(store().jobs().standing_begun(holds), std::vector{HoldStanding::unsaid}) << "it has no row";
  EXPECT_EQ(store().jobs().standing(holds), std::vector{HoldStanding::held});
  EXPECT_EQ(store().jobs().release_unbegun(holds, noon), 1u) << "both of them say the same";
  EXPECT_EQ(store().jobs().standing_begun(holds), std::vector{HoldStanding::lost});
}

// They have no entry in the index that claims walk until then.
TEST_P(ClaimTest, what_was_born_held_is_found_once_it_is_free) {
  TestRun run = new_run();
  Entry entry = run.entry();
  entry.jobs = {hold(job_of(1, 1), 7), hold(job_of(2, 2), 7)};
  run.commit(entry);
  EXPECT_TRUE(claim(8).empty());

  store().jobs().release({{{run.id(), {1, 7, 1, 1}}}}, noon);
  EXPECT_EQ(claim_one(8).job.branch, 1);

  Entry offering = run.entry();
  offering.fences.push_back({2, 7, 1, 2});
  offering.jobs = {offer(job_of(2, 2))};
  run.commit(offering);
  EXPECT_EQ(claim_one(8).job.branch, 2);
}

TEST_P(ClaimTest, a_job_released_while_its_run_is_paused_is_not_offered) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  Entry pausing = run.entry();
  pausing.run.status = RunStatus::paused;
  run.commit(pausing);
  const std::vector<std::pair<RunId, Fence>> holds{{run.id(), fence_of(held)}};
  store().jobs().release(holds, noon);
  EXPECT_EQ(job(run, 1).session, 0);
  EXPECT_EQ(job(run, 1).job.run_at_us, never_us);
  EXPECT_TRUE(claim(8).empty());
}

TEST_P(ClaimTest, queues_count_what_is_ready_later_and_held) {
  EXPECT_TRUE(store().jobs().queues().empty());
  const TimeUs now = store().database_time();
  started_run(job_of(1, 1, now - 20));
  started_run(job_of(1, 1, now - 10));
  started_run(job_of(1, 1, never_us));
  started_run(job_of(1, 1, now - 5, "other"));
  ClaimRequest request = claim_request(7, 1, last_shard());
  request.now_us = now;
  store().claim(request);
  const std::vector<QueueRow> queues = store().jobs().queues();
  ASSERT_EQ(queues.size(), 2u);
  EXPECT_EQ(queues[0].name, "default");
  EXPECT_EQ(queues[0].ready, 1);
  EXPECT_EQ(queues[0].later, 1);
  EXPECT_EQ(queues[0].held, 1);
  EXPECT_EQ(queues[0].oldest_us, now - 10);
  EXPECT_EQ(queues[1].name, "other");
  EXPECT_EQ(queues[1].ready, 1);
}

TEST_P(ClaimTest, the_oldest_free_job_of_a_queue_is_found_whatever_its_priority_and_shard) {
  using Oldest = std::map<std::string, TimeUs>;
  EXPECT_EQ(store().jobs().oldest(), Oldest{});
  const TimeUs now = store().database_time();
  TestRun elsewhere(store(), 0);
  elsewhere.start(job_of(1, 1, now - 30'000, "default", 9));
  started_run(job_of(1, 1, now - 40'000, "default", -7));
  started_run(job_of(1, 1, now - 50'000, "default", 5));
  started_run(job_of(1, 1, now - 60'000, "other", 3));
  started_run(job_of(1, 1, never_us, "later"));
  EXPECT_EQ(store().jobs().oldest(), (Oldest{{"default", now - 50'000}, {"other", now - 60'000}}));
  std::vector<HeldJob> held;
  for (const Shard shard : {last_shard(), Shard{0}}) {
    ClaimRequest request = claim_request(7, 10, shard);
    request.now_us = now;
    const std::vector<HeldJob> claimed = store().claim(request).jobs;
    held.insert(held.end(), claimed.begin(), claimed.end());
  }
  EXPECT_EQ(held.size(), 3u);
  EXPECT_EQ(store().jobs().oldest(), (Oldest{{"other", now - 60'000}})) << "held ones are not waiting";
  for (const HeldJob& job : held) store().jobs().release(std::vector{std::pair(job.run, fence_of(job))}, now - 10'000);
  EXPECT_EQ(store().jobs().oldest(), (Oldest{{"default", now - 10'000}, {"other", now - 60'000}}));
}

TEST_P(ClaimTest, A19_a_claim_passes_by_the_runs_that_it_is_told_to) {
  const TestRun left = started_run();
  const TestRun other = started_run();
  for (const bool is_limited : {false, true}) {
    const Status set = is_limited ? set_limits(store(), {.name = "default", .concurrency = 5}) : Done{};
    ASSERT_TRUE(set);
    ClaimRequest request = claim_request(7, 10, shard_of(other.id(), store().shards()));
    request.not_of = {left.id()};
    const std::vector<HeldJob> jobs = store().claim(request).jobs;
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0].run, other.id());
    request.only_runs = {left.id()};
    EXPECT_TRUE(store().claim(request).jobs.empty());
    store().jobs().release(std::vector{std::pair(jobs[0].run, fence_of(jobs[0]))}, noon);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, ClaimTest, ::testing::ValuesIn(every_store_and_pooled()), name_of_store);

}  // namespace
}  // namespace cairn
