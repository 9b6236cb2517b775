// Why a run took an edge for failures: "$error" for what comes after, the cause of an end that is not done, and a
// missing channel as a failure of the step that reads it (ux.md F5, 2.1).
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

std::string cause_of(const RunState& state) {
  if (!state.cause) return "none";
  const CauseOfFailure& cause = *state.cause;
  return cause.node + " " + std::to_string(cause.step) + "/" + std::to_string(cause.attempt) + " " + cause.error +
         ": " + cause.message;
}

const char* const coffee = R"({"name":"t","start":"make","limits":{"steps":9},"nodes":{
  "make":{"do":"x.make","labels":["ok"],"retry":{"attempts":2},"on":{"ok":"served","error":"sorry"}},
  "sorry":{"do":"x.say","labels":["ok"],"on":{"ok":"closed"}},
  "served":{"end":"done"},
  "closed":{"end":{"status":"failed","reason":"No coffee: {{error/message}}","output":{"why":"$error"}}}}})";

TEST(Causes, F5_an_end_says_which_error_led_to_it) {
  Trial trial(coffee);
  trial.start();
  trial.fail(1, "no_water");
  trial.fail(1, "no_milk");
  trial.complete(2, "ok");
  EXPECT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_EQ(trial.state.reason, "No coffee: it broke");
  EXPECT_EQ(cause_of(trial.state), "make 1/2 no_milk: it broke");
  const Json why = {{"error", "no_milk"}, {"message", "it broke"}, {"node", "make"}, {"step", 1}, {"attempt", 2}};
  EXPECT_EQ(trial.state.output, (Json{{"why", why}}));
}

TEST(Causes, a_step_that_fails_without_an_edge_is_the_cause) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.fail(1, "broken");
  EXPECT_EQ(cause_of(trial.state), "a 1/1 broken: it broke");
}

TEST(Causes, a_run_that_is_done_has_none) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z","error":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.fail(1, "broken");
  EXPECT_EQ(trial.state.status, RunStatus::done);
  EXPECT_EQ(cause_of(trial.state), "none");
}

TEST(Causes, a_channel_named_error_goes_before) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z","error":"z"}},
    "z":{"end":{"status":"failed","reason":"$error"}}}})");
  trial.start(R"({"error":"mine"})");
  trial.fail(1, "broken");
  EXPECT_EQ(trial.state.reason, "mine");
}

TEST(Causes, a_joined_branch_hands_its_cause_on_and_the_last_in_edge_order_counts) {
  Trial trial(R"({"name":"t","start":"f","limits":{"steps":9},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["a","b","c"]}},
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"j","error":"j"}},
    "b":{"do":"x.b","labels":["ok"],"on":{"ok":"j","error":"j"}},
    "c":{"do":"x.c","labels":["ok"],"on":{"ok":"j"}},
    "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},
    "z":{"end":{"status":"failed","reason":"{{error/node}}"}}}})");
  trial.start();
  trial.complete(1, "ok");
  trial.fail(3, "second");
  trial.fail(2, "first");
  trial.complete(4, "ok");
  trial.complete(5, "ok");
  EXPECT_EQ(trial.state.reason, "b");
}

TEST(Causes, a_child_that_failed_is_one) {
  Trial trial(R"({"name":"t","start":"c","limits":{"steps":9},"nodes":{
    "c":{"call":"child","on":{"done":"z","failed":"y"}},
    "z":{"end":"done"},"y":{"end":{"status":"failed","reason":"{{error/error}}: {{error/message}}"}}}})");
  trial.add_graph(R"({"name":"child","start":"z","limits":{"steps":9},"nodes":{
    "z":{"end":{"status":"failed","reason":"no milk"}}}})");
  trial.start();
  EXPECT_EQ(trial.state.reason, "failed: no milk");
  EXPECT_EQ(cause_of(trial.state), "c 1/1 failed: no milk");
}

TEST(Causes, a_budget_that_is_used_up_is_one) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"budgets":{"tries":{"cap":1}},"nodes":{
    "a":{"do":"x.a","spends":"tries","labels":["again"],"on":{"again":"a","exhausted":"z"}},
    "z":{"end":{"status":"failed","reason":"$error/message"}}}})");
  trial.start();
  trial.complete(1, "again");
  EXPECT_EQ(trial.state.reason, "Budget tries is used up.");
}

TEST(Causes, a_map_that_is_partial_says_what_failed_first) {
  Trial trial(R"({"name":"t","start":"p","limits":{"steps":99},"nodes":{
    "p":{"do":"x.p","labels":["ok"],"on":{"ok":"m"}},
    "m":{"map":"sub_goals","on":{"joined":"z","partial":"y"}},
    "z":{"end":"done"},"y":{"end":{"status":"failed","reason":"$error/message"}}}})");
  trial.start();
  SubGoalOpened a;
  a.sub_goal = "a";
  a.tool = "echo";
  SubGoalOpened b = a;
  b.sub_goal = "b";
  b.after = {"a"};
  trial.complete(1, "ok", "{}", {a, b});
  trial.fail(3, "broken", false);
  EXPECT_EQ(trial.state.reason, "1 failed, 1 skipped; the first was a: broken: it broke");
}

TEST(Causes, F6_a_missing_channel_fails_the_step_that_reads_it) {
  Trial trial(R"({"name":"t","start":"q","limits":{"steps":9},"nodes":{
    "q":{"ask":{"kind":"question","prompt":"Size {{sise}}?"},"on":{"answered":"z","expired":"z","error":"y"}},
    "z":{"end":"done"},"y":{"end":{"status":"failed","reason":"$error/message"}}}})");
  trial.start();
  EXPECT_EQ(trial.state.reason, "Expected channel sise to be there, but nothing wrote it.");
}

TEST(Causes, F6_a_missing_channel_fails_a_wait_a_call_and_an_end) {
  Trial wait(R"({"name":"t","start":"w","limits":{"steps":9},"nodes":{
    "w":{"wait":{"ms":"$sise"},"on":{"fired":"z"}},"z":{"end":"done"}}})");
  wait.start();
  EXPECT_EQ(wait.state.reason, "Step 1 (w) failed: invalid: Expected channel sise to be there, but nothing wrote it.");
  Trial call(R"({"name":"t","start":"c","limits":{"steps":9},"nodes":{
    "c":{"call":"t","with":{"a":"$sise"},"on":{"done":"z","failed":"z"}},"z":{"end":"done"}}})");
  call.start();
  EXPECT_EQ(call.state.reason, "Step 1 (c) failed: invalid: Expected channel sise to be there, but nothing wrote it.");
  Trial end(
      R"({"name":"t","start":"z","limits":{"steps":9},"nodes":{"z":{"end":{"status":"done","output":"$sise"}}}})");
  end.start();
  EXPECT_EQ(end.state.status, RunStatus::failed);
  EXPECT_EQ(end.state.reason, "invalid: Expected channel sise to be there, but nothing wrote it.");
}

// A run that began before this release keeps its rules, in its children and its forks as well.
TEST(Causes, a_run_of_language_1_goes_on_as_it_began) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z","error":"z"}},
    "z":{"end":{"status":"failed","reason":"$error","output":{"x":"$sise","y":"{{sise}}"}}}}})");
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  start.language = 1;
  trial.then(start);
  trial.fail(1, "broken");
  EXPECT_EQ(trial.state.reason, "null");
  EXPECT_EQ(trial.state.output, (Json{{"x", nullptr}, {"y", "{{sise}}"}}));
  EXPECT_EQ(cause_of(trial.state), "none");
}

}  // namespace
}  // namespace cairn
