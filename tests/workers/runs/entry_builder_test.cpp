// The write of a branch's row, derived from the job before the entry and the job after it.
#include "workers/runs/entry_builder.hpp"

#include <gtest/gtest.h>

#include "storage/memory/memory_store.hpp"
#include "tests/workers/session/times.hpp"
#include "tests/workers/small_graphs.hpp"

namespace cairn {
namespace {

using namespace test;
using Op = JobWrite::Op;

// One run, decided and built entry after entry as the committer does it.
class EntryBuilderTest : public ::testing::Test {
 protected:
  EntryBuilderTest()
      : store_(make_memory_store(1, [] { return noon; })),
        catalogue_(small_catalogue()),
        client_(client_with_graphs(*store_, *catalogue_)),
        rules_(true, 0) {
    rules_.set_queues({{"default", GoesOn::open}});
    rules_.set_capacity({.is_accepting = true, .free_slots = 10});
    rules_.tick(noon);
  }
  void start(const std::string& graph) {
    StartRun command;
    command.graph = graph;
    command.input = {{"text", "x"}, {"word", "hi"}};
    state_ = *client_->state(client_->start(std::move(command), "")->run);
    rows_.assign(state_);
  }
  // Builds the entry of one command and moves the rows on.
  Entry entry_of(const Command& command, std::optional<HeldBranch> held = {}) {
    EntryBuilder builder(state_.id, state_.seq, {}, state_.last_branch);
    Context context;
    context.now_us = noon;
    Result<Decision> decision = decide(state_, command, context, client_->graphs());
    EXPECT_TRUE(decision) << (decision ? "" : decision.error().message);
    if (held) builder.fence(*std::move(held));
    builder.add(std::move(decision->events), decision->touched);
    Entry entry = builder.build(state_, rows_, 5, rules_);
    created_held_ = builder.created_held();
    rows_.apply(entry.jobs);
    JobRows expected;
    expected.assign(state_);
    EXPECT_EQ(rows_, expected) << "the rows that were written are not those that the state implies";
    return entry;
  }
  Entry complete(BranchId branch, bool may_stay = true, SessionId session = 5) {
    const Step& step = state_.steps.at(state_.branches.at(branch).step);
    HeldBranch held{.fence = {branch, session, 1, step.id}, .ancestors = branches_above(state_, branch)};
    if (may_stay) held.keep_in = "default";
    return entry_of(CompleteStep{step.id, step.attempt, {"ok", Json::object(), {}}, session, noon, 0}, std::move(held));
  }
  static std::vector<Op> ops(const Entry& entry) {
    std::vector<Op> found;
    for (const JobWrite& write : entry.jobs) found.push_back(write.op);
    return found;
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
  KeepRules rules_;
  RunState state_;
  JobRows rows_;
  std::vector<HeldJob> created_held_;
};

TEST_F(EntryBuilderTest, the_row_of_a_held_branch_stays_or_is_offered) {
  start("linear");
  EXPECT_EQ(ops(complete(root_branch)), std::vector{Op::keep});
  EXPECT_EQ(ops(complete(root_branch, false)), std::vector{Op::offer});
}

// A sweep reports the losses of another session, which keeps nothing; a gateway reports for the sessions that keep.
TEST_F(EntryBuilderTest, the_report_of_another_session_keeps_for_that_one_and_only_if_it_says_so) {
  start("linear");
  const Entry kept = complete(root_branch, true, 6);
  EXPECT_EQ(ops(kept), std::vector{Op::keep});
  EXPECT_EQ(kept.jobs.at(0).session, 6);
  EXPECT_EQ(ops(complete(root_branch, false, 6)), std::vector{Op::offer});
}

TEST_F(EntryBuilderTest, a_fan_out_drops_its_row_and_creates_its_branches_held_where_there_is_room) {
  start("fan");
  rules_.set_capacity({.is_accepting = true, .free_slots = 2});
  EXPECT_EQ(ops(complete(root_branch)), (std::vector{Op::drop, Op::insert_held, Op::insert_held, Op::offer}));
  EXPECT_EQ(created_held_.size(), 2u);
}

TEST_F(EntryBuilderTest, the_join_of_held_branches_is_created_held) {
  start("fan");
  complete(root_branch);
  std::vector<BranchId> branches;
  for (const auto& [id, branch] : state_.branches)
    if (branch.step != 0) branches.push_back(id);
  ASSERT_EQ(branches.size(), 3u);
  for (const BranchId branch : {branches[0], branches[2], branches[1]}) complete(branch);
  const Entry last = complete(branches[1]);  // it has two steps
  EXPECT_EQ(ops(last), (std::vector{Op::insert_held, Op::drop})) << "of the branch that waited, and of the last one";
}

TEST_F(EntryBuilderTest, a_paused_run_has_its_rows_adjusted_whoever_holds_them) {
  start("linear");
  const Entry paused = entry_of(Pause{});
  EXPECT_EQ(ops(paused), std::vector{Op::adjust});
  EXPECT_EQ(paused.jobs[0].job.run_at_us, never_us);
  EXPECT_EQ(ops(entry_of(Resume{})), std::vector{Op::adjust});
}

TEST_F(EntryBuilderTest, another_attempt_is_offered_and_an_end_drops) {
  start("retry");
  const Job job = *job_of(state_, root_branch);
  HeldBranch held{.fence = {root_branch, 5, 1, job.step}};
  EXPECT_EQ(ops(entry_of(FailStep{job.step, job.attempt, {"error", "no", true, {}}, 5, noon}, held)),
            std::vector{Op::offer});
  EXPECT_EQ(ops(entry_of(Cancel{"enough"})), std::vector{Op::drop});
}

TEST_F(EntryBuilderTest, a_run_that_is_reopened_offers_its_failed_step_as_of_now) {
  start("thrown");
  const Job job = *job_of(state_, root_branch);
  HeldBranch held{.fence = {root_branch, 5, 1, job.step}};
  EXPECT_EQ(ops(entry_of(FailStep{job.step, job.attempt, {"error", "no", false, {}}, 5, noon}, held)),
            std::vector{Op::drop});
  EXPECT_EQ(ops(entry_of(Reopen{})), std::vector{Op::offer});
}

TEST_F(EntryBuilderTest, a_branch_whose_call_has_ended_is_offered) {
  ASSERT_TRUE(client_->add_graph(Json::parse(R"({"name": "calling", "start": "c", "limits": {"steps": 9}, "nodes": {
      "c": {"call": "child", "on": {"done": "a", "failed": "z"}}, "a": {"do": "t.ok", "on": {"ok": "z"}},
      "z": {"end": "done"}}})")));
  start("calling");
  const RunId child = state_.steps.begin()->second.child;
  ASSERT_FALSE(child.is_nil());
  const StepId step = state_.steps.begin()->first;
  FinishChild finished;
  finished.step = step;
  finished.child = child;
  finished.status = RunStatus::done;
  finished.output = Json::object();
  const Entry entry = entry_of(finished);
  EXPECT_EQ(ops(entry), std::vector{Op::offer}) << "no worker held it";
}

}  // namespace
}  // namespace cairn
