// Decisions on maps over sub-goals, and on the plans that they take.
#include "tests/engine/decide/decided_graphs.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using namespace decided;
using Lines = std::vector<std::string>;

// --- map -------------------------------------------------------------------------------------------------------------

TEST(Decide, sub_goals_run_when_what_they_come_after_succeeded) {
  Trial trial(mapping);
  trial.start();
  EXPECT_EQ(trial.complete(1, "ok", "{}", {sub_goal("a"), sub_goal("b", "slow", {"a"}), sub_goal("c")}),
            (Lines{"1 sub_goal_opened a default", "1 sub_goal_opened b slow", "1 sub_goal_opened c default",
                   "1 step_succeeded plan ok -> work"}));
  EXPECT_EQ(trial.queue.size(), 2u);
  EXPECT_EQ(trial.complete(3, "", R"({"x":1})"), (Lines{"3 sub_goal_closed a succeeded"}));
  EXPECT_EQ(find_goal(trial.state, root_branch, "b")->step, 5);
  EXPECT_EQ(trial.queue.size(), 2u);
  trial.complete(5, "");
  EXPECT_EQ(trial.complete(4, ""), (Lines{"4 sub_goal_closed c succeeded", "2 step_succeeded work joined -> see"}));
}

TEST(Decide, S3_11_results_stand_in_plan_order_whoever_finished_first) {
  for (const bool reversed : {false, true}) {
    Trial trial(mapping);
    trial.start();
    trial.complete(1, "ok", "{}", {sub_goal("first"), sub_goal("second")});
    trial.complete(reversed ? 4 : 3, "", reversed ? R"({"n":2})" : R"({"n":1})");
    trial.complete(reversed ? 3 : 4, "", reversed ? R"({"n":1})" : R"({"n":2})");
    Json results = Json::array();
    for (const SubGoal* goal : plan_of(trial.state, root_branch)) results.push_back({goal->id, goal->outputs["n"]});
    EXPECT_EQ(results, parse_stored(R"([["first",1],["second",2]])"));
  }
}

TEST(Decide, a_map_without_sub_goals_closes_at_once) {
  Trial trial(mapping);
  trial.start();
  EXPECT_EQ(trial.complete(1, "ok").back(), "2 step_succeeded work joined -> see");
}

TEST(Decide, a_failed_sub_goal_skips_its_dependents_and_never_its_siblings) {
  Trial trial(mapping);
  trial.start();
  trial.complete(1, "ok", "{}",
                 {sub_goal("a"), sub_goal("b", "echo", {"a"}), sub_goal("c", "echo", {"b"}), sub_goal("d")});
  EXPECT_EQ(trial.fail(3), (Lines{"3 step_failed work attempt 1 error again"}));
  EXPECT_EQ(trial.fail(3), (Lines{"3 sub_goal_closed a failed error", "2 sub_goal_closed b skipped skipped",
                                  "2 sub_goal_closed c skipped skipped"}));
  EXPECT_EQ(trial.complete(4, ""), (Lines{"4 sub_goal_closed d succeeded", "2 step_succeeded work partial -> see"}));
}

TEST(Decide, references_imply_order_and_are_replaced_by_what_they_name) {
  Trial trial(mapping);
  trial.start();
  trial.complete(1, "ok", "{}",
                 {sub_goal("a"), sub_goal("b", "echo", {}, R"({"in":[{"from_sub_goal":"a","slot":"x"}],"lit":2})")});
  EXPECT_EQ(trial.queue.size(), 1u);
  trial.complete(3, "", R"({"x":{"deep":1}})");
  EXPECT_EQ(*resolved_inputs(trial.state, trial.state.steps.at(4)), parse_stored(R"({"in":[{"deep":1}],"lit":2})"));
}

TEST(Decide, a_slot_missing_at_dispatch_closes_as_failed_unrun) {
  Trial trial(mapping);
  trial.start();
  trial.complete(1, "ok", "{}",
                 {sub_goal("a"), sub_goal("b", "echo", {}, R"({"in":{"from_sub_goal":"a","slot":"x"}})")});
  EXPECT_EQ(trial.complete(3, "", R"({"y":1})"),
            (Lines{"3 sub_goal_closed a succeeded", "4 sub_goal_closed b failed missing_slot",
                   "2 step_succeeded work partial -> see"}));
}

TEST(Decide, faulty_sub_goals_are_rejected_one_by_one_with_reasons) {
  Trial trial(mapping);
  trial.start();
  EXPECT_EQ(
      trial.complete(1, "ok", "{}",
                     {sub_goal("a"), sub_goal("a"), sub_goal("b", "nothing"), sub_goal("c", "echo", {"b"}),
                      sub_goal("d", "echo", {"nobody"}), sub_goal("e", "echo", {"f"}), sub_goal("f", "echo", {"e"}),
                      sub_goal("g", "echo", {"f"}), sub_goal("h", "fed"), sub_goal("i", "echo", {"i"})}),
      (Lines{"1 sub_goal_opened a default",
             "1 sub_goal_rejected a: Expected sub-goal a once, but its id is already taken.",
             "1 sub_goal_rejected b: Expected a known tool, but there is no tool nothing.",
             "1 sub_goal_rejected c: Expected sub-goal b to be part of the plan, but it was rejected.",
             "1 sub_goal_rejected d: Expected nobody to be a sub-goal, but there is none of that id.",
             "1 sub_goal_rejected e: Expected no cycle, but sub-goal e comes after itself through others, or after one "
             "that does.",
             "1 sub_goal_rejected f: Expected no cycle, but sub-goal f comes after itself through others, or after one "
             "that does.",
             "1 sub_goal_rejected g: Expected no cycle, but sub-goal g comes after itself through others, or after one "
             "that does.",
             "1 sub_goal_rejected h: Expected tool fed to find $food, but it is not there.",
             "1 sub_goal_rejected i: Expected no cycle, but sub-goal i comes after itself.",
             "1 step_succeeded plan ok -> work"}));
  EXPECT_EQ(trial.complete(3, ""), (Lines{"3 sub_goal_closed a succeeded", "2 step_succeeded work joined -> see"}))
      << "rejected ones do not make a map partial";
  EXPECT_EQ(rejected_of(trial.state, root_branch).size(), 9u);
}

TEST(Decide, a_precondition_may_be_met_by_the_patch_that_comes_with_the_plan) {
  Trial trial(mapping);
  trial.start();
  EXPECT_EQ(trial.complete(1, "ok", R"({"food":1})", {sub_goal("h", "fed")}).front(), "1 sub_goal_opened h default");
}

TEST(Decide, a_later_map_takes_only_what_no_map_has_taken) {
  Trial trial(mapping);
  trial.start();
  trial.complete(1, "ok", "{}", {sub_goal("a")});
  trial.complete(3, "");
  trial.complete(4, "more");
  EXPECT_EQ(trial.complete(5, "ok", "{}", {sub_goal("a"), sub_goal("b", "echo", {"a"})}).front(),
            "5 sub_goal_rejected a: Expected sub-goal a once, but its id is already taken.");
  EXPECT_EQ(trial.queue.size(), 1u) << "b comes after a, which succeeded in the round before";
  EXPECT_EQ(trial.complete(7, "").back(), "6 step_succeeded work joined -> see");
}

// --- plan ------------------------------------------------------------------------------------------------------------

TEST(Decide, a_plan_tree_grows_by_decomposition_and_changes_by_revision) {
  Trial trial(mapping);
  trial.start();
  PlanCreated created{1, "build", {{"root", "Build it", {}, nullptr}}};
  TaskDecomposed decomposed{"root", "run_plan", 1, {{"one", "First", {}, nullptr}, {"two", "Second", {"one"}, nullptr}},
                            {},     0};
  PlanRevised revised{2, "gap", parse_stored(R"([{"op":"update","id":"two","title":"Other"},{"op":"remove","id":"one"},
                                                 {"op":"add","id":"three","title":"Third","parent":"root"}])")};
  trial.complete(1, "ok", "{}", {created, decomposed, revised});
  EXPECT_EQ(trial.state.plan_version, 2);
  EXPECT_EQ(find_goal(trial.state, root_branch, "two")->title, "Other");
  EXPECT_EQ(find_goal(trial.state, root_branch, "two")->parent, "root");
  EXPECT_EQ(find_goal(trial.state, root_branch, "one")->status, GoalStatus::skipped);
  EXPECT_EQ(find_goal(trial.state, root_branch, "three")->parent, "root");
  EXPECT_EQ(trial.state.steps.size(), 1u) << "structure is no work for a map";
}

TEST(Decide, a_plan_revision_made_for_another_version_is_a_failed_attempt) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"retry":{"attempts":9},"on":{"ok":"b"}},
    "b":{"do":"x.b","labels":["ok"],"retry":{"attempts":9},"on":{"ok":"z"}},"z":{"end":"done"}}})");
  const auto revision = [](std::int64_t version) { return PlanRevised{version, "gap", Json::array()}; };
  trial.start();
  const Lines failed{"1 step_failed a attempt 1 invalid again"};
  EXPECT_EQ(trial.complete(1, "ok", "{}", {PlanCreated{4, "g", {}}, revision(6)}), failed);
  trial.complete(1, "ok", "{}", {PlanCreated{4, "g", {}}, revision(5), revision(6)});
  for (const std::int64_t version : {1, 6, 8}) {
    trial.complete(2, "ok", "{}", {revision(version)});
    EXPECT_EQ(trial.state.plan_version, 6) << version << " was not made for version 6";
  }
  trial.complete(2, "ok", "{}", {revision(7)});
  EXPECT_EQ(trial.state.plan_version, 7);
}

TEST(Decide, a_revision_changes_what_structure_is_about) {
  Trial trial(mapping);
  trial.start();
  const Json before = {{"instruction", "Do it."}};
  const PlanRevised revised{2, "review", parse_stored(R"([
      {"op":"update","id":"one","context":{"instruction":"Do it well."}},{"op":"update","id":"two","title":"Second"},
      {"op":"add","id":"new","context":{"leaf":true}}])")};
  trial.complete(1, "ok", "{}",
                 {PlanCreated{1, "g", {{"one", "One", {}, before}, {"two", "Two", {}, before}}}, revised});
  EXPECT_EQ(find_goal(trial.state, root_branch, "one")->context, (Json{{"instruction", "Do it well."}}));
  EXPECT_EQ(find_goal(trial.state, root_branch, "one")->title, "One") << "the rest stays";
  EXPECT_EQ(find_goal(trial.state, root_branch, "two")->context, before);
  EXPECT_EQ(find_goal(trial.state, root_branch, "new")->context, (Json{{"leaf", true}}));
}

TEST(Decide, a_revision_says_how_far_structure_has_come) {
  Trial trial(mapping);
  trial.start();
  const auto revised = [](const char* changes) { return PlanRevised{2, "gap", parse_stored(changes)}; };
  trial.complete(1, "ok", "{}",
                 {PlanCreated{1, "g", {{"one", "One", {}, nullptr}, {"two", "Two", {}, nullptr}}}, sub_goal("work"),
                  revised(R"([{"op":"update","id":"one","status":"succeeded"},
                              {"op":"update","id":"two","status":"nonsense"},
                              {"op":"update","id":"work","status":"failed"}])")});
  EXPECT_EQ(find_goal(trial.state, root_branch, "one")->status, GoalStatus::succeeded);
  EXPECT_EQ(find_goal(trial.state, root_branch, "two")->status, GoalStatus::planned);
  EXPECT_EQ(find_goal(trial.state, root_branch, "work")->status, GoalStatus::open) << "work says itself how it went";
}

TEST(Decide, plans_of_branches_append_in_edge_order_at_the_join) {
  Trial trial(R"({"name":"t","start":"f","limits":{"steps":99},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["a","b"]}},
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"j"}},"b":{"do":"x.b","labels":["ok"],"on":{"ok":"j"}},
    "j":{"map":"sub_goals","join":true,"on":{"joined":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok");
  trial.complete(3, "ok", "{}", {sub_goal("q"), sub_goal("same")});
  trial.complete(2, "ok", "{}", {sub_goal("p"), sub_goal("same")});
  std::string order;
  for (const SubGoal* goal : plan_of(trial.state, root_branch)) order += goal->id + " ";
  EXPECT_EQ(order, "p same q same ");
  EXPECT_EQ(trial.queue.size(), 3u) << "one id that two branches planned runs once";
}

}  // namespace
}  // namespace cairn
