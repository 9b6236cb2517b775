// Linked runs: a called run ends in one commit with its step, and not while its caller cannot be read.
#include "tests/workers/runs/committer_trial.hpp"

namespace cairn {
namespace {

using namespace test;

TEST_F(CommitterTest, a_called_run_ends_in_one_commit_with_its_step) {
  const RunId run = start("call", {{"word", "hi"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  ASSERT_NE(job.run, run);
  const std::int64_t batches = driven->counts().batches;
  const Ticket ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(driven->counts().batches, batches + 1);
  EXPECT_EQ(status(job.run), RunStatus::done);
  EXPECT_EQ(status(run), RunStatus::done);
}

TEST_F(CommitterTest, a_called_run_ends_although_its_caller_moved_on_meanwhile) {
  const RunId run = start("call", {{"word", "hi"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  driven->await_state(900, run, 1);
  driven.settle();
  ASSERT_TRUE(client_->command(run, SendSignal{"note", 1, "s1"}));  // the caller's cached state is old now
  const Ticket ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(driven->counts().conflicts, 2);  // both of the link
  EXPECT_EQ(status(job.run), RunStatus::done);
  EXPECT_EQ(status(run), RunStatus::done);
}

// A3: the child left alone, and its caller waited for ever.
TEST_F(CommitterTest, A3_a_called_run_does_not_end_while_its_caller_cannot_be_read) {
  const RunId run = start("call", {{"word", "hi"}});
  NewerRelease store(*store_);
  store.newer = run;
  Driven driven(store, 5);
  const HeldJob job = claim(5);
  const Ticket before = driven.submit(job.run, SendSignal{"note", 1, "s1"});
  Ticket ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(before).status) << "what went before it passes";
  ASSERT_FALSE(driven.reply(ticket).status);
  EXPECT_EQ(driven.reply(ticket).status.error().code, Code::unsupported);
  EXPECT_EQ(status(job.run), RunStatus::running);
  EXPECT_EQ(status(run), RunStatus::running);
  store.newer = {};
  ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(status(job.run), RunStatus::done);
  EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_TRUE(store_->all_runs().loose_ends({}, 10).empty());
}

TEST_F(CommitterTest, A3_nor_does_the_run_that_a_called_run_called) {
  ASSERT_TRUE(client_->add_graph(parse_stored(R"({"name": "outer", "start": "c", "limits": {"steps": 9}, "nodes": {
      "c": {"call": "call", "with": {"word": "$word"}, "on": {"done": "z", "failed": "z"}}, "z": {"end": "done"}}})")));
  const RunId outer = start("outer", {{"word", "hi"}});
  NewerRelease store(*store_);
  store.newer = outer;
  Driven driven(store, 5);
  const HeldJob job = claim(5);
  const RunId middle = *store_->run(job.run)->parent;
  ASSERT_NE(middle, outer);
  Ticket ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  ASSERT_FALSE(driven.reply(ticket).status);
  for (const RunId& run : {job.run, middle, outer}) EXPECT_EQ(status(run), RunStatus::running);
  store.newer = {};
  ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  for (const RunId& run : {job.run, middle, outer}) EXPECT_EQ(status(run), RunStatus::done);
}

// A3 and A7: the end is decided under the called run's lock, and its caller is read after that.
TEST_F(CommitterTest, A3_nor_does_a_called_run_that_others_write_too) {
  ASSERT_TRUE(client_->add_graph(parse_stored(R"({"name": "outer", "start": "c", "limits": {"steps": 9}, "nodes": {
      "c": {"call": "fan", "on": {"done": "z", "failed": "z"}}, "z": {"end": "done"}}})")));
  const RunId outer = start("outer");
  NewerRelease store(*store_);
  Driven one(*store_, 6), two(store, 5);
  one.keeps = two.keeps = false;
  HeldJob job = claim(6);
  one.submit(job.run, complete(job), fence(job));
  one.settle();
  two->await_state(900, job.run, 1);
  two.settle();
  two->tick(noon + 10'000'000);  // as if no other had written it for long
  const auto report = [&](Driven& driven, SessionId session) {
    job = claim(session);
    const Ticket ticket = driven.submit(job.run, complete(job), fence(job));
    driven.settle();
    return ticket;
  };
  EXPECT_TRUE(one.reply(report(one, 6)).status);
  for (int step = 0; step < 3; ++step) EXPECT_TRUE(two.reply(report(two, 5)).status);
  store.newer = outer;
  job = claim(5);
  Ticket ticket = two.submit(job.run, complete(job), fence(job));
  ASSERT_TRUE(two.collect());
  ASSERT_EQ(two.locked_commits().size(), 1u);
  two.settle();
  ASSERT_FALSE(two.reply(ticket).status);
  EXPECT_EQ(two.reply(ticket).status.error().code, Code::unsupported);
  for (const RunId& run : {job.run, outer}) EXPECT_EQ(status(run), RunStatus::running);
  store.newer = {};
  ticket = two.submit(job.run, complete(job), fence(job));
  two.settle();
  EXPECT_TRUE(two.reply(ticket).status);
  for (const RunId& run : {job.run, outer}) EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_TRUE(store_->all_runs().loose_ends({}, 10).empty());
}

// The caller's row was locked after that of the called run: against the order, in which two could wait for each other.
TEST_F(CommitterTest, a_caller_that_is_not_locked_does_not_leave_with_a_locked_run_that_comes_after_it) {
  ASSERT_TRUE(client_->add_graph(parse_stored(R"({"name": "outer", "start": "c", "limits": {"steps": 9}, "nodes": {
      "c": {"call": "fan", "on": {"done": "z", "failed": "z"}}, "z": {"end": "done"}}})")));
  RunId outer;
  HeldJob job;
  for (int tries = 0; tries < 64 && !(outer < job.run); ++tries) {  // ids of one moment have no order
    outer = start("outer");
    job = claim(6);
  }
  ASSERT_TRUE(outer < job.run);
  Driven one(*store_, 6), two(*store_, 5);
  one.keeps = two.keeps = false;
  one.submit(job.run, complete(job), fence(job));
  one.settle();
  two->await_state(900, job.run, 1);
  two->await_state(901, outer, 1);
  two.settle();
  bool was_caller_decided = false;
  while (status(job.run) == RunStatus::running) {
    job = claim(5);
    two.submit(job.run, complete(job), fence(job));
    ASSERT_TRUE(two.collect());
    ASSERT_EQ(two.locked_commits().size(), 1u);
    const LockedCommit commit = std::exchange(two.locked_commits(), {}).front();
    LockedCommitted done = store_->commit_locked(commit.shard, commit.runs, [&](std::vector<LockedRun> runs) {
      LockedDecision decision = two->decide_locked(commit.batch, std::move(runs));
      for (const Entry& entry : decision.entries) EXPECT_EQ(entry.run.id, job.run);
      return decision;
    });
    two->verdicts(commit.batch, std::move(done.verdicts));
    two.collect();
    was_caller_decided = !two.commits().empty() && two.commits().front().entries->size() == 2;
    two.settle();
  }
  EXPECT_TRUE(was_caller_decided) << "both leave together, as others do";
  EXPECT_EQ(status(job.run), RunStatus::done);
  EXPECT_EQ(status(outer), RunStatus::done);
}

TEST_F(CommitterTest, A3_a_caller_that_has_not_heard_of_an_end_is_told) {
  const RunId run = start("call", {{"word", "hi"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  driven->submit(
      {.ticket = 900, .run = job.run, .command = complete(job), .fence = fence(job), .caller_has_ended = true});
  driven.settle();
  ASSERT_EQ(status(job.run), RunStatus::done);
  ASSERT_EQ(status(run), RunStatus::running);
  driven->finish_call(901, job.run);
  driven.settle();
  EXPECT_TRUE(driven.reply(901).status);
  EXPECT_EQ(status(run), RunStatus::done);
  driven->finish_call(902, job.run);
  driven.settle();
  ASSERT_FALSE(driven.reply(902).status);
  EXPECT_EQ(driven.reply(902).status.error().code, Code::closed);
}

// A19: other tasks of the run waited until the next submission to it.
TEST_F(CommitterTest, A19_what_waits_behind_a_command_that_cannot_be_decided_is_decided) {
  const RunId run = start("wait");
  int draws = 0;
  Driven driven(*store_, 5, 2'000, [&](CommitterOptions& of) {
    of.draw = [&] { return draws++ == 0 ? throw std::runtime_error("it cannot be decided") : 0.5; };
  });
  const Ticket culprit = driven.submit(run, SendSignal{"a", 1, "s1"});
  const Ticket behind = driven.submit(run, SendSignal{"a", 1, "s2"});
  driven.settle();
  ASSERT_FALSE(driven.reply(culprit).status);
  EXPECT_TRUE(driven.reply(behind).status);
}

constexpr const char* calls_late = R"({"name": "early", "start": "a", "limits": {"steps": 9}, "nodes": {
    "a": {"do": "t.ok", "on": {"ok": "c"}},
    "c": {"call": "late", "on": {"done": "z", "failed": "y"}}, "z": {"end": "done"}, "y": {"end": "failed"}}})";
constexpr const char* is_late = R"({"name": "late", "start": "q", "limits": {"steps": 9}, "nodes": {
    "q": {"ask": {"prompt": "?"}, "on": {"answered": "z", "expired": "z"}}, "z": {"end": "done"}}})";

// A session that had not read it yet failed the run that called it, for good.
TEST_F(CommitterTest, a_called_graph_that_was_added_after_the_names_were_read_is_found) {
  ASSERT_TRUE(client_->add_graph(Json::parse(calls_late)));
  Driven driven(*store_, 5);
  const RunId run = start("early");
  const HeldJob job = claim(5);
  ASSERT_TRUE(client_->add_graph(Json::parse(is_late)));
  const Ticket before = driven.submit(run, SendSignal{"note", 1, "s1"});  // in the same entry
  const Ticket ticket = driven.submit(run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(before).status);
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(driven.names_read, 2) << "once more than at first";
  EXPECT_EQ(status(run), RunStatus::running);
  const Result<RunState> state = client_->state(run);
  ASSERT_TRUE(state);
  ASSERT_EQ(state->steps.size(), 1u);
  EXPECT_EQ(status(state->steps.begin()->second.child), RunStatus::running);
}

TEST_F(CommitterTest, a_called_graph_that_is_not_there_fails_the_call_after_one_more_reading) {
  ASSERT_TRUE(client_->add_graph(Json::parse(calls_late)));
  Driven driven(*store_, 5);
  const RunId run = start("early");
  const HeldJob job = claim(5);
  const Ticket ticket = driven.submit(run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(driven.names_read, 2);
  EXPECT_EQ(status(run), RunStatus::failed);
}

// The end of a called run moves its caller to a call of a graph that is not known yet: both leave together.
TEST_F(CommitterTest, an_end_that_lets_its_caller_call_a_new_graph_waits_for_the_names) {
  Json outer = Json::parse(calls_late);
  outer["nodes"]["a"] = {{"call", "child"}, {"on", {{"done", "c"}, {"failed", "y"}}}};
  outer["nodes"]["a"]["with"] = {{"word", "hi"}};
  ASSERT_TRUE(client_->add_graph(outer));
  Driven driven(*store_, 5);
  const RunId run = start("early");
  const HeldJob job = claim(5);
  ASSERT_NE(job.run, run);
  ASSERT_TRUE(client_->add_graph(Json::parse(is_late)));
  const Ticket ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(driven.names_read, 2);
  EXPECT_EQ(status(job.run), RunStatus::done);
  EXPECT_EQ(status(run), RunStatus::running);
  EXPECT_TRUE(store_->all_runs().loose_ends({}, 10).empty());
}

TEST_F(CommitterTest, a_called_run_ends_alone_when_its_caller_has_ended) {
  const RunId run = start("call", {{"word", "hi"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  ASSERT_TRUE(client_->command(run, Cancel{"enough"}));
  const Ticket ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(status(job.run), RunStatus::done);
  EXPECT_EQ(status(run), RunStatus::aborted);
}

}  // namespace
}  // namespace cairn
