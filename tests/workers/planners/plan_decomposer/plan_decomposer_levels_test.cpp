// The plan decomposer on whole levels: tasks side by side, tasks that become leaves, contexts as a model gives them.
#include "tests/workers/planners/plan_decomposer/plan_decomposer_trial.hpp"

namespace cairn::test::decomposing {
namespace {

// --- leaves ----------------------------------------------------------------------------------------------------------
TEST(PlanDecomposer, a_task_without_sub_tasks_becomes_a_leaf_and_the_rest_goes_on) {
  PlannerRun planner(script({reply("1", Json::array()), reply("2", children("b", 1))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}})));
  EXPECT_EQ(asked(planner), (Names{"1", "2"}));
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], nullptr);
  EXPECT_EQ(planner.output(run)["leaves"], (Json{"1"}));
  const std::vector<Json> revised = planner.events(run, "plan_revised");
  ASSERT_EQ(revised.size(), 1U);
  EXPECT_EQ(revised[0]["cause"], "leaf");
  const RunState state = planner.state(run);
  EXPECT_EQ(find_goal(state, root_branch, "1")->context["leaf"], true);
  EXPECT_EQ(find_goal(state, root_branch, "1")->context["instruction"], "Do 1.");
  EXPECT_FALSE(find_goal(state, root_branch, "2")->context.contains("leaf"));
}

TEST(PlanDecomposer, the_model_is_told_what_a_reply_without_children_means) {
  PlannerRun planner(script({reply("1", Json::array())}));
  planner.run("plan_decomposer", input(plan_of({{"1"}})));
  EXPECT_TRUE(has(planner.model().requests.at(0).messages[0]["content"], "it then stays as it is"));
  PlannerRun strict(script({reply("1", Json::array())}));
  strict.run("plan_decomposer", input(plan_of({{"1"}}), {{"stop_on_empty", true}}));
  EXPECT_TRUE(has(strict.model().requests.at(0).messages[0]["content"], "the whole decomposition then ends"));
}

// --- contexts --------------------------------------------------------------------------------------------------------
TEST(PlanDecomposer, meta_holds_whatever_the_model_knows_and_a_context_may_be_left_out) {
  const Json context = {
      {"combined", "Ask Ann."}, {"sections", Json::array()}, {"meta", {{"estimate", "2h"}, {"n", {1}}}}};
  const Json bare = {{"name", "b"}, {"instruction", "Do b."}, {"dependencies", Json::array()}, {"leaf", true}};
  const Json part = {
      {"name", "c"}, {"instruction", "Do c."}, {"context", {{"meta", {{"tool", "echo"}}}}}, {"leaf", true}};
  PlannerRun planner(script({reply("1", {child("a", true, Json::array(), context), bare, part})}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}})));
  const Json created = result_of(planner, run)["created_tasks"];
  ASSERT_EQ(created.size(), 3U);
  EXPECT_EQ(created[0]["context"], context);
  EXPECT_EQ(created[1]["context"], nullptr);
  EXPECT_EQ(created[2]["context"], (Json{{"meta", {{"tool", "echo"}}}}));
  EXPECT_EQ(planner.model().requests.size(), 1U) << "each is a reply of the right form";
}

// --- side by side ----------------------------------------------------------------------------------------------------
const std::vector<Task> four = {{"1"}, {"2"}, {"3"}, {"4"}};

TEST(PlanDecomposer, the_tasks_of_a_level_are_shown_to_the_model_side_by_side_and_written_in_their_order) {
  PlannerRun planner(generous(2));
  std::vector<std::size_t> written_before;
  RunId run;
  planner.before_each_request(
      [&](const ModelRequest&) { written_before.push_back(planner.events(run, "task_decomposed").size()); });
  run = planner.start("plan_decomposer", input(plan_of({{"1"}, {"2"}, {"3"}}), {{"at_once", 10}, {"max_depth", 2}}));
  planner.work(run);
  EXPECT_EQ(result_of(planner, run)["created_tasks"].size(), 18U);
  EXPECT_EQ(written_before, (std::vector<std::size_t>{0, 0, 0, 3, 3, 3, 3, 3, 3})) << "a level is asked about as one";
  EXPECT_EQ(targets(planner, run), (Names{"1", "2", "3", "1.1", "1.2", "2.1", "2.2", "3.1", "3.2"}));
  EXPECT_EQ(result_of(planner, run)["stats"]["llm_calls"], 9);
  EXPECT_EQ(planner.events(run, "model_called").size(), 9U);
}

TEST(PlanDecomposer, one_after_another_and_side_by_side_come_to_the_same_plan) {
  Json plans[2];
  for (const int at_once : {1, 4}) {
    PlannerRun planner(generous(3));
    const RunId run = planner.run(
        "plan_decomposer", input(plan_of(four), {{"at_once", at_once}, {"max_depth", 2}, {"total_node_budget", 40}}));
    Json result = result_of(planner, run);
    result["stats"].erase("elapsed_ms");
    plans[at_once == 1 ? 0 : 1] = result["created_tasks"];
    EXPECT_EQ(result["stats"]["nodes_created"], 40);
    EXPECT_EQ(result["stopped_reason"], "node_budget");
  }
  EXPECT_EQ(plans[0], plans[1]);
}

TEST(PlanDecomposer, a_task_of_a_level_that_fails_is_left_out_and_its_siblings_are_written) {
  PlannerRun planner(make_rule_model("half", [](const ModelRequest& request) -> ModelAnswer {
    const Json data = prompt_of(request);
    if (data["target_task"]["id"] == "2") return Failure{"unreachable", "The endpoint is away.", true, {}};
    ModelReply made;
    made.value = reply(data["target_task"]["id"], children("n", 1), data["mode_hint"]);
    return made;
  }));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}, {"3"}}), {{"at_once", 3}}));
  const Json result = result_of(planner, run);
  EXPECT_EQ(result["failed_nodes"], (Json{"2"}));
  EXPECT_EQ(result["processed_nodes"], (Json{"1", "3"}));
  EXPECT_EQ(result["stats"]["llm_calls"], 4) << "the retry counts";
  EXPECT_EQ(planner.events(run, "decomposition_failed").size(), 2U);
}

TEST(PlanDecomposer, a_level_keeps_to_the_budgets_of_calls_and_of_tasks) {
  PlannerRun calls(generous(1));
  const RunId few = calls.run("plan_decomposer", input(plan_of(four), {{"at_once", 4}, {"max_llm_calls", 3}}));
  EXPECT_EQ(calls.model().requests.size(), 3U);
  EXPECT_EQ(result_of(calls, few)["stopped_reason"], "llm_calls");
  PlannerRun nodes(generous(1));
  const RunId small = nodes.run("plan_decomposer", input(plan_of(four), {{"at_once", 4}, {"total_node_budget", 2}}));
  EXPECT_EQ(nodes.model().requests.size(), 2U) << "no more calls than tasks that may be made";
  EXPECT_EQ(result_of(nodes, small)["stats"]["nodes_created"], 2);
}

TEST(PlanDecomposer, a_reply_of_a_level_that_says_stop_leaves_the_later_ones_unused) {
  PlannerRun planner(script({stops(reply("1", children("a", 1)), "Enough."), reply("2", children("b", 1))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}}), {{"at_once", 2}}));
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], "llm_should_stop: Enough.");
  EXPECT_EQ(result_of(planner, run)["processed_nodes"], (Json{"1"}));
  EXPECT_EQ(result_of(planner, run)["stats"]["llm_calls"], 2) << "both were made";
}

TEST(PlanDecomposer, a_session_that_ends_within_a_level_asks_nothing_twice) {
  PlannerRun planner(generous(2));
  const RunId run = planner.start("plan_decomposer", input(plan_of(four), {{"at_once", 4}, {"max_depth", 2}}));
  for (int i = 0; i < 300 && !is_ended(planner.state(run).status); ++i)
    planner.work_until(run, planner.state(run).seq + 1);
  EXPECT_EQ(result_of(planner, run)["created_tasks"].size(), 24U);
  EXPECT_EQ(planner.model().requests.size(), 12U);
}

TEST(PlanDecomposer, a_cancel_reaches_a_level_under_way) {
  PlannerRun planner(generous(2));
  RunId run;
  planner.before_each_request([&](const ModelRequest&) {
    if (planner.model().requests.size() > 1) return;
    EXPECT_TRUE(planner.client().command(run, Cancel{}).ok());
  });
  run = planner.start("plan_decomposer", input(plan_of(four), {{"at_once", 4}}));
  planner.work(run);
  EXPECT_EQ(planner.state(run).status, RunStatus::aborted);
  EXPECT_TRUE(planner.events(run, "task_decomposed").empty());
}

TEST(PlanDecomposer, progress_of_a_caller_is_part_of_the_prompt) {
  PlannerRun planner(script({reply("1", children("a", 1))}));
  Json asked_for = input(plan_of({{"1"}}));
  asked_for["progress"] = {{"verified_state", {{"0", {{"n", 1}}}}}, {"done", Json::array()}, {"failed", Json::array()}};
  planner.run("plan_decomposer", asked_for);
  EXPECT_EQ(prompt_of(planner.model().requests.at(0))["progress"], asked_for["progress"]);
  EXPECT_TRUE(has(planner.model().requests.at(0).messages[0]["content"], "verified_state"));
}

}  // namespace
}  // namespace cairn::test::decomposing
