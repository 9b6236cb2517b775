// The queue's rows after a commit.
#include "tests/storage/store_test.hpp"

namespace cairn {
namespace {

using namespace test;
using Kind = Verdict::Kind;

class JobWritesTest : public StoreTest {};

TEST_P(JobWritesTest, an_offered_job_is_free) {
  Job job = job_of(1, 1, noon + 3, "model", 4);
  job.attempt = 2;
  job.timeout_ms = 9;
  TestRun run = started_run(job);
  const std::vector<HeldJob> jobs = store().jobs().of(run.id());
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].run, run.id());
  EXPECT_EQ(jobs[0].job, job);
  EXPECT_EQ(jobs[0].session, 0);
  EXPECT_EQ(jobs[0].deadline_us, never_us);
  EXPECT_EQ(jobs[0].run_head, 1);
}

TEST_P(JobWritesTest, a_kept_job_moves_on_under_the_same_session_and_epoch) {
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

TEST_P(JobWritesTest, an_offer_of_a_held_job_frees_it_with_a_new_epoch) {
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

TEST_P(JobWritesTest, a_branch_offered_again_after_a_drop_has_an_epoch_never_used_before) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  Entry dropping = run.entry();
  dropping.jobs.push_back(drop(1));
  run.commit(dropping);
  EXPECT_TRUE(store().jobs().of(run.id()).empty());
  Entry entry = run.entry();
  entry.jobs.push_back(offer(job_of(1, 1)));
  run.commit(entry);
  const HeldJob again = claim_one(7);
  EXPECT_GT(again.epoch, held.epoch);
}

TEST_P(JobWritesTest, a_job_may_be_born_held) {
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

TEST_P(JobWritesTest, adjust_changes_free_jobs_and_leaves_held_ones) {
  TestRun run = new_run();
  Entry first = run.entry();
  first.jobs = {offer(job_of(1, 1)), offer(job_of(2, 2))};
  run.commit(first);
  const HeldJob held = claim_one(7);
  EXPECT_EQ(held.job.branch, 1);
  const HeldJob free = job(run, 2);
  Entry entry = run.entry();
  Job other = job_of(2, 9, never_us, "x", 8);
  other.timeout_ms = 77;
  entry.jobs = {adjust(job_of(1, 9, never_us, "x", 8)), adjust(other), adjust(job_of(3, 3))};
  run.commit(entry);
  EXPECT_EQ(job(run, 1).job, held.job);
  EXPECT_EQ(job(run, 1).epoch, held.epoch);
  EXPECT_EQ(job(run, 2).job.queue, "x");
  EXPECT_EQ(job(run, 2).job.priority, 8);
  EXPECT_EQ(job(run, 2).job.run_at_us, never_us);
  EXPECT_EQ(job(run, 2).job.timeout_ms, 77);
  EXPECT_EQ(job(run, 2).job.step, 2);
  EXPECT_EQ(job(run, 2).epoch, free.epoch);
  EXPECT_EQ(store().jobs().of(run.id()).size(), 2u);
}

// A worker that gave back the step of a run that had moved meanwhile left its row in the old queue, for good.
TEST_P(JobWritesTest, a_held_job_that_was_adjusted_is_released_as_adjusted) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  Job wanted = held.job;
  wanted.queue = "x";
  wanted.timeout_ms = 77;
  Entry moving = run.entry();
  moving.jobs = {adjust(wanted)};
  run.commit(moving);
  EXPECT_EQ(job(run, 1).job, held.job);
  const std::vector<std::pair<RunId, Fence>> holds = {{run.id(), fence_of(held)}};
  store().jobs().release(holds, noon + 3);
  wanted.run_at_us = noon + 3;
  EXPECT_EQ(job(run, 1).job, wanted);
}

TEST_P(JobWritesTest, an_adjustment_ends_with_the_step_it_was_for) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  Job wanted = held.job;
  wanted.queue = "x";
  Entry moving = run.entry();
  moving.jobs = {adjust(wanted)};
  run.commit(moving);
  Entry next = run.entry();
  next.fences = {fence_of(held)};
  JobWrite write = keep(job_of(1, held.job.step + 1));
  write.session = 7;
  next.jobs = {write};
  EXPECT_EQ(run.commit(next).kind, Kind::committed);
  const std::vector<std::pair<RunId, Fence>> holds = {{run.id(), fence_of(job(run, 1))}};
  store().jobs().release(holds, noon);
  EXPECT_EQ(job(run, 1).job.queue, held.job.queue);
}

TEST_P(JobWritesTest, a_refused_entry_writes_no_job_and_no_question) {
  TestRun run = started_run();
  Entry entry = run.entry();
  entry.chain_before[0] ^= 1;
  entry.jobs = {drop(1), offer(job_of(2, 2))};
  QuestionRow question;
  question.id = "q1";
  entry.asked.push_back(question);
  commit({entry});
  ASSERT_EQ(store().jobs().of(run.id()).size(), 1u);
  EXPECT_EQ(store().jobs().of(run.id())[0].job.branch, 1);
  EXPECT_TRUE(store().all_runs().questions(run.id(), 10).empty());
}

INSTANTIATE_TEST_SUITE_P(Stores, JobWritesTest, ::testing::ValuesIn(every_store()), name_of_store);

}  // namespace
}  // namespace cairn
