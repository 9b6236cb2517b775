// The one way into a history: kept branches, fences, batches, and a store that is away; driven without threads.
#include "tests/workers/runs/committer_trial.hpp"

namespace cairn {
namespace {

using namespace test;

TEST_F(CommitterTest, a_kept_branch_goes_on_with_the_same_epoch) {
  const RunId run = start("linear", {{"text", "x"}});
  Driven driven(*store_, 5);
  HeldJob job = claim(5);
  for (int step = 1; step <= 2; ++step) {
    const Ticket ticket = driven.submit(run, complete(job), fence(job), true);
    driven.settle();
    ASSERT_TRUE(driven.reply(ticket).status);
    ASSERT_TRUE(driven.reply(ticket).next);
    EXPECT_EQ(driven.reply(ticket).next->epoch, job.epoch);
    job = *driven.reply(ticket).next;
    EXPECT_EQ(store_->jobs().of(run)[0].session, 5);
    EXPECT_EQ(store_->jobs().of(run)[0].job.step, job.job.step);
  }
}

TEST_F(CommitterTest, a_step_that_may_not_stay_is_offered_with_a_new_epoch) {
  const RunId run = start("linear", {{"text", "x"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  const Ticket ticket = driven.submit(run, complete(job), fence(job), false);
  driven.settle();
  EXPECT_FALSE(driven.reply(ticket).next);
  EXPECT_EQ(store_->jobs().of(run)[0].session, 0);
  EXPECT_GT(store_->jobs().of(run)[0].epoch, job.epoch);
}

// A row that stays keeps its queue: released later, it would be claimed for a step that it no longer stands for.
TEST_F(CommitterTest, a_step_in_another_queue_than_its_branchs_row_does_not_stay) {
  const RunId run = start("wait");
  Driven driven(*store_, 5);
  driven->tick(noon + 100'000);
  const HeldJob timer = claim(5);
  driven->submit({1, run, Due{timer.job.step}, fence(timer), timer.job.queue});
  driven.settle();
  EXPECT_FALSE(driven.reply(1).next);
  EXPECT_EQ(store_->jobs().of(run)[0].job.queue, "default");
  EXPECT_EQ(store_->jobs().of(run)[0].session, 0);
}

TEST_F(CommitterTest, branches_of_a_fan_out_are_born_held_and_so_is_their_join) {
  const RunId run = start("fan");
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  driven.submit(run, complete(job), fence(job), true);
  driven.settle();
  std::vector<HeldJob> branches = std::exchange(driven.created_held, {});
  ASSERT_EQ(branches.size(), 3u);
  while (!branches.empty()) {
    const HeldJob next = branches.front();
    branches.erase(branches.begin());
    const Ticket ticket = driven.submit(run, complete(next), fence(next), true);
    driven.settle();
    ASSERT_TRUE(driven.reply(ticket).status);
    if (driven.reply(ticket).next) branches.push_back(*driven.reply(ticket).next);
  }
  ASSERT_EQ(driven.created_held.size(), 1u);
  EXPECT_EQ(driven.created_held[0].job.branch, root_branch);
  EXPECT_EQ(store_->jobs().of(run).size(), 1u);
  const Ticket last = driven.submit(run, complete(driven.created_held[0]), fence(driven.created_held[0]), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(last).status);
  EXPECT_EQ(status(run), RunStatus::done);
}

TEST_F(CommitterTest, several_outcomes_of_one_run_are_one_entry) {
  const RunId run = start("fan");
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  driven.submit(run, complete(job), fence(job), true);
  driven.settle();
  const std::int64_t batches = driven->counts().batches;
  for (const HeldJob& branch : std::exchange(driven.created_held, {}))
    driven.submit(run, complete(branch), fence(branch), true);
  driven.settle();
  EXPECT_EQ(driven->counts().batches, batches + 1);
}

TEST_F(CommitterTest, a_stale_fence_is_answered_stale_and_its_batch_goes_on) {
  const RunId run = start("linear", {{"text", "x"}});
  const HeldJob job = claim(5);
  const RunId other = start("linear", {{"text", "y"}});
  const HeldJob good = claim(5);
  store_->jobs().release(std::vector{std::pair(run, fence(job))}, noon);
  Driven driven(*store_, 5);
  const Ticket stale = driven.submit(run, complete(job), fence(job), true);
  const Ticket fine = driven.submit(other, complete(good), fence(good), true);
  driven.settle();
  ASSERT_FALSE(driven.reply(stale).status);
  EXPECT_EQ(driven.reply(stale).status.error().code, Code::stale);
  EXPECT_TRUE(driven.reply(fine).status);
  EXPECT_EQ(store_->run(run)->head, 1);
}

TEST_F(CommitterTest, the_outcome_for_a_run_that_was_cancelled_is_answered_closed) {
  const RunId run = start("linear", {{"text", "x"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  driven->await_state(900, run, 1);
  driven.settle();
  ASSERT_TRUE(client_->command(run, Cancel{"enough"}));
  const Ticket ticket = driven.submit(run, complete(job), fence(job), true);
  driven.settle();
  ASSERT_FALSE(driven.reply(ticket).status);
  EXPECT_EQ(driven.reply(ticket).status.error().code, Code::closed);
  EXPECT_EQ(driven->created_held_under_way(), 0);
}

// The store stands for a database that never takes a value: the task that brings it is answered, and no other.
TEST_F(CommitterTest, a_value_that_the_database_never_takes_refuses_its_own_task_alone) {
  const RunId run = start("wait");
  const RunId other = start("wait");
  Driven driven(*store_, 5);
  const Ticket before = driven.submit(run, SendSignal{"a", "fine", "s1"});
  const Ticket culprit = driven.submit(run, SendSignal{"a", "poison", "s2"});
  const Ticket after = driven.submit(run, SendSignal{"a", "fine", "s3"});
  const Ticket bystander = driven.submit(other, SendSignal{"a", "fine", "s4"});
  const auto is_poisoned = [](const Entry& entry) {
    return std::any_of(entry.events.begin(), entry.events.end(),
                       [](const EventRow& row) { return row.payload.find("poison") != std::string::npos; });
  };
  std::mt19937 random(1);
  for (int rounds = 0; driven.collect(); ++rounds) {
    ASSERT_LT(rounds, 100) << "it never ends";
    if (driven.commits().empty()) {
      driven.step(random);
      continue;
    }
    const CommitBatch batch = driven.commits().back();
    driven.commits().pop_back();
    std::vector<Verdict> verdicts;
    for (const Entry& entry : *batch.entries)
      verdicts.push_back(is_poisoned(entry) ? Verdict{.kind = Verdict::Kind::refused, .stale = {}, .fault = "too long"}
                                            : store_->commit(batch.shard, {&entry, 1}, {}).front());
    driven->verdicts(batch.batch, std::move(verdicts));
  }
  EXPECT_TRUE(driven->idle());
  EXPECT_TRUE(driven.reply(before).status);
  ASSERT_FALSE(driven.reply(culprit).status);
  EXPECT_EQ(driven.reply(culprit).status.error().code, Code::corrupt);
  EXPECT_NE(driven.reply(culprit).status.error().message.find("too long"), std::string::npos);
  EXPECT_TRUE(driven.reply(after).status);
  EXPECT_TRUE(driven.reply(bystander).status);
  EXPECT_EQ(store_->run(run)->head, 3);
}

TEST_F(CommitterTest, an_unavailable_store_gets_the_same_bytes_again) {
  const RunId run = start("linear", {{"text", "x"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  const Ticket ticket = driven.submit(run, complete(job), fence(job), true);
  std::mt19937 random(1);
  while (driven.commits().empty() && driven.collect())
    if (driven.commits().empty()) driven.step(random);
  const CommitBatch batch = driven.commits().at(0);
  const std::vector<EventRow> before = batch.entries->at(0).events;
  driven.commits().clear();
  driven->batch_failed(batch.batch);
  EXPECT_FALSE(driven.collect());
  EXPECT_FALSE(driven->idle());
  EXPECT_LT(driven->due_us(), noon + 1'000'000);
  driven->tick(driven->due_us());
  ASSERT_TRUE(driven.collect());
  EXPECT_EQ(driven.commits().at(0).batch, batch.batch);
  EXPECT_EQ(driven.commits().at(0).entries->at(0).events.at(0).payload, before.at(0).payload);
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
}

TEST_F(CommitterTest, histories_whose_reading_failed_are_asked_for_again_each_alone) {
  const std::vector<RunId> runs = {start("linear", {{"text", "x"}}), start("linear", {{"text", "y"}})};
  Driven driven(*store_, 5);
  for (std::size_t at = 0; at < runs.size(); ++at) driven->await_state(900 + at, runs[at], 1);
  ASSERT_TRUE(driven.collect());
  ASSERT_EQ(driven.loads().size(), 2u);
  for (const Load& load : std::exchange(driven.loads(), {})) {
    EXPECT_FALSE(load.alone);
    driven->load_failed(load.run);
  }
  EXPECT_FALSE(driven.collect()) << "not at once";
  driven->tick(driven->due_us());
  ASSERT_TRUE(driven.collect());
  ASSERT_EQ(driven.loads().size(), 2u);
  for (const Load& load : driven.loads()) EXPECT_TRUE(load.alone);
  driven.settle();
  for (const Ticket ticket : {900u, 901u}) EXPECT_TRUE(driven.reply(ticket).is_state);
}

TEST_F(CommitterTest, a_run_that_cannot_be_read_is_refused_and_disturbs_nobody) {
  Entry bad;
  bad.run.id = new_run_id();
  bad.run.graph = "linear";
  bad.run.version = "nowhere";
  EventRow row;
  row.seq = 1;
  row.at_us = noon;
  row.type = 999;
  row.version = 1;
  row.payload = "{}";
  bad.events = {row};
  ASSERT_EQ(store_->commit(0, std::vector{bad}, {})[0].kind, Verdict::Kind::committed);
  const RunId run = start("linear", {{"text", "x"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  const Ticket broken = driven.submit(bad.run.id, Cancel{"x"});
  const Ticket missing = driven.submit(new_run_id(), Cancel{"x"});
  const Ticket fine = driven.submit(run, complete(job), fence(job), true);
  driven.settle();
  ASSERT_FALSE(driven.reply(broken).status);
  EXPECT_EQ(driven.reply(broken).status.error().code, Code::unsupported);
  EXPECT_EQ(driven.reply(missing).status.error().code, Code::not_found);
  EXPECT_TRUE(driven.reply(fine).status);
}

TEST_F(CommitterTest, pause_adjusts_what_nobody_holds_and_leaves_holds_alone) {
  const RunId run = start("linear", {{"text", "x"}});
  ASSERT_TRUE(client_->command(run, Pause{}));
  EXPECT_EQ(store_->jobs().of(run)[0].job.run_at_us, never_us);
  ASSERT_TRUE(client_->command(run, Resume{}));
  const HeldJob job = claim(5);
  ASSERT_TRUE(client_->command(run, Pause{}));
  EXPECT_EQ(store_->jobs().of(run)[0].epoch, job.epoch);
  EXPECT_EQ(store_->jobs().of(run)[0].session, 5);
  Driven driven(*store_, 5);
  const Ticket ticket = driven.submit(run, complete(job), fence(job));
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(store_->jobs().of(run)[0].job.run_at_us, never_us);
}

// A claim that begins where rows were offered lately must find it.
TEST_F(CommitterTest, what_goes_on_after_a_pause_is_offered_from_then_on) {
  const RunId run = start("linear", {{"text", "x"}});
  EXPECT_EQ(store_->jobs().of(run)[0].job.run_at_us, noon);
  ASSERT_TRUE(client_->command(run, Pause{}));
  now_ = noon + 60'000'000;
  ASSERT_TRUE(client_->command(run, Resume{}));
  EXPECT_EQ(store_->jobs().of(run)[0].job.run_at_us, now_);
}

TEST_F(CommitterTest, a_reopened_run_has_all_its_jobs_again) {
  const RunId run = start("thrown");
  const HeldJob job = claim(5);
  Driven driven(*store_, 5);
  driven.submit(run, FailStep{job.job.step, 1, {"error", "no", false, {}}, 5, noon}, fence(job));
  driven.settle();
  ASSERT_EQ(status(run), RunStatus::failed);
  EXPECT_TRUE(store_->jobs().of(run).empty());
  ASSERT_TRUE(client_->command(run, Reopen{}));
  ASSERT_EQ(store_->jobs().of(run).size(), 1u);
  EXPECT_GT(store_->jobs().of(run)[0].epoch, job.epoch);
}

}  // namespace
}  // namespace cairn
