// Steps and branches: numbers, frozen inputs, views, nested fan-outs in loops, joins in any order, one place that
// routes.
#include <algorithm>
#include <numeric>

#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

const char* const fork_of_three = R"({"name":"t","start":"fork","limits":{"steps":100},
  "channels":{"list":{"reducer":"append"},"map":{"reducer":"merge"},"sum":{"reducer":"sum"},"top":{"reducer":"max"}},
  "nodes":{"fork":{"do":"x.f","labels":["ok"],"on":{"ok":["a","b","c"]}},
    "a":{"do":"x.a","labels":["ok","more"],"on":{"ok":"meet","more":"a"}},
    "b":{"do":"x.b","labels":["ok","more"],"on":{"ok":"meet","more":"b"}},
    "c":{"do":"x.c","labels":["ok","more"],"on":{"ok":"meet","more":"c"}},
    "meet":{"do":"x.m","join":true,"labels":["ok"],"on":{"ok":"z"}},
    "z":{"end":"done"}}})";

TEST(Branches, steps_are_numbered_as_they_open_and_a_fan_outs_in_edge_order) {
  Trial trial(fork_of_three);
  trial.start();
  trial.complete(1, "ok");
  for (const auto& [step, node] : {std::pair{2, "a"}, {3, "b"}, {4, "c"}})
    EXPECT_EQ(trial.state.node(trial.state.steps.at(step)).name, node);
  trial.complete(4, "more");
  trial.complete(2, "more");
  EXPECT_EQ(trial.state.branches.at(trial.state.steps.at(5).branch).place, 2) << "c came first";
  EXPECT_EQ(trial.state.branches.at(trial.state.steps.at(6).branch).place, 0);
  EXPECT_EQ(trial.state.last_step, 6);
}

// The data of a step as a handler that reads everything is given it.
Json seen_by(const RunState& state, StepId id) {
  const Step& step = state.steps.at(id);
  Json plan = Json::array();
  for (const SubGoal* goal : plan_of(state, step.branch)) plan.push_back({goal->id, to_string(goal->status)});
  return {
      {"data", read_channels(state, step.branch)}, {"plan", plan}, {"budgets", step.budgets}, {"given", step.given}};
}

TEST(Branches, a_steps_whole_input_is_frozen_when_it_opens) {
  Trial trial(R"({"name":"t","start":"ask","limits":{"steps":100},"budgets":{"coins":{"cap":9}},"nodes":{
    "ask":{"ask":{"kind":"question","prompt":"?"},"on":{"answered":["a","b"],"expired":"z"}},
    "a":{"do":"x.a","labels":["ok"],"retry":{"attempts":3},"spends":"coins","on":{"ok":"meet"}},
    "b":{"do":"x.b","labels":["ok","more"],"spends":"coins","on":{"ok":"meet","more":"b"}},
    "meet":{"map":"sub_goals","join":true,"on":{"joined":"z"}},"z":{"end":"done"}}})");
  trial.start(R"({"x":0})");
  trial.then(Answer{"q1", "EU", "ann", {}});
  const Json before = seen_by(trial.state, 2);
  EXPECT_EQ(before, parse_stored(R"({"data":{"x":0},"plan":[],"budgets":{"coins":1},"given":"EU"})"));
  trial.complete(3, "more", R"({"x":1,"y":2})", {sub_goal("g")});
  trial.complete(4, "more", R"({"x":2})", {sub_goal("h")});
  trial.then(SendSignal{"noise", 1, ""});
  trial.fail(2);
  trial.fail(2, "lost");
  EXPECT_EQ(seen_by(trial.state, 2), before) << "neither its sibling nor its own failures change what it sees";
  EXPECT_EQ(seen_by(trial.state, 5)["budgets"]["coins"], 4);
  EXPECT_EQ(seen_by(trial.state, 5)["given"], nullptr);
}

TEST(Branches, what_came_goes_to_every_branch_the_edge_opens_and_not_through_a_join) {
  Trial trial(R"({"name":"t","start":"w","limits":{"steps":100},"nodes":{
    "w":{"wait":{"signal":"go"},"into":"heard","on":{"fired":["a","b","meet"]}},
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"meet"}},"b":{"do":"x.b","labels":["ok"],"on":{"ok":"meet"}},
    "meet":{"do":"x.m","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.then(SendSignal{"go", Json{{"n", 7}}, ""});
  EXPECT_EQ(trial.state.steps.at(2).given, (Json{{"n", 7}}));
  EXPECT_EQ(trial.state.steps.at(3).given, (Json{{"n", 7}}));
  trial.complete(2, "ok");
  trial.complete(3, "ok");
  EXPECT_EQ(trial.state.steps.at(4).given, nullptr);
  EXPECT_EQ(read_channel(trial.state, root_branch, "heard"), (Json{{"n", 7}})) << "`into` stores it as well";
}

// Patches of every reducer in every order of completion: the result is that of edge order.
TEST(Branches, patches_merge_in_edge_order_whoever_finished_first) {
  const char* patches[] = {R"({"list":[1],"map":{"k":"a","a":1},"sum":1,"top":5,"plain":"a"})",
                           R"({"list":[2],"map":{"k":"b","b":1},"sum":-3,"top":9,"plain":"b","other":1})",
                           R"({"list":[3],"map":{"k":"c","c":1},"sum":0.5,"top":-2,"other":null})"};
  const Json expected = parse_stored(
      R"({"list":[0,1,2,3],"map":{"k":"c","a":1,"b":1,"c":1},"sum":8.5,"top":9,"plain":"b","other":null})");
  std::vector<StepId> order{2, 3, 4};
  do {
    Trial trial(fork_of_three);
    trial.start(R"({"list":[0],"sum":10,"top":0})");
    trial.complete(1, "ok");
    for (const StepId step : order) trial.complete(step, "ok", patches[step - 2]);
    EXPECT_EQ(read_channels(trial.state, root_branch), expected) << order[0] << order[1] << order[2];
    EXPECT_EQ(trial.complete(5, "ok").back(), "run_finished done " + canonical(expected));
  } while (std::next_permutation(order.begin(), order.end()));
}

// A branch's several patches against its siblings', interleaved in all ways.
TEST(Branches, two_patches_of_a_branch_stay_together_in_any_interleaving) {
  std::vector<int> order{0, 0, 1, 1};  // which branch reports next
  do {
    Trial trial(fork_of_three);
    trial.start();
    trial.complete(1, "ok");
    trial.complete(4, "ok");
    StepId open[] = {2, 3};
    int reports[] = {0, 0};
    for (const int who : order) {
      const std::string patch = R"({"list":[")" + std::string(1, static_cast<char>('a' + who)) +
                                std::to_string(reports[who]) + R"("],"last":)" + std::to_string(who) + "}";
      const bool again = reports[who]++ == 0;
      trial.complete(open[who], again ? "more" : "ok", patch);
      if (again) open[who] = trial.state.last_step;
    }
    EXPECT_EQ(read_channels(trial.state, root_branch), parse_stored(R"({"list":["a0","a1","b0","b1"],"last":1})"));
  } while (std::next_permutation(order.begin(), order.end()));
}

const char* const nested_in_a_loop = R"({"name":"t","start":"f","limits":{"steps":100},
  "channels":{"trace":{"reducer":"append"}},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["g","c"]}},
    "g":{"do":"x.g","labels":["ok"],"on":{"ok":["a","b"]}},
    "a":{"do":"x.a","labels":["ok","more"],"on":{"ok":"ab","more":"a"}},
    "b":{"do":"x.b","labels":["ok"],"on":{"ok":"ab"}},
    "ab":{"do":"x.ab","join":true,"labels":["ok","redo"],"on":{"ok":"abc","redo":"g"}},
    "c":{"do":"x.c","labels":["ok"],"on":{"ok":"abc"}},
    "abc":{"do":"x.abc","join":true,"labels":["ok","redo"],"on":{"ok":"z","redo":"f"}},"z":{"end":"done"}}})";

// Leaves the step on that node, which must be the only one there, with its name in the trace.
void leave(Trial& trial, const std::string& name, const std::string& label = "ok") {
  StepId found = 0;
  for (const auto& [id, step] : trial.state.steps)
    if (trial.state.node(step).name == name) {
      EXPECT_EQ(found, 0) << "two steps on " << name;
      found = id;
    }
  ASSERT_NE(found, 0) << "no step on " << name;
  trial.complete(found, label, R"({"trace":[")" + name + R"("]})");
}

TEST(Branches, nested_fan_outs_and_joins_stand_inside_loops) {
  Trial trial(nested_in_a_loop);
  trial.start();
  for (const char* outer : {"redo", "ok"}) {
    leave(trial, "f");
    leave(trial, "c");
    for (const char* inner : {"redo", "ok"}) {
      leave(trial, "g");
      leave(trial, "b");
      leave(trial, "a", "more");
      leave(trial, "a");
      leave(trial, "ab", inner);
    }
    leave(trial, "abc", outer);
  }
  EXPECT_EQ(trial.state.status, RunStatus::done);
  std::string trace;
  for (const Json& name : trial.state.output["trace"]) trace += name.get<std::string>() + " ";
  const std::string inner = "g a a b ab ";
  EXPECT_EQ(trace, "f " + inner + inner + "c abc f " + inner + inner + "c abc ");
  EXPECT_EQ(trial.state.branches.size(), 1u) << "no branch outlives its join";
}

TEST(Branches, a_loop_inside_a_branch_is_a_loop_in_that_branch) {
  Trial trial(fork_of_three);
  trial.start();
  trial.complete(1, "ok");
  const BranchId branch = trial.state.steps.at(3).branch;
  StepId step = 3;
  for (int n = 0; n < 5; ++n) {
    trial.complete(step, "more");
    step = trial.state.last_step;
    EXPECT_EQ(trial.state.steps.at(step).branch, branch);
  }
  EXPECT_EQ(trial.state.branches.size(), 4u);
}

TEST(Branches, an_end_inside_a_fan_out_shows_the_data_of_its_branch) {
  const std::string graph = R"({"name":"t","start":"f","limits":{"steps":9},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["a","b"]}},
    "a":{"do":"x.a","labels":["ok","out","quit"],"on":{"ok":"j","out":"y","quit":"w"}},"w":{"end":"done"},"b":{"do":"x.b","labels":["ok"],"on":{"ok":"j"}},
    "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},
    "y":{"end":{"status":"failed","reason":"$why","output":{"who":"$who"}}},"z":{"end":"done"}}})";
  Trial quitting(graph);
  quitting.start(R"({"who":"root"})");
  quitting.complete(1, "ok");
  EXPECT_EQ(quitting.complete(2, "quit", R"({"mine":1})").back(), R"(run_finished done {"mine":1,"who":"root"})");
  Trial trial(graph);
  trial.start(R"({"who":"root"})");
  trial.complete(1, "ok");
  trial.complete(3, "ok", R"({"who":"b","why":"b said so"})");
  EXPECT_EQ(trial.complete(2, "out", R"({"who":"a","why":"a said so"})").back(),
            R"(run_finished failed (a said so) {"who":"a"})");
}

TEST(Branches, the_first_end_names_the_questions_and_children_it_closes_and_refuses_what_comes_late) {
  Trial trial(R"({"name":"t","start":"f","limits":{"steps":9},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["a","q","c"]}},
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z"}},
    "q":{"ask":{"kind":"question","prompt":"?"},"on":{"answered":"j","expired":"j"}},
    "c":{"call":"kid","on":{"done":"j","failed":"j"}},
    "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.add_graph(R"({"name":"kid","start":"k","limits":{"steps":9},"nodes":{
    "k":{"do":"x.k","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok");
  const RunId child = trial.children.at(0).state.id;
  trial.complete(2, "ok");
  const Closed& closed = std::get<RunFinished>(trial.history.back().body).closed;
  EXPECT_EQ(closed.steps, (std::vector<StepId>{3, 4}));
  EXPECT_EQ(closed.questions, (std::vector<std::string>{"q3"}));
  EXPECT_EQ(closed.children, (std::vector<RunId>{child}));
  EXPECT_EQ(trial.state.last_step, 4) << "reaching an end is not a step";
  EXPECT_TRUE(trial.state.questions.empty());
  EXPECT_EQ(trial.refused(Answer{"q3", 1, "", {}}).code, Code::closed);
  EXPECT_EQ(trial.refused(FinishChild{4, child, RunStatus::done, "", 1}).code, Code::closed);
  EXPECT_EQ(trial.refused(Due{3}).code, Code::closed);
}

TEST(Branches, an_unmapped_error_or_exhausted_fails_the_run_with_the_reason) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"budgets":{"coins":{"cap":0}},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"spends":"coins","on":{"ok":"z"}},"z":{"end":"done"}}})");
  EXPECT_EQ(trial.start(),
            (Lines{"run_started t {}", "1 budget_exhausted coins 0/0", "1 step_failed a attempt 1 exhausted for good",
                   "1 run_finished failed (Step 1 (a) failed: exhausted: Budget coins is used up: 0 of 0.) {}"}));
}

}  // namespace
}  // namespace cairn
