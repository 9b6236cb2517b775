// The contract of Store, the same for every implementation and setting.
#include "storage/store.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>
#include <thread>

#include "storage/chain.hpp"
#include "storage/memory_store.hpp"
#include "storage/postgres_store.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn {
namespace {

using namespace test;
using Kind = Verdict::Kind;

struct Variant {
  std::string name;
  bool memory = false;
  std::int32_t shards = 1;
  bool notify = true;
  bool prepared = true;
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

class StoreTest : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    const Variant& variant = GetParam();
    if (variant.memory) {
      store_ = make_memory_store(variant.shards, [] { return noon; });
      return;
    }
    PostgresOptions options;
    options.dsn = new_database(variant.shards);
    options.notify = variant.notify;
    options.prepared = variant.prepared;
    Result<std::unique_ptr<Store>> opened = open_postgres_store(options);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }

  Store& store() { return *store_; }
  Shard last_shard() const { return GetParam().shards - 1; }
  std::vector<Verdict> commit(const std::vector<Entry>& batch) { return store_->commit(last_shard(), batch); }
  TestRun new_run() { return TestRun(store(), last_shard()); }
  TestRun started_run(Job job = job_of(1, 1)) {
    TestRun run = new_run();
    EXPECT_EQ(run.start(std::move(job)).kind, Kind::committed);
    return run;
  }
  std::vector<HeldJob> claim(SessionId session, std::int32_t limit = 10) {
    return store_->claim(claim_request(session, limit, last_shard()));
  }
  HeldJob claim_one(SessionId session) {
    const std::vector<HeldJob> jobs = claim(session, 1);
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? HeldJob{} : jobs[0];
  }
  HeldJob job(const TestRun& run, BranchId branch) {
    for (const HeldJob& job : store_->jobs(run.id())) {
      if (job.job.branch == branch) return job;
    }
    return {};
  }

  std::unique_ptr<Store> store_;
};

// --- the log ---------------------------------------------------------------------------------------------------------

TEST_P(StoreTest, a_run_is_read_back_as_it_was_written) {
  TestRun parent = started_run();
  TestRun run = new_run();
  run.row.tags = {{"batch", "a \"b\""}, {"owner", "Zoë"}};
  run.row.parent = parent.id();
  run.row.continues = parent.id();
  run.row.reason = "because";
  run.row.waiting = true;
  const Entry entry = run.entry(3);
  const Verdict verdict = run.commit(entry);
  EXPECT_EQ(verdict.kind, Kind::committed);
  EXPECT_EQ(verdict.head, 3);

  const auto row = store().run(run.id());
  ASSERT_TRUE(row);
  EXPECT_EQ(row->graph, "test_graph");
  EXPECT_EQ(row->version, run.row.version);
  EXPECT_EQ(row->status, RunStatus::running);
  EXPECT_TRUE(row->waiting);
  EXPECT_EQ(row->head, 3);
  EXPECT_EQ(row->chain_hash, verdict.chain_hash);
  EXPECT_EQ(row->parent, parent.id());
  EXPECT_EQ(row->continues, parent.id());
  EXPECT_EQ(row->started_at, noon);
  EXPECT_EQ(row->reason, "because");
  EXPECT_EQ(row->tags, run.row.tags);

  const std::vector<EventRow> events = store().events(run.id(), 0, 10);
  ASSERT_EQ(events.size(), 3u);
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_EQ(events[at].seq, entry.events[at].seq);
    EXPECT_EQ(events[at].at_us, entry.events[at].at_us);
    EXPECT_EQ(events[at].type, entry.events[at].type);
    EXPECT_EQ(events[at].version, entry.events[at].version);
    EXPECT_EQ(events[at].step, entry.events[at].step);
    EXPECT_EQ(events[at].actor, entry.events[at].actor);
    EXPECT_EQ(events[at].payload, entry.events[at].payload);
    EXPECT_GT(events[at].commit, 0);
  }
  EXPECT_EQ(chain_fault(store(), run.id()), "");
}

TEST_P(StoreTest, events_are_paged) {
  TestRun run = new_run();
  run.commit(run.entry(5));
  EXPECT_EQ(store().events(run.id(), 0, 2).size(), 2u);
  const std::vector<EventRow> rest = store().events(run.id(), 3, 10);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].seq, 4);
  EXPECT_TRUE(store().events(run.id(), 5, 10).empty());
  EXPECT_TRUE(store().events(run_on(0, store().shards()), 0, 10).empty());
}

TEST_P(StoreTest, an_unknown_run_is_none) { EXPECT_FALSE(store().run(run_on(last_shard(), store().shards()))); }

// --- verdicts --------------------------------------------------------------------------------------------------------

TEST_P(StoreTest, a_later_commit_moves_the_head_and_the_row) {
  TestRun run = started_run();
  Entry entry = run.entry(2);
  entry.run.status = RunStatus::failed;
  entry.run.version = std::string(64, 'b');
  entry.run.reason = "broken";
  entry.run.updated_at = noon + 5;
  const Verdict verdict = run.commit(entry);
  EXPECT_EQ(verdict.kind, Kind::committed);
  EXPECT_EQ(verdict.head, 3);
  const auto row = store().run(run.id());
  EXPECT_EQ(row->head, 3);
  EXPECT_EQ(row->status, RunStatus::failed);
  EXPECT_EQ(row->version, std::string(64, 'b'));
  EXPECT_EQ(row->reason, "broken");
  EXPECT_EQ(row->updated_at, noon + 5);
}

TEST_P(StoreTest, an_empty_batch_has_no_verdicts) { EXPECT_TRUE(commit({}).empty()); }

TEST_P(StoreTest, a_run_that_exists_cannot_be_started_again) {
  TestRun run = new_run();
  const Entry first = run.entry(2);
  run.commit(first);
  const Verdict verdict = commit({first}).at(0);
  EXPECT_EQ(verdict.kind, Kind::conflict);
  EXPECT_EQ(verdict.head, 2);
  EXPECT_EQ(verdict.chain_hash, run.chain_hash);
  ASSERT_EQ(verdict.missed.size(), 2u);
  EXPECT_EQ(verdict.missed[0].payload, first.events[0].payload);
  EXPECT_EQ(store().events(run.id(), 0, 10).size(), 2u);
}

TEST_P(StoreTest, a_commit_at_an_old_head_gets_the_events_it_missed) {
  TestRun run = started_run();
  TestRun late = run;
  run.commit(run.entry(3));
  const Verdict verdict = late.commit(late.entry());
  EXPECT_EQ(verdict.kind, Kind::conflict);
  EXPECT_EQ(verdict.head, 4);
  EXPECT_EQ(verdict.chain_hash, run.chain_hash);
  ASSERT_EQ(verdict.missed.size(), 3u);
  EXPECT_EQ(verdict.missed[0].seq, 2);
  EXPECT_EQ(verdict.missed[2].chain_hash, run.chain_hash);
}

TEST_P(StoreTest, too_many_missed_events_do_not_come_with_the_conflict) {
  TestRun run = started_run();
  TestRun late = run;
  run.commit(run.entry(1'001));
  const Verdict verdict = late.commit(late.entry());
  EXPECT_EQ(verdict.kind, Kind::conflict);
  EXPECT_EQ(verdict.head, 1'002);
  EXPECT_TRUE(verdict.missed.empty());
}

TEST_P(StoreTest, a_commit_to_a_run_that_does_not_exist_is_a_conflict_at_head_0) {
  TestRun run = new_run();
  run.head = 3;
  Entry entry = run.entry();
  entry.fences.push_back({1, 7, 1, 1});
  const Verdict verdict = commit({entry}).at(0);
  EXPECT_EQ(verdict.kind, Kind::conflict);
  EXPECT_EQ(verdict.head, 0);
  EXPECT_FALSE(store().run(run.id()));
}

TEST_P(StoreTest, another_chain_at_the_same_head_is_a_conflict) {
  TestRun run = started_run();
  Entry entry = run.entry();
  entry.chain_before[0] ^= 1;
  const Verdict verdict = commit({entry}).at(0);
  EXPECT_EQ(verdict.kind, Kind::conflict);
  EXPECT_EQ(verdict.head, 1);
  EXPECT_EQ(verdict.chain_hash, run.chain_hash);
  EXPECT_TRUE(verdict.missed.empty());
}

TEST_P(StoreTest, a_fence_that_holds_passes) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  Entry entry = run.entry();
  entry.fences.push_back(fence_of(held));
  entry.jobs.push_back(keep(job_of(1, 2)));
  EXPECT_EQ(run.commit(entry).kind, Kind::committed);
}

TEST_P(StoreTest, a_fence_of_another_session_epoch_or_step_is_stale) {
  TestRun run = started_run();
  const Fence good = fence_of(claim_one(7));
  std::vector<Fence> bad(3, good);
  ++bad[0].session;
  --bad[1].epoch;
  ++bad[2].step;
  for (const Fence& fence : bad) {
    Entry entry = run.entry();
    entry.fences.push_back(fence);
    const Verdict verdict = run.commit(entry);
    EXPECT_EQ(verdict.kind, Kind::stale);
    EXPECT_EQ(verdict.stale, std::vector<BranchId>{1});
    EXPECT_EQ(verdict.head, 1);
  }
  EXPECT_EQ(store().run(run.id())->head, 1);
}

// Where the write itself looks at its fence.
TEST_P(StoreTest, what_is_kept_or_dropped_on_a_wrong_fence_is_stale_and_stays_as_it_was) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  const Fence good = fence_of(held);
  for (Fence wrong : {Fence{1, 8, good.epoch, good.step}, Fence{1, 7, good.epoch + 1, good.step},
                      Fence{1, 7, good.epoch, good.step + 1}}) {
    for (const JobWrite& write : {keep(job_of(1, 2)), drop(1)}) {
      Entry entry = run.entry();
      entry.fences = {wrong};
      entry.jobs = {write};
      EXPECT_EQ(run.commit(entry).kind, Kind::stale);
      ASSERT_EQ(store().jobs(run.id()).size(), 1u);
      EXPECT_EQ(store().jobs(run.id())[0].job.step, held.job.step);
      EXPECT_EQ(store().run(run.id())->head, 1);
    }
  }
}

TEST_P(StoreTest, stale_names_only_the_branches_whose_fence_failed) {
  TestRun run = new_run();
  Entry first = run.entry();
  first.jobs = {offer(job_of(1, 1)), offer(job_of(2, 2)), offer(job_of(3, 3))};
  run.commit(first);
  Entry entry = run.entry();
  for (const HeldJob& held : claim(7)) entry.fences.push_back(fence_of(held));
  ASSERT_EQ(entry.fences.size(), 3u);
  entry.fences[1].epoch += 1;
  EXPECT_EQ(run.commit(entry).stale, std::vector<BranchId>{2});
}

TEST_P(StoreTest, a_fence_on_a_missing_job_is_stale_while_the_run_is_open_and_closed_after_it) {
  TestRun run = started_run();
  const Fence fence = fence_of(claim_one(7));
  Entry dropping = run.entry();
  dropping.jobs.push_back(drop(1));
  run.commit(dropping);
  Entry entry = run.entry();
  entry.fences.push_back(fence);
  EXPECT_EQ(run.commit(entry).kind, Kind::stale);

  Entry ending = run.entry();
  ending.run.status = RunStatus::aborted;
  run.commit(ending);
  Entry late = run.entry();
  late.fences.push_back(fence);
  const Verdict verdict = run.commit(late);
  EXPECT_EQ(verdict.kind, Kind::closed);
  EXPECT_EQ(verdict.stale, std::vector<BranchId>{1});
}

TEST_P(StoreTest, a_job_held_by_another_is_stale_even_if_the_run_has_ended) {
  TestRun run = started_run();
  Fence fence = fence_of(claim_one(7));
  Entry ending = run.entry();
  ending.run.status = RunStatus::done;
  run.commit(ending);
  ++fence.epoch;
  Entry late = run.entry();
  late.fences.push_back(fence);
  EXPECT_EQ(run.commit(late).kind, Kind::stale);
}

TEST_P(StoreTest, a_lost_hold_counts_more_than_an_old_head) {
  TestRun run = started_run();
  TestRun late = run;
  Fence fence = fence_of(claim_one(7));
  run.commit(run.entry());
  Entry entry = late.entry();
  ++fence.epoch;
  entry.fences.push_back(fence);
  EXPECT_EQ(late.commit(entry).kind, Kind::stale);
}

// The Postgres store looked at no job of a run that was to be new, and called every fence stale.
TEST_P(StoreTest, fences_are_judged_even_if_the_run_should_have_been_new) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  Entry entry = run.entry();
  entry.head_before = 0;
  entry.events[0].seq = 1;
  entry.fences.push_back(fence_of(held));
  EXPECT_EQ(commit({entry}).at(0).kind, Kind::conflict);
  ++entry.fences[0].epoch;
  EXPECT_EQ(commit({entry}).at(0).kind, Kind::stale);
}

TEST_P(StoreTest, one_refused_entry_does_not_disturb_its_batch) {
  TestRun good = started_run();
  TestRun conflicting = started_run();
  TestRun stale = started_run();
  TestRun fresh = new_run();
  TestRun existing = started_run();
  conflicting.commit(conflicting.entry());
  std::vector<Entry> batch{good.entry(), conflicting.entry(), stale.entry(), fresh.entry(2), existing.entry()};
  batch[1].head_before = 1;
  batch[1].events[0].seq = 2;
  batch[2].fences.push_back({1, 7, 1, 1});
  batch[4].head_before = 0;
  batch[4].events[0].seq = 1;
  const std::vector<Verdict> verdicts = commit(batch);
  EXPECT_EQ(verdicts[0].kind, Kind::committed);
  EXPECT_EQ(verdicts[1].kind, Kind::conflict);
  EXPECT_EQ(verdicts[2].kind, Kind::stale);
  EXPECT_EQ(verdicts[3].kind, Kind::committed);
  EXPECT_EQ(verdicts[4].kind, Kind::conflict);
  EXPECT_EQ(store().run(good.id())->head, 2);
  EXPECT_EQ(store().run(conflicting.id())->head, 2);
  EXPECT_EQ(store().run(stale.id())->head, 1);
  EXPECT_EQ(store().run(fresh.id())->head, 2);
  for (const TestRun* run : {&good, &conflicting, &stale, &fresh, &existing}) {
    EXPECT_EQ(chain_fault(store(), run->id()), "");
  }
}

TEST_P(StoreTest, linked_entries_share_a_verdict) {
  TestRun refused = started_run();
  TestRun linked = started_run();
  TestRun child = new_run();
  TestRun other = started_run();
  std::vector<Entry> batch{refused.entry(), linked.entry(), child.entry(), other.entry()};
  batch[0].chain_before[0] ^= 1;
  batch[0].link = batch[1].link = batch[2].link = 5;
  batch[2].jobs.push_back(offer(job_of(1, 1)));
  batch[3].link = 6;
  const std::vector<Verdict> verdicts = commit(batch);
  EXPECT_EQ(verdicts[0].kind, Kind::conflict);
  EXPECT_EQ(verdicts[1].kind, Kind::conflict);
  EXPECT_EQ(verdicts[1].head, 1);
  EXPECT_EQ(verdicts[1].chain_hash, linked.chain_hash);
  EXPECT_EQ(verdicts[2].kind, Kind::conflict);
  EXPECT_EQ(verdicts[2].head, 0);
  EXPECT_EQ(verdicts[3].kind, Kind::committed);
  EXPECT_EQ(store().run(linked.id())->head, 1);
  EXPECT_FALSE(store().run(child.id())) << "a refused child must leave nothing behind";
  EXPECT_TRUE(store().jobs(child.id()).empty());

  batch[0].chain_before[0] ^= 1;
  batch.pop_back();
  for (const Verdict& verdict : commit(batch)) EXPECT_EQ(verdict.kind, Kind::committed);
  EXPECT_TRUE(store().run(child.id()));
}

TEST_P(StoreTest, a_batch_in_doubt_that_landed_is_committed_again_and_written_once) {
  TestRun run = started_run();
  TestRun fresh = new_run();
  const HeldJob held = claim_one(7);
  std::vector<Entry> batch{run.entry(2), fresh.entry()};
  batch[0].fences.push_back(fence_of(held));
  batch[0].jobs.push_back(offer(job_of(1, 2)));
  for (Entry& entry : batch) entry.commit = 77;
  const std::vector<Verdict> first = commit(batch);
  ASSERT_EQ(first[0].kind, Kind::committed);
  for (Entry& entry : batch) entry.in_doubt = true;
  const std::vector<Verdict> again = commit(batch);
  for (const std::size_t at : {0u, 1u}) {
    EXPECT_EQ(again[at].kind, Kind::committed);
    EXPECT_EQ(again[at].head, first[at].head);
    EXPECT_EQ(again[at].chain_hash, first[at].chain_hash);
  }
  EXPECT_EQ(store().run(run.id())->head, 3);
  EXPECT_EQ(store().events(run.id(), 0, 10).back().commit, 77);
  EXPECT_EQ(chain_fault(store(), run.id()), "");
  EXPECT_EQ(job(run, 1).session, 0) << "the job it offered was touched again";
}

TEST_P(StoreTest, a_batch_in_doubt_that_did_not_land_is_written) {
  TestRun run = started_run();
  Entry entry = run.entry();
  entry.commit = 78;
  entry.in_doubt = true;
  EXPECT_EQ(run.commit(entry).kind, Kind::committed);
  EXPECT_EQ(store().run(run.id())->head, 2);
  Entry other = entry;  // the same place in the log, but of another batch
  other.commit = 79;
  EXPECT_EQ(run.commit(other).kind, Kind::conflict);
}

// --- job writes ------------------------------------------------------------------------------------------------------

TEST_P(StoreTest, an_offered_job_is_free) {
  Job job = job_of(1, 1, noon + 3, "model", 4);
  job.attempt = 2;
  job.timeout_ms = 9;
  TestRun run = started_run(job);
  const std::vector<HeldJob> jobs = store().jobs(run.id());
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].run, run.id());
  EXPECT_EQ(jobs[0].job, job);
  EXPECT_EQ(jobs[0].session, 0);
  EXPECT_EQ(jobs[0].deadline_us, never_us);
  EXPECT_EQ(jobs[0].run_head, 1);
}

TEST_P(StoreTest, a_kept_job_moves_on_under_the_same_session_and_epoch) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  Entry entry = run.entry();
  entry.fences.push_back(fence_of(held));
  JobWrite write = keep(job_of(1, 2, noon + 77, "other", 5));
  write.job.attempt = 3;
  write.job.timeout_ms = 12;
  write.deadline_us = noon + 99;
  entry.jobs.push_back(write);
  run.commit(entry);
  const HeldJob kept = job(run, 1);
  EXPECT_EQ(kept.job.step, 2);
  EXPECT_EQ(kept.job.attempt, 3);
  EXPECT_EQ(kept.job.timeout_ms, 12);
  EXPECT_EQ(kept.session, 7);
  EXPECT_EQ(kept.epoch, held.epoch);
  EXPECT_EQ(kept.deadline_us, noon + 99);
  EXPECT_EQ(kept.job.queue, "default") << "what is indexed is written when a row is offered";
  EXPECT_EQ(kept.job.run_at_us, noon);
}

TEST_P(StoreTest, an_offer_of_a_held_job_frees_it_with_a_new_epoch) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  Entry entry = run.entry();
  entry.fences.push_back(fence_of(held));
  entry.jobs.push_back(offer(job_of(1, 2, noon + 9, "model", 3)));
  run.commit(entry);
  const HeldJob offered = job(run, 1);
  EXPECT_EQ(offered.session, 0);
  EXPECT_GT(offered.epoch, held.epoch);
  EXPECT_EQ(offered.job, job_of(1, 2, noon + 9, "model", 3));
  EXPECT_EQ(offered.deadline_us, never_us);
}

TEST_P(StoreTest, a_branch_offered_again_after_a_drop_has_an_epoch_never_used_before) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  Entry dropping = run.entry();
  dropping.jobs.push_back(drop(1));
  run.commit(dropping);
  EXPECT_TRUE(store().jobs(run.id()).empty());
  Entry entry = run.entry();
  entry.jobs.push_back(offer(job_of(1, 1)));
  run.commit(entry);
  const HeldJob again = claim_one(7);
  EXPECT_GT(again.epoch, held.epoch);
}

TEST_P(StoreTest, a_job_may_be_born_held) {
  TestRun run = new_run();
  Entry entry = run.entry();
  JobWrite write = hold(job_of(1, 1), 7);
  write.deadline_us = noon + 50;
  entry.jobs.push_back(write);
  run.commit(entry);
  const HeldJob held = job(run, 1);
  EXPECT_EQ(held.session, 7);
  EXPECT_EQ(held.epoch, 1);
  EXPECT_EQ(held.deadline_us, noon + 50);
  EXPECT_TRUE(claim(8).empty());
  Entry next = run.entry();
  next.fences.push_back({1, 7, 1, 1});
  EXPECT_EQ(run.commit(next).kind, Kind::committed);
}

TEST_P(StoreTest, adjust_changes_free_jobs_and_leaves_held_ones) {
  TestRun run = new_run();
  Entry first = run.entry();
  first.jobs = {offer(job_of(1, 1)), offer(job_of(2, 2))};
  run.commit(first);
  const HeldJob held = claim_one(7);
  EXPECT_EQ(held.job.branch, 1);
  const HeldJob free = job(run, 2);
  Entry entry = run.entry();
  entry.jobs = {adjust(job_of(1, 9, never_us, "x", 8)), adjust(job_of(2, 9, never_us, "x", 8)), adjust(job_of(3, 3))};
  run.commit(entry);
  EXPECT_EQ(job(run, 1).job, held.job);
  EXPECT_EQ(job(run, 1).epoch, held.epoch);
  EXPECT_EQ(job(run, 2).job.queue, "x");
  EXPECT_EQ(job(run, 2).job.priority, 8);
  EXPECT_EQ(job(run, 2).job.run_at_us, never_us);
  EXPECT_EQ(job(run, 2).job.step, 2);
  EXPECT_EQ(job(run, 2).epoch, free.epoch);
  EXPECT_EQ(store().jobs(run.id()).size(), 2u);
}

TEST_P(StoreTest, a_refused_entry_writes_no_job_and_no_question) {
  TestRun run = started_run();
  Entry entry = run.entry();
  entry.chain_before[0] ^= 1;
  entry.jobs = {drop(1), offer(job_of(2, 2))};
  QuestionRow question;
  question.id = "q1";
  entry.asked.push_back(question);
  commit({entry});
  ASSERT_EQ(store().jobs(run.id()).size(), 1u);
  EXPECT_EQ(store().jobs(run.id())[0].job.branch, 1);
  EXPECT_TRUE(store().questions(run.id(), 10).empty());
}

// --- claims ----------------------------------------------------------------------------------------------------------

TEST_P(StoreTest, a_claim_holds_with_a_new_epoch_a_deadline_and_the_head) {
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
  EXPECT_EQ(held.deadline_us, noon + 1'000'000 + (2'000 + deadline_grace_ms) * 1000);
  EXPECT_EQ(this->job(run, 1).deadline_us, held.deadline_us);
  EXPECT_TRUE(claim(8).empty());
}

TEST_P(StoreTest, a_job_without_a_timeout_gets_the_default_or_no_deadline) {
  started_run();
  started_run();
  EXPECT_EQ(claim_one(7).deadline_us, noon + 1'000'000 + (60'000 + deadline_grace_ms) * 1000);
  ClaimRequest request = claim_request(7, 1, last_shard());
  request.default_timeout_ms = 0;
  EXPECT_EQ(store().claim(request).at(0).deadline_us, never_us);
}

TEST_P(StoreTest, a_timeout_beyond_all_time_does_not_break_claims) {
  Job job = job_of(1, 1);
  job.timeout_ms = std::numeric_limits<std::int64_t>::max();
  started_run(job);
  EXPECT_GT(claim_one(7).deadline_us, noon + 1'000'000);
}

TEST_P(StoreTest, claims_go_by_priority_then_by_time) {
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

TEST_P(StoreTest, a_level_where_nothing_is_due_does_not_hide_the_next) {
  started_run(job_of(1, 1, never_us, "default", 0));
  started_run(job_of(1, 1, noon + 2'000'000, "default", 1));
  TestRun due = started_run(job_of(1, 1, noon, "default", 2));
  EXPECT_EQ(claim_one(7).run, due.id());
}

TEST_P(StoreTest, only_due_jobs_of_the_asked_queues_and_shard_are_claimed) {
  started_run(job_of(1, 1, noon + 2'000'000));
  started_run(job_of(1, 1, noon, "other"));
  EXPECT_TRUE(claim(7).empty());
  TestRun due = started_run(job_of(1, 1, noon + 1'000'000));
  if (store().shards() > 1) {
    EXPECT_TRUE(store().claim(claim_request(7, 10, 0)).empty());
  }
  EXPECT_EQ(claim_one(7).run, due.id());
}

TEST_P(StoreTest, a_limit_counts_over_all_queues_and_no_queue_starves) {
  for (int n = 0; n < 4; ++n) started_run(job_of(1, 1, noon, "default"));
  started_run(job_of(1, 1, noon + 5, "other"));
  ClaimRequest request = claim_request(7, 1, last_shard());
  request.queues = {"default", "other"};
  std::vector<std::string> queues;
  for (int n = 0; n < 5; ++n) {
    const std::vector<HeldJob> jobs = store().claim(request);
    ASSERT_EQ(jobs.size(), 1u);
    queues.push_back(jobs[0].job.queue);
  }
  EXPECT_EQ(std::count(queues.begin(), queues.end(), "other"), 1);
  EXPECT_TRUE(store().claim(request).empty());
}

TEST_P(StoreTest, a_claim_of_nothing_gets_nothing) {
  started_run();
  EXPECT_TRUE(claim(7, 0).empty());
  ClaimRequest request = claim_request(7, 1, last_shard());
  request.queues.clear();
  EXPECT_TRUE(store().claim(request).empty());
}

TEST_P(StoreTest, only_runs_claims_from_these_runs_and_no_others) {
  started_run(job_of(1, 1, noon, "default", 0));
  TestRun wanted = started_run(job_of(1, 1, noon + 5, "default", 9));
  TestRun other_queue = started_run(job_of(1, 1, noon, "other"));
  ClaimRequest request = claim_request(7, 10, last_shard());
  request.only_runs = {wanted.id(), other_queue.id(), run_on(last_shard(), store().shards())};
  const std::vector<HeldJob> jobs = store().claim(request);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].run, wanted.id());
  EXPECT_EQ(jobs[0].run_head, 1);
  EXPECT_TRUE(store().claim(request).empty());
}

TEST_P(StoreTest, threads_never_claim_one_job_twice) {
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

TEST_P(StoreTest, release_frees_only_what_is_still_held) {
  TestRun run = started_run();
  TestRun other = started_run();
  const std::vector<HeldJob> held = claim(7);
  ASSERT_EQ(held.size(), 2u);
  Fence wrong = fence_of(held[1]);
  ++wrong.epoch;
  const std::vector<std::pair<RunId, Fence>> holds{{held[0].run, fence_of(held[0])}, {held[1].run, wrong}};
  store().release(holds, noon + 3);
  const std::vector<HeldJob> again = claim(8);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].run, held[0].run);
  EXPECT_EQ(again[0].job.run_at_us, noon + 3);
  EXPECT_GT(again[0].epoch, held[0].epoch);
  EXPECT_EQ(again[0].job.step, 1);
  store().release(holds, noon);
  EXPECT_TRUE(claim(9).empty()) << "a second release of the same hold is stale";
}

TEST_P(StoreTest, a_job_released_while_its_run_is_paused_is_not_offered) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  Entry pausing = run.entry();
  pausing.run.status = RunStatus::paused;
  run.commit(pausing);
  const std::vector<std::pair<RunId, Fence>> holds{{run.id(), fence_of(held)}};
  store().release(holds, noon);
  EXPECT_EQ(job(run, 1).session, 0);
  EXPECT_EQ(job(run, 1).job.run_at_us, never_us);
  EXPECT_TRUE(claim(8).empty());
}

TEST_P(StoreTest, queues_count_what_is_ready_later_and_held) {
  EXPECT_TRUE(store().queues().empty());
  const TimeUs now = store().database_time();
  started_run(job_of(1, 1, now - 20));
  started_run(job_of(1, 1, now - 10));
  started_run(job_of(1, 1, never_us));
  started_run(job_of(1, 1, now - 5, "other"));
  ClaimRequest request = claim_request(7, 1, last_shard());
  request.now_us = now;
  store().claim(request);
  const std::vector<QueueRow> queues = store().queues();
  ASSERT_EQ(queues.size(), 2u);
  EXPECT_EQ(queues[0].name, "default");
  EXPECT_EQ(queues[0].ready, 1);
  EXPECT_EQ(queues[0].later, 1);
  EXPECT_EQ(queues[0].held, 1);
  EXPECT_EQ(queues[0].oldest_us, now - 10);
  EXPECT_EQ(queues[1].name, "other");
  EXPECT_EQ(queues[1].ready, 1);
}

// --- queue settings --------------------------------------------------------------------------------------------------

class QueueSettingsTest : public StoreTest {
 protected:
  void limit(const std::string& queue, std::optional<std::int32_t> concurrency, bool paused = false) {
    const Status set = store().set_queue({queue, concurrency, paused});
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
  // From all shards, one after the other.
  std::vector<HeldJob> claim_in(const std::vector<std::string>& queues, SessionId session = 7, std::int32_t most = 10) {
    std::vector<HeldJob> jobs;
    for (Shard shard = 0; shard < store().shards(); ++shard) {
      ClaimRequest request = claim_request(session, most, shard);
      request.queues = queues;
      for (HeldJob& job : store().claim(request)) jobs.push_back(std::move(job));
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
  EXPECT_TRUE(store().queue_settings().empty());
  limit("model", 3);
  limit("a queue", {}, true);
  limit("model", 5, true);
  EXPECT_EQ(store().queue_settings(), (std::vector<QueueSettings>{{"a queue", {}, true}, {"model", 5, true}}));
  limit("model", {});
  EXPECT_EQ(store().queue_settings()[1], (QueueSettings{"model", {}, false}));
}

TEST_P(QueueSettingsTest, that_make_no_sense_are_refused) {
  for (const QueueSettings& bad :
       {QueueSettings{"", 1, false}, QueueSettings{"model", 0, false}, QueueSettings{"model", -1, false},
        QueueSettings{"cairn.timer", 1, false}, QueueSettings{"cairn.timer", {}, true}}) {
    const Status refused = store().set_queue(bad);
    ASSERT_FALSE(refused) << bad.name;
    EXPECT_EQ(refused.error().code, Code::invalid);
  }
  EXPECT_TRUE(store().queue_settings().empty());
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
  store().release(holds, noon);
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

TEST_P(QueueSettingsTest, nothing_of_a_paused_queue_is_claimed_until_it_goes_on) {
  std::vector<TestRun> runs = runs_in("model", 4);
  const std::vector<HeldJob> held = claim_in({"model"}, 7, 1);
  limit("model", {}, true);
  EXPECT_TRUE(claim_in({"model"}).empty());
  ClaimRequest request = claim_request(7, 10, 0);
  request.queues = {"model"};
  for (const TestRun& run : runs) request.only_runs.push_back(run.id());
  EXPECT_TRUE(store().claim(request).empty());
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
  const std::vector<HeldJob> held = store().claim(request);
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].run, runs[4].id());
  EXPECT_EQ(held[1].run, runs[3].id());
  EXPECT_TRUE(store().claim(request).empty());
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
  const std::int64_t held = store().queues().at(0).held;
  for (int n = 0; n < 20; ++n) claim_in({"model"}, 9, 1);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(held, 40);
  EXPECT_EQ(store().queues().at(0).held, held) << "after the limit was set nothing more may be claimed";
}

// --- sessions --------------------------------------------------------------------------------------------------------

SessionRow session_row(SessionId id) {
  SessionRow session;
  session.id = id;
  session.host = "host";
  session.pid = 12;
  session.queues = {"default", "a,b \"c\""};
  session.started_at = noon + id;
  return session;
}

TEST_P(StoreTest, sessions_are_opened_beaten_and_closed) {
  store().open_session(session_row(7));
  store().open_session(session_row(8));
  store().beat(7);
  store().beat(7);
  store().beat(99);
  started_run();
  claim_one(7);
  std::vector<SessionRow> sessions = store().sessions();
  ASSERT_EQ(sessions.size(), 2u);
  EXPECT_EQ(sessions[0].id, 7);
  EXPECT_EQ(sessions[0].host, "host");
  EXPECT_EQ(sessions[0].pid, 12);
  EXPECT_EQ(sessions[0].queues, session_row(7).queues);
  EXPECT_EQ(sessions[0].counter, 2);
  EXPECT_EQ(sessions[0].held, 1);
  EXPECT_EQ(sessions[1].counter, 0);
  EXPECT_EQ(sessions[1].held, 0);
  store().close_session(7);
  sessions = store().sessions();
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0].id, 8);
}

TEST_P(StoreTest, a_session_says_when_it_last_beat_and_what_it_can_do) {
  SessionRow session = session_row(7);
  session.beat_at = noon;
  session.only_own = true;
  session.handlers = {"a", "b \"c\""};
  session.machine = "boot and namespace";
  store().open_session(session);
  store().open_session(session_row(8));
  EXPECT_EQ(store().sessions()[0].beat_at, noon);
  store().beat(7);
  const std::vector<SessionRow> sessions = store().sessions();
  EXPECT_NEAR(static_cast<double>(sessions[0].beat_at), static_cast<double>(store().database_time()), 5e6);
  EXPECT_TRUE(sessions[0].only_own);
  EXPECT_EQ(sessions[0].handlers, session.handlers);
  EXPECT_EQ(sessions[0].machine, "boot and namespace");
  EXPECT_EQ(sessions[1].machine, "");
  EXPECT_FALSE(sessions[0].tools) << "it did not say";
  EXPECT_FALSE(sessions[1].only_own);
  EXPECT_EQ(sessions[1].beat_at, 0);
}

TEST_P(StoreTest, a_session_opened_again_serves_what_it_says_now_and_keeps_its_counter) {
  store().open_session(session_row(7));
  store().beat(7);
  SessionRow again = session_row(7);
  again.queues = {"default", "model"};
  again.tools = {"echo"};
  store().open_session(again);
  const SessionRow found = store().sessions().at(0);
  EXPECT_EQ(found.queues, again.queues);
  EXPECT_EQ(found.tools, again.tools);
  EXPECT_EQ(found.counter, 1);
}

TEST_P(StoreTest, what_a_session_holds_is_found) {
  TestRun run = started_run();
  started_run();
  started_run();
  claim_one(7);
  claim(8);
  EXPECT_EQ(store().held_by(7, 10).size(), 1u);
  EXPECT_EQ(store().held_by(8, 10).size(), 2u);
  EXPECT_EQ(store().held_by(8, 1).size(), 1u);
  EXPECT_TRUE(store().held_by(9, 10).empty());
  EXPECT_EQ(store().held_by(7, 10)[0].run_head, 1);
}

TEST_P(StoreTest, what_is_held_beyond_its_deadline_is_found) {
  started_run();
  started_run();
  const HeldJob held = claim_one(7);
  EXPECT_TRUE(store().overdue(held.deadline_us, 10).empty());
  ASSERT_EQ(store().overdue(held.deadline_us + 1, 10).size(), 1u);
  EXPECT_EQ(store().overdue(held.deadline_us + 1, 10)[0].run, held.run);
}

TEST_P(StoreTest, what_is_held_by_a_session_without_a_row_is_found) {
  store().open_session(session_row(7));
  started_run();
  started_run();
  const HeldJob of_open = claim_one(7);
  EXPECT_TRUE(store().held_by_nobody(10).empty());
  const HeldJob of_unknown = claim_one(8);
  ASSERT_EQ(store().held_by_nobody(10).size(), 1u);
  EXPECT_EQ(store().held_by_nobody(10)[0].run, of_unknown.run);
  store().close_session(7);
  EXPECT_EQ(store().held_by_nobody(10).size(), 2u);
  EXPECT_EQ(store().held_by_nobody(1).size(), 1u);
}

TEST_P(StoreTest, open_children_of_ended_parents_are_found) {
  TestRun parent = started_run();
  TestRun open = new_run();
  TestRun ended = new_run();
  open.row.parent = ended.row.parent = parent.id();
  open.commit(open.entry());
  Entry entry = ended.entry();
  entry.run.status = RunStatus::done;
  ended.commit(entry);
  EXPECT_TRUE(store().orphans(10).empty());
  Entry ending = parent.entry();
  ending.run.status = RunStatus::aborted;
  parent.commit(ending);
  EXPECT_EQ(store().orphans(10), std::vector<RunId>{open.id()});
  Entry last = open.entry();
  last.run.status = RunStatus::aborted;
  open.commit(last);
  EXPECT_TRUE(store().orphans(10).empty());
}

// --- questions, blobs, snapshots, graphs -----------------------------------------------------------------------------

QuestionRow question_row(const TestRun& run, const std::string& id, TimeUs asked_at) {
  QuestionRow question;
  question.run = run.id();
  question.id = id;
  question.step = 3;
  question.kind = "question";
  question.prompt = {{"text", "Which region?"}};
  question.schema = {{"type", "number"}, {"minimum", 1.0}};
  question.asked_at = asked_at;
  return question;
}

TEST_P(StoreTest, questions_are_open_until_they_are_closed) {
  TestRun run = started_run();
  TestRun other = started_run();
  Entry entry = run.entry();
  entry.asked = {question_row(run, "q3", noon + 2), question_row(run, "q4", noon + 1)};
  entry.asked[0].fallback = Json(nullptr);
  entry.asked[0].expires_at = noon + 500;
  run.commit(entry);
  Entry more = other.entry();
  more.asked = {question_row(other, "q3", noon)};
  other.commit(more);

  const std::vector<QuestionRow> of_run = store().questions(run.id(), 10);
  ASSERT_EQ(of_run.size(), 2u);
  EXPECT_EQ(of_run[0].id, "q4");
  EXPECT_FALSE(of_run[0].fallback);
  EXPECT_FALSE(of_run[0].expires_at);
  EXPECT_EQ(of_run[1].id, "q3");
  EXPECT_EQ(of_run[1].run, run.id());
  EXPECT_EQ(of_run[1].step, 3);
  EXPECT_EQ(of_run[1].kind, "question");
  EXPECT_EQ(of_run[1].prompt, entry.asked[0].prompt);
  EXPECT_EQ(of_run[1].schema, entry.asked[0].schema);
  ASSERT_TRUE(of_run[1].fallback);
  EXPECT_TRUE(of_run[1].fallback->is_null()) << "a default of null is a default";
  EXPECT_EQ(of_run[1].expires_at, noon + 500);
  EXPECT_EQ(of_run[1].asked_at, noon + 2);

  EXPECT_EQ(store().questions({}, 10).size(), 3u);
  EXPECT_EQ(store().questions({}, 10)[0].run, other.id());
  EXPECT_EQ(store().questions({}, 2).size(), 2u);
  Entry closing = run.entry();
  closing.closed_questions = {"q3"};
  run.commit(closing);
  ASSERT_EQ(store().questions(run.id(), 10).size(), 1u);
  EXPECT_EQ(store().questions(run.id(), 10)[0].id, "q4");
}

TEST_P(StoreTest, a_blob_is_stored_once) {
  const std::string bytes("a\0b\xff", 4);
  const Hash hash = sha256(bytes);
  EXPECT_FALSE(store().blob(last_shard(), hash));
  store().put_blob(last_shard(), hash, bytes);
  store().put_blob(last_shard(), hash, "something else");
  EXPECT_EQ(store().blob(last_shard(), hash), bytes);
}

TEST_P(StoreTest, the_newest_fitting_snapshot_is_found) {
  TestRun run = started_run();
  const auto put = [&](std::int64_t seq, std::int32_t version, const std::string& state) {
    store().put_snapshot(run.id(), {seq, version, sha256(state), state});
  };
  put(2, 1, "two");
  put(5, 1, "five");
  put(4, 2, "other");
  EXPECT_EQ(store().snapshot(run.id(), 1, 9)->state, "five");
  EXPECT_EQ(store().snapshot(run.id(), 1, 5)->seq, 5);
  EXPECT_EQ(store().snapshot(run.id(), 1, 4)->state, "two");
  EXPECT_EQ(store().snapshot(run.id(), 1, 4)->chain_hash, sha256("two"));
  EXPECT_FALSE(store().snapshot(run.id(), 1, 1));
  EXPECT_EQ(store().snapshot(run.id(), 2, 9)->state, "other");
  EXPECT_FALSE(store().snapshot(run.id(), 3, 9));
  put(5, 1, "five again");
  EXPECT_EQ(store().snapshot(run.id(), 1, 9)->state, "five again");
}

TEST_P(StoreTest, a_name_has_one_current_graph) {
  store().put_graph({"g", "v1", "{1}", true});
  store().put_graph({"g", "v2", "{2}", false});
  store().put_graph({"h", "v1", "{3}", true});
  store().put_graph({"g", "v1", "other text", false});
  std::vector<GraphRow> graphs = store().graphs();
  ASSERT_EQ(graphs.size(), 3u);
  EXPECT_EQ(graphs[0].name, "g");
  EXPECT_EQ(graphs[0].version, "v1");
  EXPECT_EQ(graphs[0].text, "{1}");
  EXPECT_TRUE(graphs[0].current);
  EXPECT_FALSE(graphs[1].current);
  store().put_graph({"g", "v2", "{2}", true});
  graphs = store().graphs();
  EXPECT_FALSE(graphs[0].current);
  EXPECT_TRUE(graphs[1].current);
  EXPECT_TRUE(graphs[2].current);
}

// --- finding runs ----------------------------------------------------------------------------------------------------

std::vector<RunId> ids_of(const std::vector<RunRow>& rows) {
  std::vector<RunId> ids;
  for (const RunRow& row : rows) ids.push_back(row.id);
  return ids;
}

TEST_P(StoreTest, runs_are_found_by_each_filter_newest_first) {
  std::vector<TestRun> runs;
  for (int n = 0; n < 4; ++n) {
    runs.push_back(new_run());
    TestRun& run = runs.back();
    run.row.started_at = noon + n;
    run.row.graph = n < 2 ? "old" : "new";
    run.row.waiting = n == 1;
    run.row.tags = {{"n", std::to_string(n)}, {"half", n < 2 ? "first" : "second"}};
    Entry entry = run.entry();
    if (n == 3) entry.run.status = RunStatus::done;
    run.commit(entry);
  }
  const auto found = [&](const std::function<void(RunFilter&)>& set) {
    RunFilter filter;
    set(filter);
    std::string places;
    for (const RunId& id : ids_of(store().runs(filter))) {
      for (std::size_t n = 0; n < runs.size(); ++n) {
        if (runs[n].id() == id) places += std::to_string(n);
      }
    }
    return places;
  };
  EXPECT_EQ(found([](RunFilter&) {}), "3210");
  EXPECT_EQ(found([](RunFilter& filter) { filter.limit = 2; }), "32");
  EXPECT_EQ(found([](RunFilter& filter) { filter.limit = 0; }), "");
  EXPECT_EQ(found([](RunFilter& filter) { filter.graph = "old"; }), "10");
  EXPECT_EQ(found([](RunFilter& filter) { filter.status = RunStatus::done; }), "3");
  EXPECT_EQ(found([](RunFilter& filter) { filter.waiting = true; }), "1");
  EXPECT_EQ(found([](RunFilter& filter) { filter.waiting = false; }), "320");
  EXPECT_EQ(found([](RunFilter& filter) { filter.since = noon + 2; }), "32");
  EXPECT_EQ(found([](RunFilter& filter) { filter.tags = {{"half", "first"}}; }), "10");
  EXPECT_EQ(found([](RunFilter& filter) { filter.tags = {{"half", "first"}, {"n", "1"}}; }), "1");
  EXPECT_EQ(found([](RunFilter& filter) { filter.tags = {{"half", "third"}}; }), "");
  EXPECT_EQ(found([](RunFilter& filter) {
              filter.tags = {{"half", "second"}};
              filter.status = RunStatus::running;
            }),
            "2");
}

TEST_P(StoreTest, runs_are_read_page_by_page_also_when_they_started_at_once) {
  std::set<RunId> expected;
  for (int n = 0; n < 7; ++n) {
    TestRun run = new_run();
    run.row.started_at = noon + n / 4;
    run.row.tags = {{"half", n % 2 == 0 ? "first" : "second"}};
    run.commit(run.entry());
    expected.insert(run.id());
  }
  for (const Tags& tags : {Tags{}, Tags{{"half", "first"}}}) {
    RunFilter filter;
    filter.tags = tags;
    const std::vector<RunId> all = ids_of(store().runs(filter));
    std::vector<RunId> paged;
    filter.limit = 2;
    for (std::vector<RunRow> page = store().runs(filter); !page.empty(); page = store().runs(filter)) {
      for (const RunRow& row : page) paged.push_back(row.id);
      filter.behind = {page.back().started_at, page.back().id};
      ASSERT_LE(paged.size(), 7u);
    }
    EXPECT_EQ(paged, all);
    EXPECT_EQ(paged.size(), tags.empty() ? 7u : 4u);
  }
}

TEST_P(StoreTest, a_lineage_is_what_a_run_continues_and_what_continues_it) {
  std::vector<TestRun> runs;
  const auto add = [&](std::optional<RunId> continues) {
    runs.push_back(new_run());
    runs.back().row.started_at = noon + static_cast<TimeUs>(runs.size());
    runs.back().row.continues = continues;
    runs.back().commit(runs.back().entry());
    return runs.back().id();
  };
  const RunId first = add({});
  const RunId second = add(first);
  const RunId third = add(second);
  const RunId branch = add(first);
  add({});
  for (const RunId& start : {first, second, third, branch}) {
    RunFilter filter;
    filter.lineage = start;
    EXPECT_EQ(ids_of(store().runs(filter)), (std::vector<RunId>{branch, third, second, first}));
  }
  RunFilter filter;
  filter.lineage = second;
  filter.limit = 1;
  EXPECT_EQ(ids_of(store().runs(filter)), std::vector<RunId>{branch});
  filter.lineage = run_on(0, store().shards());
  EXPECT_TRUE(store().runs(filter).empty());
}

// --- time and wake-ups -----------------------------------------------------------------------------------------------

TEST_P(StoreTest, time_does_not_go_back) {
  TimeUs last = store().database_time();
  EXPECT_GT(last, TimeUs{1'600'000'000'000'000});
  for (int n = 0; n < 1'000; ++n) {
    const TimeUs now = store().database_time();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST_P(StoreTest, a_wake_up_reaches_a_waiter_of_this_process) {
  std::thread waker([&] { store().wake(); });
  bool came = false;
  for (int n = 0; n < 100 && !came; ++n) came = store().await_wake(100);
  EXPECT_TRUE(came);
  waker.join();
}

TEST_P(StoreTest, a_wake_up_before_the_wait_is_not_lost) {
  store().wake();
  EXPECT_TRUE(store().await_wake(10'000));
}

TEST_P(StoreTest, a_wait_ends_without_a_wake_up) {
  store().await_wake(50);  // listening may begin with a hint of its own
  while (store().await_wake(50)) {
  }
  EXPECT_FALSE(store().await_wake(1));
}

// --- the model as oracle ---------------------------------------------------------------------------------------------

// The same random commands go to the store and to the model; every answer must agree.
class Twins {
 public:
  Twins(Store& store, Shard shard, std::uint64_t seed)
      : store_(store), model_(make_memory_store(store.shards(), [] { return noon; })), shard_(shard), random_(seed) {}

  void run(int rounds) {
    for (int n = 0; n < rounds && !testing::Test::HasFailure(); ++n) {
      switch (pick(9)) {
        case 0:
        case 1:
          claim();
          break;
        case 2:
        case 3:
          release();
          break;
        case 4:
          set_queue();
          break;
        default:
          commit();
          break;
      }
      compare();
    }
  }

 private:
  struct Known {
    std::int64_t head = 0;
    Hash in_store{};
    Hash in_model{};
    bool open = true;
  };

  int pick(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }

  void commit() {
    std::vector<Entry> batch;
    for (int n = pick(4); n >= 0; --n) add_entry(batch);
    std::vector<Entry> for_model = batch;
    for (std::size_t at = 0; at < batch.size(); ++at) {
      batch[at].chain_before = known_[batch[at].run.id].in_store;
      for_model[at].chain_before = known_[batch[at].run.id].in_model;
    }
    const std::vector<Verdict> ours = store_.commit(shard_, batch);
    const std::vector<Verdict> models = model_->commit(shard_, for_model);
    for (std::size_t at = 0; at < batch.size(); ++at) {
      EXPECT_EQ(ours[at].kind, models[at].kind);
      EXPECT_EQ(ours[at].head, models[at].head);
      EXPECT_EQ(ours[at].stale, models[at].stale);
      EXPECT_EQ(ours[at].missed.size(), models[at].missed.size());
      if (ours[at].kind != Kind::committed) continue;
      known_[batch[at].run.id] = {ours[at].head, ours[at].chain_hash, models[at].chain_hash,
                                  !is_ended(batch[at].run.status)};
    }
  }

  void add_entry(std::vector<Entry>& batch) {
    const bool fresh = known_.empty() || pick(4) == 0;
    const RunId id = fresh ? run_on(shard_, store_.shards()) : some_run();
    for (const Entry& entry : batch) {
      if (entry.run.id == id) return;
    }
    Known& known = known_[id];
    Entry entry;
    entry.run.id = id;
    entry.run.version = "v";
    entry.run.status = pick(8) == 0 ? RunStatus::done : RunStatus::running;
    entry.head_before = known.head > 0 && pick(8) == 0 ? known.head - 1 : known.head;
    entry.link = pick(3) == 0 ? 1 : 0;
    for (int n = 0, events = 1 + pick(3); n < events; ++n) {
      EventRow event;
      event.seq = entry.head_before + n + 1;
      event.payload = "{}";
      entry.events.push_back(std::move(event));
    }
    add_jobs(entry, model_->jobs(id));
    batch.push_back(std::move(entry));
  }

  void add_jobs(Entry& entry, const std::vector<HeldJob>& jobs) {
    for (BranchId branch = 1; branch <= 4; ++branch) {
      const HeldJob* found = nullptr;
      for (const HeldJob& job : jobs) {
        if (job.job.branch == branch) found = &job;
      }
      const Job job = job_of(branch, pick(5), noon + pick(3), pick(2) == 0 ? "default" : "other", pick(3));
      if (found != nullptr && found->session != 0 && pick(2) == 0) {
        entry.fences.push_back(fence_of(*found));
        entry.fences.back().epoch += pick(8) == 0 ? 1 : 0;
        if (pick(2) == 0) entry.jobs.push_back(keep(job));
      } else if (const int op = pick(6); op == 0) {
        entry.jobs.push_back(offer(job));
      } else if (op == 1) {
        entry.jobs.push_back(adjust(job));
      } else if (op == 2) {
        entry.jobs.push_back(drop(branch));
      } else if (op == 3 && found == nullptr) {
        entry.jobs.push_back(hold(job, 7));
      }
    }
  }

  void claim() {
    ClaimRequest request = claim_request(1 + pick(3), 1 + pick(4), shard_);
    if (pick(4) == 0 && !known_.empty()) request.only_runs = {some_run(), some_run()};
    const std::vector<HeldJob> ours = store_.claim(request);
    const std::vector<HeldJob> models = model_->claim(request);
    ASSERT_EQ(ours.size(), models.size());
    for (std::size_t at = 0; at < ours.size(); ++at) expect_same(ours[at], models[at]);
  }

  void set_queue() {
    QueueSettings settings;
    settings.name = "default";
    if (pick(2) == 0) settings.concurrency = 1 + pick(6);
    settings.paused = pick(4) == 0;
    EXPECT_TRUE(store_.set_queue(settings));
    EXPECT_TRUE(model_->set_queue(settings));
  }

  void release() {
    std::vector<std::pair<RunId, Fence>> holds;
    for (const HeldJob& held : model_->held_by(1 + pick(3), 5)) {
      holds.emplace_back(held.run, fence_of(held));
      if (pick(6) == 0) ++holds.back().second.step;
    }
    const TimeUs run_at_us = noon + pick(5);
    store_.release(holds, run_at_us);
    model_->release(holds, run_at_us);
  }

  void compare() {
    for (const auto& [id, known] : known_) {
      const auto ours = store_.run(id);
      const auto models = model_->run(id);
      ASSERT_EQ(ours.has_value(), models.has_value());
      if (!ours) continue;
      EXPECT_EQ(ours->head, models->head);
      EXPECT_EQ(ours->status, models->status);
      const std::vector<HeldJob> jobs = store_.jobs(id);
      const std::vector<HeldJob> model_jobs = model_->jobs(id);
      ASSERT_EQ(jobs.size(), model_jobs.size());
      for (std::size_t at = 0; at < jobs.size(); ++at) expect_same(jobs[at], model_jobs[at]);
    }
  }

  static void expect_same(const HeldJob& ours, const HeldJob& models) {
    EXPECT_EQ(ours.run, models.run);
    EXPECT_EQ(ours.job, models.job);
    EXPECT_EQ(ours.session, models.session);
    EXPECT_EQ(ours.epoch, models.epoch);
    EXPECT_EQ(ours.deadline_us, models.deadline_us);
    EXPECT_EQ(ours.run_head, models.run_head);
  }

  RunId some_run() {
    auto at = known_.begin();
    std::advance(at, pick(static_cast<int>(known_.size())));
    return at->first;
  }

  Store& store_;
  std::unique_ptr<Store> model_;
  Shard shard_;
  std::mt19937_64 random_;
  std::map<RunId, Known> known_;
};

TEST_P(StoreTest, random_commands_get_the_answers_of_the_model) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Twins(store(), last_shard(), seed).run(150);
}

const auto variants =
    testing::Values(Variant{"memory", true, 1}, Variant{"memory_4_shards", true, 4}, Variant{"postgres", false, 1},
                    Variant{"postgres_4_shards", false, 4}, Variant{"postgres_without_notify", false, 1, false},
                    Variant{"postgres_unprepared", false, 1, true, false});
const auto name_of = [](const auto& variant) { return variant.param.name; };
INSTANTIATE_TEST_SUITE_P(Stores, StoreTest, variants, name_of);
INSTANTIATE_TEST_SUITE_P(Stores, QueueSettingsTest, variants, name_of);

}  // namespace
}  // namespace cairn
