// Bounds of bytes and memory, and snapshots.
#include "engine/snapshot.hpp"
#include "tests/workers/runs/committer_trial.hpp"

namespace cairn {
namespace {

using namespace test;

std::size_t bytes_of(const Entry& entry) {
  std::size_t bytes = 0;
  for (const EventRow& row : entry.events) bytes += row.payload.size();
  return bytes;
}

TEST_F(CommitterTest, H24_a_decision_that_there_is_no_memory_for_is_refused_and_the_next_one_is_made) {
  const RunId run = start("wait");
  int draws = 0;
  Driven driven(*store_, 5, 2'000,
                [&](CommitterOptions& of) { of.draw = [&] { return draws++ == 0 ? throw std::bad_alloc() : 0.5; }; });
  const Ticket culprit = driven.submit(run, SendSignal{"a", 1, "s1"});
  const Ticket behind = driven.submit(run, SendSignal{"a", 1, "s2"});
  driven.settle();
  ASSERT_FALSE(driven.reply(culprit).status);
  EXPECT_EQ(driven.reply(culprit).status.error().code, Code::limit);
  EXPECT_TRUE(driven.reply(behind).status);
}

TEST_F(CommitterTest, H24_a_run_that_there_is_no_memory_for_is_refused_and_not_read_again_without_end) {
  const RunId run = start("wait");
  Driven driven(*store_, 5);
  const Ticket ticket = driven.submit(run, SendSignal{"a", 1, "s1"});
  ASSERT_TRUE(driven.collect());
  ASSERT_EQ(driven.loads().size(), 1u);
  driven.loads().clear();
  History history;
  history.run = run;
  history.fits = false;
  driven->history(std::move(history));
  driven.settle();
  ASSERT_FALSE(driven.reply(ticket).status);
  EXPECT_EQ(driven.reply(ticket).status.error().code, Code::limit);
}

TEST_F(CommitterTest, A9_folded_states_are_bounded_by_bytes) {
  Driven driven(*store_, 5, 2'000, [](CommitterOptions& of) { of.states_bytes_max = 200'000; });
  for (Ticket ticket = 900; ticket < 920; ++ticket) {
    const RunId run = start("wait", {{"text", std::string(30'000, 'x')}});
    driven->await_state(ticket, run, 1);
    driven.settle();
    ASSERT_TRUE(driven.reply(ticket).status);
    EXPECT_NE(driven->state(run), nullptr) << "its step reads it next";
    (void)driven.collect();
    EXPECT_LE(driven->states_bytes(), 200'000 + 70'000);
  }
  EXPECT_GT(driven->counts().forgotten, 10);
}

TEST_F(CommitterTest, A9_batches_and_entries_are_bounded_by_bytes) {
  constexpr std::size_t bytes_max = 50'000, one = 20'000;
  std::vector<RunId> runs;
  for (int n = 0; n < 5; ++n) runs.push_back(start("wait"));
  Driven driven(*store_, 5, 2'000, [](CommitterOptions& of) { of.batch_bytes_max = bytes_max; });
  std::vector<Ticket> tickets;
  const auto send = [&](const RunId& run) {
    const std::string id = "s" + std::to_string(tickets.size());
    tickets.push_back(driven.submit(run, SendSignal{"a", std::string(one, 'x'), id}));
  };
  for (const RunId& run : runs) send(run);
  for (int n = 0; n < 10; ++n) send(runs[0]);
  std::mt19937 random(1);
  int batches = 0;
  for (; driven.collect(); driven.step(random)) {
    for (const CommitBatch& batch : driven.commits()) {
      std::size_t bytes = 0;
      for (const Entry& entry : *batch.entries) bytes += bytes_of(entry);
      EXPECT_LT(bytes, batch.entries->size() == 1 ? bytes_max + one + 1'000 : bytes_max);
      ++batches;
    }
  }
  EXPECT_GT(batches, 4);
  for (const Ticket ticket : tickets) EXPECT_TRUE(driven.reply(ticket).status);
}

TEST_F(CommitterTest, a_large_state_is_kept_again_only_after_as_many_bytes_of_events) {
  const auto kept_of = [this](const std::string& text) {
    const RunId run = start("linear", {{"text", text}});
    Driven driven(*store_, 7, 4);
    for (int n = 0; n < 50; ++n) {
      driven.submit(run, SendSignal{"noted", std::string(200, 'x'), ""});
      driven.settle();
    }
    return driven.snapshots;
  };
  EXPECT_EQ(kept_of(std::string(20'000, 'x')), 1);
  EXPECT_GT(kept_of(""), 1);
}

// Nor for those that end its steps one after another: what they left is in the state as well.
TEST_F(CommitterTest, a_wide_state_is_not_kept_for_the_events_that_opened_it) {
  const RunId run = start("map");
  const HeldJob job = claim(5);
  CompleteStep plan = complete(job);
  for (int n = 0; n < 400; ++n) {
    SubGoalOpened goal;
    goal.sub_goal = "g" + std::to_string(n);
    goal.tool = "echo";
    goal.inputs = Json::object();
    plan.outcome.facts.emplace_back(std::move(goal));
  }
  Driven driven(*store_, 5, 100);
  const Ticket ticket = driven.submit(run, std::move(plan), fence(job));
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(store_->jobs().of(run).size(), 400u);
  EXPECT_EQ(driven.snapshots, 0);
  ASSERT_EQ(driven.created_held.size(), 400u);
  for (const HeldJob& branch : driven.created_held) {
    CompleteStep done = complete(branch);
    done.outcome.label.clear();
    driven.submit(run, std::move(done), fence(branch));
    driven.settle();
  }
  EXPECT_EQ(driven.snapshots, 0);
}

// Only the process that had read or written one removed it.
TEST_F(CommitterTest, A15_a_run_that_ends_leaves_no_snapshot_whoever_made_it) {
  const RunId run = start("linear", {{"text", ""}});
  const auto is_kept = [&] { return store_->snapshots().newest(run, fold_version, never_us).has_value(); };
  Driven keeper(*store_, 5, 4), other(*store_, 6, 4);
  for (Ticket n = 1; n <= 20; ++n) {
    other->await_state(1'000 + n, run, store_->run(run)->head);  // each time only what is new to it
    other.settle();
    keeper.submit(run, SendSignal{"noted", std::string(200, 'x'), ""});
    keeper.settle();
  }
  ASSERT_TRUE(is_kept());
  EXPECT_EQ(other.snapshots, 0);
  other.submit(run, Cancel{"enough"});
  other.settle();
  ASSERT_TRUE(is_ended(status(run)));
  EXPECT_FALSE(is_kept());
}

TEST_F(CommitterTest, A15_a_run_that_is_too_short_for_a_snapshot_asks_for_none_to_be_removed) {
  const RunId run = start("linear", {{"text", ""}});
  Driven driven(*store_, 5);
  driven.submit(run, Cancel{"enough"});
  bool has_ended = false;
  std::mt19937 random(1);
  for (; driven.collect(); driven.step(random))
    for (const CommitBatch& batch : driven.commits())
      for (const Entry& entry : *batch.entries) {
        has_ended = has_ended || is_ended(entry.run.status);
        EXPECT_FALSE(entry.drops_snapshots);
      }
  EXPECT_TRUE(has_ended);
}

// The snapshot is false: a committer that used it would decide otherwise.
TEST_F(CommitterTest, a_snapshot_of_an_older_fold_is_ignored_and_the_run_is_folded_from_its_events) {
  const RunId run = start("linear", {{"text", "x"}});
  const std::int64_t head = store_->run(run)->head;
  const auto text_of = [](const RunState* state) {
    return state == nullptr ? Json("no state") : read_channels(*state, root_branch).value("text", Json("no text"));
  };
  RunState lying = *client_->state(run);
  lying.branches.at(root_branch).data.set({{"text", "a lie"}}, *lying.graph);
  const std::string text = canonical(snapshot_json(lying));
  for (const auto& [version, expected] : {std::pair{fold_version - 1, "x"}, std::pair{fold_version, "a lie"}}) {
    store_->snapshots().put(run, {head, version, store_->run(run)->chain_hash, text});
    Driven driven(*store_, 5);
    driven->await_state(1, run, head);
    driven.settle();
    EXPECT_EQ(text_of(driven->state(run)), expected) << "the committer, fold version " << version;
    const Result<RunState> shown = client_->state(run);
    ASSERT_TRUE(shown);
    EXPECT_EQ(text_of(&*shown), expected) << "the client, fold version " << version;
  }
}

}  // namespace
}  // namespace cairn
