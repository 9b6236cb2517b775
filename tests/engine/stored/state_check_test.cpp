// Carried states (a fork's first event, snapshots): one whose parts do not fit together is refused, never gone on from.
#include "engine/state_check.hpp"

#include <limits>

#include "engine/corrupt_history.hpp"
#include "engine/evolve.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

// Branch 1 has forked into 2 (a map with sub-goals in branches 4 and 5, a third one waits), 3 (a question).
const char* const forked = R"({"name":"t","start":"f","limits":{"steps":30},"channels":{"n":{"reducer":"sum"}},"nodes":{
  "f":{"do":"x.f","labels":["ok"],"on":{"ok":["p","q"]}},
  "p":{"do":"x.p","labels":["ok"],"on":{"ok":"m"}},
  "m":{"map":"sub_goals","on":{"joined":"j","partial":"j"}},
  "q":{"ask":{"kind":"approval","prompt":"?"},"on":{"answered":"j","expired":"j"}},
  "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

struct Made {
  Made() : trial(forked) {
    trial.start(R"({"n":1})");
    trial.complete(1, "ok");
    trial.complete(2, "ok", "{}", {sub_goal("one"), sub_goal("two"), sub_goal("three", "echo", {"one"})});
    trial.then(SendSignal{"go", 1, "s1"});
    snapshot = snapshot_json(trial.state);
  }
  Trial trial;
  Json snapshot;
};

struct Break {
  const char* says;  // part of the refusal
  const char* at;    // a JSON pointer
  Json value;
};

// Places in the lists: branches 1 2 3 4 5 are 0 1 2 3 4; steps 3 4 5 6 (question, map, sub-goals) are 0 1 2 3.
std::vector<Break> breaks() {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  return {
      {"branch 1, the first, lies in another one", "/branches/0/parent", 1},
      {"branch 2 lies in branch 2", "/branches/1/parent", 2},
      {"branch 2 lies in branch 3", "/branches/1/parent", 3},
      {"branch 4 lies in branch 99", "/branches/3/parent", 99},
      {"branch 2 lies in branch 0", "/branches/1/parent", 0},
      {"branch 3 comes of nothing", "/branches/2/parent", 2},
      {"is for a sub-goal that is not there", "/branches/4/parent", 3},
      {"branch 5 is not of this run", "/last_branch", 4},
      {"branch 2 stands at step 3, which is not its own", "/branches/1/step", 3},
      {"branch 2 stands at step 77", "/branches/1/step", 77},
      {"waits at a node that is no join", "/branches/2/at_join", "q"},
      {"has reached no end", "/branches/2/at_end", "q"},
      {"forked into branch 9", "/branches/0/fan", {2, 3, 9}},
      {"forked into branch 2", "/branches/0/fan", {2, 3, 2}},
      {"counts 1 branches at its join", "/branches/0/arrived", 1},
      {"at the place of the next one", "/branches/1/plan/next_untaken", 4},
      {"at the place of the next one", "/branches/1/plan/next_untaken", -1},
      {"sub-goal one is not at its place", "/branches/1/plan/by_id/one", 3},
      {"sub-goal one is not at its place", "/branches/1/plan/by_id/one", -1},
      {"sub-goal one is not at its place", "/branches/1/plan/by_id/one", 1},
      {"sub-goal one is not known by its id", "/branches/1/plan/by_id", {{"two", 1}, {"three", 2}}},
      {"what waits for sub-goal one is not there", "/branches/1/plan/goals/0/dependents", {3}},
      {"what waits for sub-goal one is not there", "/branches/1/plan/goals/0/dependents", {-1}},
      {"counts 3 open sub-goals, but there are 2", "/branches/1/plan/goals/0/map", 99},
      {"counts 3 open sub-goals, but there are 2", "/branches/1/plan/goals/0/map", 3},
      {"sub-goal three waits for less than there is", "/branches/1/plan/goals/2/waits_for", 0},
      {"waits for less than there is", "/branches/1/plan/goals/2/waits_for", -1},
      {"sub-goal one is open, but has no step", "/branches/1/plan/goals/0/step", 0},
      {"branch 2 stands at step 4, which is not its own", "/steps/1/branch", 3},
      {"branch 2 stands at step 4, which is not its own", "/steps/1/branch", 99},
      {"step 4 is of branch 2, which is not at it", "/branches/1/step", 0},
      {"stands at an end", "/steps/0/node", "z"},
      {"is for a sub-goal that is not there", "/steps/2/goal", 3},
      {"which is not open", "/steps/0/question", "q99"},
      {"is to skip a sub-goal that is not there", "/steps/1/doomed", {3}},
      {"counts 1 open sub-goals, but there are 3", "/steps/1/open_goals", 1},
      {"has been tried too often", "/steps/2/attempt", 2'147'483'647},
      {"has been tried less than never", "/steps/2/losses", -5},
      {"question q3 is of no open step", "/questions/q3/step", 99},
      {"signal go waits, but there is none", "/signals/go", Json::array()},
      {"its steps are too many", "/last_step", 2'147'483'647},
      {"too many or too late", "/last_at", huge},
      {"too many or too late", "/seq", huge},
      {"its first branch is missing", "/branches", Json::array()},
      {"a graph without events", "/seq", 0},
      {"called at no depth",
       "/parent",
       {{"run", "0190f3a2-7c41-7b3e-9d55-0123456789ab"}, {"step", 1}, {"depth", 2'147'483'647}}},
  };
}

TEST(StateCheck, A11_each_reference_that_leads_nowhere_is_refused) {
  const Made made;
  ASSERT_TRUE(carried_state(made.snapshot, made.trial.graphs)) << made.snapshot.dump(1);
  for (const Break& one : breaks()) {
    Json broken = made.snapshot;
    broken[Json::json_pointer(one.at)] = one.value;
    const Result<RunState> state = carried_state(broken, made.trial.graphs);
    ASSERT_FALSE(state.ok()) << one.at << " = " << one.value;
    EXPECT_EQ(state.error().code, Code::corrupt) << one.at;
    EXPECT_NE(state.error().message.find(one.says), std::string::npos) << one.at << ": " << state.error().message;
  }
}

TEST(StateCheck, A11_a_sub_goal_of_a_map_that_is_not_there_is_refused_although_all_is_counted_right) {
  const Made made;
  Json broken = made.snapshot;
  broken["steps"][1]["open_goals"] = 2;
  broken["branches"][1]["plan"]["goals"][0]["map"] = 99;
  const Result<RunState> state = carried_state(broken, made.trial.graphs);
  ASSERT_FALSE(state.ok());
  EXPECT_NE(state.error().message.find("sub-goal one is of no open map"), std::string::npos) << state.error().message;
}

TEST(StateCheck, A11_two_branches_or_steps_of_one_number_are_refused) {
  const Made made;
  for (const char* list : {"branches", "steps"}) {
    Json broken = made.snapshot;
    broken[list].push_back(broken[list].back());
    EXPECT_EQ(carried_state(broken, made.trial.graphs).error().code, Code::corrupt) << list;
  }
}

TEST(StateCheck, A11_a_fork_of_a_broken_state_is_corrupt_for_the_fold_and_refused_by_the_rules) {
  const Made made;
  RunStarted started;
  started.graph = "t";
  started.version = made.trial.state.graph->version;
  started.forked_from = Origin{made.trial.state.id, 9, std::string(64, '0'), made.snapshot};
  StartRun start;
  start.run = plus(made.trial.state.id, 7);
  start.graph = "t";
  const auto fold = [&] {
    RunState state;
    state.id = start.run;
    std::vector<BranchId> touched;
    evolve(state, {1, made.trial.now_us, 0, "user:ann", started}, made.trial.graphs, touched);
  };
  EXPECT_NO_THROW(fold());
  started.forked_from->state["branches"][0]["parent"] = 1;
  EXPECT_THROW(fold(), CorruptHistory);
  start.forked_from = started.forked_from;
  RunState state;
  EXPECT_EQ(decide(state, start, {}, made.trial.graphs).error().code, Code::corrupt);
  started.forked_from->state = snapshot_json(RunState{});
  EXPECT_THROW(fold(), CorruptHistory) << "of a run that had no event yet";
}

TEST(StateCheck, A11_events_that_would_leave_a_state_apart_are_corrupt) {
  const Made made;
  const auto refused = [&](StepId step, EventBody body) {
    RunState state = made.trial.state;
    std::vector<BranchId> touched;
    EXPECT_THROW(evolve(state, {state.seq + 1, state.last_at, step, "", std::move(body)}, made.trial.graphs, touched),
                 CorruptHistory);
  };
  StepSucceeded closed;
  closed.label = "joined";
  closed.next = {"j"};
  refused(4, closed);  // its sub-goals are open
  refused(5, closed);  // a sub-goal's
  refused(3, closed);  // its question is open
  refused(4, QuestionAnswered{"q3", 1, "ann"});
  refused(3, QuestionAsked{"q4", "question", nullptr, nullptr, {}, {}});
  refused(5, QuestionAsked{"", "question", nullptr, nullptr, {}, {}});  // no end of its step would find it open
}

// Found by fuzzing: a run that had ended went on without its steps.
TEST(StateCheck, an_end_that_is_none_and_an_event_after_an_end_are_corrupt) {
  const Made made;
  const auto after = [&](RunStatus status, EventBody body) {
    RunState state = made.trial.state;
    std::vector<BranchId> touched;
    const auto add = [&](EventBody one) {
      evolve(state, {state.seq + 1, state.last_at, 0, "", std::move(one)}, made.trial.graphs, touched);
    };
    RunFinished finished;
    finished.status = status;
    add(finished);
    add(std::move(body));
  };
  for (const RunStatus status : {RunStatus::running, RunStatus::paused, RunStatus::done, RunStatus::aborted}) {
    EXPECT_THROW(after(status, RunPaused{}), CorruptHistory);
    EXPECT_THROW(after(status, RunResumed{}), CorruptHistory);
    EXPECT_THROW(after(status, RunReopened{}), CorruptHistory);
  }
  EXPECT_THROW(after(RunStatus::failed, RunResumed{}), CorruptHistory);
  EXPECT_NO_THROW(after(RunStatus::failed, RunReopened{}));
}

// Found by fuzzing: the engine ends an ask with its answer, but a history may say that it failed after it.
TEST(StateCheck, an_ask_that_failed_after_its_answer_asks_again_when_the_run_is_tried_again) {
  const Made made;
  RunState state = made.trial.state;
  std::vector<BranchId> touched;
  const auto add = [&](StepId step, EventBody body) {
    evolve(state, {state.seq + 1, state.last_at, step, "", std::move(body)}, made.trial.graphs, touched);
  };
  add(3, QuestionAnswered{"q3", 1, "ann"});
  StepFailed failed;
  failed.node = "q";
  failed.error = "invalid";
  add(3, failed);
  RunFinished finished;
  finished.status = RunStatus::failed;
  add(0, finished);
  add(0, RunReopened{});
  EXPECT_EQ(state.steps.at(3).question, "");
  EXPECT_TRUE(carried_state(snapshot_json(state), made.trial.graphs));
}

}  // namespace
}  // namespace cairn
