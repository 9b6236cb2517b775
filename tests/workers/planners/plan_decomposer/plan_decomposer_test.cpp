// The plan decomposer end to end: its entries, the order of its queue, what it asks and what it writes. S1_nn in a name
// is the requirement that the test holds.
#include "tests/workers/planners/plan_decomposer/plan_decomposer_trial.hpp"

namespace cairn::test::decomposing {
namespace {

// --- both entries ----------------------------------------------------------------------------------------------------
TEST(PlanDecomposer, S1_01_a_whole_plan_and_one_task_are_two_entries_with_one_core) {
  PlannerRun planner(script({reply("1", children("a", 2)), single("1", children("b", 2))}));
  const RunId whole = planner.run("plan_decomposer", input(plan_of({{"1"}})));
  const RunId one = planner.run("plan_decomposer", input_for(plan_of({{"1"}}), "1"));
  EXPECT_EQ(result_of(planner, whole)["mode"], "plan_bfs");
  EXPECT_EQ(result_of(planner, whole)["root_node_id"], nullptr);
  EXPECT_EQ(result_of(planner, one)["mode"], "single_node");
  EXPECT_EQ(result_of(planner, one)["root_node_id"], "1");
  EXPECT_EQ(planner.path(whole), (Names{"load", "next", "expand", "write", "next", "finish"}));
  EXPECT_EQ(planner.path(one), planner.path(whole));
  for (const RunId& run : {whole, one}) EXPECT_EQ(planner.events(run, "plan_created").size(), 1U);
}

TEST(PlanDecomposer, a_mode_that_contradicts_the_node_id_is_refused) {
  PlannerRun planner(script({}));
  Json whole = input_for(plan_of({{"1"}}), "1");
  whole["mode"] = "plan_bfs";
  Json one = input(plan_of({{"1"}}));
  one["mode"] = "single_node";
  for (const Json& contradicting : {whole, one}) {
    const RunId run = planner.run("plan_decomposer", contradicting);
    EXPECT_EQ(planner.state(run).status, RunStatus::failed);
    EXPECT_TRUE(has(planner.state(run).reason, "Expected a node_id with the mode single_node"))
        << planner.state(run).reason;
  }
}

// --- the queue -------------------------------------------------------------------------------------------------------
TEST(PlanDecomposer, S1_07_starts_with_all_roots_in_order) {
  PlannerRun planner(
      script({reply("r1", children("a", 1)), reply("r2", children("b", 1)), reply("r3", children("c", 1))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"r1"}, {"r2"}, {"r3"}})));
  EXPECT_EQ(asked(planner), (Names{"r1", "r2", "r3"}));
  EXPECT_EQ(result_of(planner, run)["processed_nodes"], (Json{"r1", "r2", "r3"}));
}

TEST(PlanDecomposer, S1_07_starts_with_the_given_node_alone) {
  PlannerRun planner(script({single("r2", children("b", 1))}));
  const RunId run = planner.run("plan_decomposer", input_for(plan_of({{"r1"}, {"r2"}, {"r3"}}), "r2"));
  EXPECT_EQ(asked(planner), (Names{"r2"}));
  EXPECT_EQ(result_of(planner, run)["processed_nodes"], (Json{"r2"}));
}

TEST(PlanDecomposer, S1_08_finishes_a_level_before_the_next) {
  PlannerRun planner(
      script({reply("1", children("a", 2, false)), reply("2", children("b", 1, false)), reply("1.1", children("c", 1)),
              reply("1.2", children("d", 1)), reply("2.1", children("e", 1))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}})));
  EXPECT_EQ(targets(planner, run), (Names{"1", "2", "1.1", "1.2", "2.1"}));
  std::vector<int> depths;
  for (const Json& event : planner.events(run, "task_decomposed")) depths.push_back(event["depth"]);
  EXPECT_EQ(depths, (std::vector<int>{0, 0, 1, 1, 1}));
}

TEST(PlanDecomposer, S1_13_a_leaf_is_never_asked_about) {
  PlannerRun planner(
      script({reply("1", {child("leaf", true), child("branch", false)}), reply("1.2", children("a", 1))}));
  Json plan = plan_of({{"1"}, {"2"}});
  plan["nodes"]["2"]["leaf"] = true;
  const RunId run = planner.run("plan_decomposer", input(plan));
  EXPECT_EQ(asked(planner), (Names{"1", "1.2"}));
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], nullptr);
}

TEST(PlanDecomposer, S1_14_expands_what_lies_less_deep_than_the_limit) {
  PlannerRun planner(generous(1));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}}), {{"max_depth", 3}}));
  const Json result = result_of(planner, run);
  EXPECT_EQ(asked(planner), (Names{"1", "1.1", "1.1.1"}));
  EXPECT_EQ(result["created_tasks"].back()["id"], "1.1.1.1");
  EXPECT_EQ(result["stopped_reason"], "depth");
  EXPECT_EQ(result["stats"]["depth_limited"], 1);
}

TEST(PlanDecomposer, S1_14_a_queue_that_drains_has_no_reason_to_have_stopped) {
  PlannerRun planner(script({reply("1", children("a", 2))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}}), {{"max_depth", 1}}));
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], nullptr);
  EXPECT_EQ(result_of(planner, run)["stats"]["depth_limited"], 0);
}

TEST(PlanDecomposer, S1_27_tasks_with_children_are_passed_by_and_their_children_looked_at) {
  const Json plan = plan_of({{"1"}, {"old", "1"}, {"2"}});
  PlannerRun planner(script({reply("2", children("a", 1)), reply("old", children("b", 1))}));
  const RunId run = planner.run("plan_decomposer", input(plan));
  EXPECT_EQ(asked(planner), (Names{"2", "old"}));
  EXPECT_EQ(result_of(planner, run)["stats"]["skipped_nodes"], (Json{"1"}));
  const std::vector<Json> decisions = planner.events(run, "decision_proposed");
  ASSERT_EQ(decisions.size(), 3U);
  EXPECT_EQ(decisions[0]["action"], "skip");
  EXPECT_EQ(decisions[0]["target"], "1");
  EXPECT_EQ(decisions[0]["reason"], "has_children");
  EXPECT_EQ(decisions[0]["source"], "rule");
}

TEST(PlanDecomposer, S1_27_without_skipping_a_task_with_children_gets_more) {
  PlannerRun planner(script({reply("1", children("a", 1))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"old", "1"}}), {{"skip_existing", false}}));
  EXPECT_EQ(asked(planner), (Names{"1"}));
  EXPECT_EQ(below(planner.state(run), "1"), (Names{"old", "1.2"}));
}

TEST(PlanDecomposer, S1_33_a_plan_without_tasks_costs_nothing) {
  PlannerRun planner(script({}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({})));
  const Json result = result_of(planner, run);
  EXPECT_EQ(result["stopped_reason"], "empty_plan");
  for (const char* list : {"processed_nodes", "created_tasks", "failed_nodes"})
    EXPECT_EQ(result[list], Json::array()) << list;
  EXPECT_TRUE(planner.model().requests.empty());
}

TEST(PlanDecomposer, S1_34_an_unknown_node_is_refused_before_anything_is_written) {
  PlannerRun planner(script({}));
  const RunId run = planner.run("plan_decomposer", input_for(plan_of({{"1"}}), "9"));
  EXPECT_EQ(planner.state(run).status, RunStatus::failed);
  ASSERT_EQ(planner.events(run, "step_failed").size(), 1U);
  EXPECT_EQ(planner.events(run, "step_failed")[0]["error"], "not_found");
  EXPECT_TRUE(has(planner.state(run).reason, "Expected node 9 to be a task of the plan")) << planner.state(run).reason;
  EXPECT_TRUE(planner.events(run, "plan_created").empty());
  EXPECT_TRUE(plan_of(planner.state(run), root_branch).empty());
}

// --- the request -----------------------------------------------------------------------------------------------------
TEST(PlanDecomposer, S1_09_a_request_has_its_four_parts) {
  PlannerRun planner(script({single("b", children("a", 1))}));
  Json plan = plan_of({{"1"}, {"b", "1"}, {"c", "b"}});
  plan["goal"] = "All of it";
  planner.run("plan_decomposer", input_for(plan, "b", {{"max_children", 4}}));
  ASSERT_EQ(planner.model().requests.size(), 1U);
  const Json prompt = prompt_of(planner.model().requests[0]);
  const Json& target = prompt["target_task"];
  EXPECT_EQ(target["name"], "Task b");
  EXPECT_EQ(target["instruction"], "Do b.");
  EXPECT_EQ(target["path"], (Json{"Task 1", "Task b"}));
  EXPECT_EQ(target["existing_children"]["count"], 1);
  EXPECT_EQ(target["existing_children"]["first"][0]["name"], "Task c");
  EXPECT_EQ(prompt["plan_outline"]["goal"], "All of it");
  EXPECT_EQ(prompt["plan_outline"]["shown"].size(), 3U);
  EXPECT_EQ(prompt["constraints"]["max_children"], 4);
  EXPECT_EQ(prompt["constraints"]["child_ids"], (Json{"b.2", "b.3", "b.4", "b.5"}));
  EXPECT_EQ(prompt["constraints"]["forbidden_fields"], (Json{"priority", "status"}));
  EXPECT_EQ(prompt["mode_hint"], "single_node");
}

TEST(PlanDecomposer, S1_09_the_outline_of_ten_thousand_tasks_is_short_and_shows_the_way_to_the_target) {
  std::vector<Task> tasks = {{"root"}};
  for (int i = 1; i < 9'999; ++i)
    tasks.push_back({"t" + std::to_string(i), i < 200 ? "root" : "t" + std::to_string(i - 199)});
  tasks.push_back({"target", "t9998"});
  PlannerRun planner(script({single("target", children("a", 1))}));
  const RunId run = planner.run("plan_decomposer", input_for(plan_of(tasks), "target", {{"outline_bytes_max", 4000}}));
  EXPECT_EQ(result_of(planner, run)["stats"]["nodes_created"], 1);
  const Json prompt = prompt_of(planner.model().requests.at(0));
  const Json& outline = prompt["plan_outline"];
  EXPECT_LE(canonical(outline).size(), 4010U);
  EXPECT_EQ(outline["tasks"], 10'000);
  EXPECT_EQ(outline["left_out"], 10'000 - outline["shown"].size());
  EXPECT_GE(outline["shown"].size(), 50U);
  EXPECT_EQ(outline["shown"][0]["id"], "root");
}

TEST(PlanDecomposer, S1_10_every_event_of_a_task_has_the_mode) {
  for (const std::string mode : {"plan_bfs", "single_node"}) {
    PlannerRun planner(script({fails, reply("1", children("a", 1), mode)}));
    const RunId run =
        planner.run("plan_decomposer", mode == "plan_bfs" ? input(plan_of({{"1"}})) : input_for(plan_of({{"1"}}), "1"));
    for (const char* type : {"task_decomposed", "decision_proposed", "decomposition_failed"}) {
      ASSERT_EQ(planner.events(run, type).size(), 1U) << type;
      EXPECT_EQ(planner.events(run, type)[0]["mode"], mode) << type;
    }
    EXPECT_EQ(prompt_of(planner.model().requests.at(0))["mode_hint"], mode);
  }
}

// --- what is written -------------------------------------------------------------------------------------------------
TEST(PlanDecomposer, S1_11_children_are_written_in_their_order_and_may_be_none) {
  PlannerRun planner(script({reply("1", {child("c"), child("a"), child("b")}), reply("2", Json::array())}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}})));
  const Json result = result_of(planner, run);
  EXPECT_EQ(names_of(result["created_tasks"]), (Names{"c", "a", "b"}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(result["created_tasks"][static_cast<std::size_t>(i)]["position"], i);
  EXPECT_EQ(result["processed_nodes"], (Json{"1", "2"}));
}

TEST(PlanDecomposer, S1_12_a_decomposition_is_one_event_with_contexts_where_there_are_some) {
  const Json context = {{"combined", "Ask Ann."}, {"sections", {"Who"}}, {"meta", Json::object()}};
  PlannerRun planner(script({reply("1", {child("a", true, Json::array(), context), child("b")})}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}})));
  const std::vector<Json> events = planner.events(run, "task_decomposed");
  ASSERT_EQ(events.size(), 1U);
  ASSERT_EQ(events[0]["children"].size(), 2U);
  EXPECT_EQ(events[0]["children"][0]["context"]["context"], context);
  EXPECT_FALSE(events[0]["children"][1]["context"].contains("context"));
  const Json result = result_of(planner, run);
  EXPECT_EQ(result["created_tasks"][0]["context"], context);
  EXPECT_EQ(result["created_tasks"][1]["context"], nullptr);
}

TEST(PlanDecomposer, S1_05_a_task_has_neither_priority_nor_status) {
  const std::set<std::string> fields = {"id",          "parent_id",    "position", "name",
                                        "instruction", "dependencies", "context",  "leaf"};
  PlannerRun planner(script({reply("1", children("a", 1))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}})));
  std::set<std::string> found;
  const Json created = result_of(planner, run)["created_tasks"][0];
  for (const auto& [name, value] : created.items()) found.insert(name);
  EXPECT_EQ(found, fields);
  for (const char* field : {"priority", "status"}) {
    Json plan = plan_of({{"1"}});
    plan["nodes"]["1"][field] = "high";
    const RunId refused = planner.run("plan_decomposer", input(plan));
    EXPECT_EQ(planner.state(refused).status, RunStatus::failed);
    EXPECT_TRUE(has(planner.state(refused).reason, std::string("to have no field ") + field))
        << planner.state(refused).reason;
  }
}

TEST(PlanDecomposer, S1_15_exactly_as_many_tasks_as_the_budget_and_the_last_reply_is_cut_in_order) {
  PlannerRun planner(generous(6));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}}), {{"max_depth", 10}}));
  const Json result = result_of(planner, run);
  EXPECT_EQ(result["created_tasks"].size(), 50U);
  EXPECT_EQ(result["stats"]["nodes_created"], 50);
  EXPECT_EQ(result["stopped_reason"], "node_budget");
  const Json last = planner.events(run, "task_decomposed").back();
  EXPECT_EQ(last["children"].size(), 2U) << "8 replies of 6, and 2 of the ninth";
  EXPECT_EQ(last["children"][0]["title"], "n0");
  EXPECT_EQ(last["truncated"], 4);
  const std::vector<Json> exhausted = planner.events(run, "budget_exhausted");
  ASSERT_EQ(exhausted.size(), 1U);
  EXPECT_EQ(exhausted[0]["name"], "nodes");
  EXPECT_EQ(exhausted[0]["cap"], 50);
  EXPECT_EQ(exhausted[0]["used"], 50);
  EXPECT_EQ(planner.state(run).budgets.at("nodes").used, 50);
  EXPECT_EQ(planner.model().requests.size(), 9U);
}

TEST(PlanDecomposer, S1_15_a_budget_that_ends_with_a_reply_stops_before_the_next_call) {
  PlannerRun planner(generous(5));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}}), {{"total_node_budget", 10}}));
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], "node_budget");
  EXPECT_EQ(planner.model().requests.size(), 2U);
  EXPECT_EQ(planner.events(run, "budget_exhausted").size(), 1U);
}

TEST(PlanDecomposer, S1_15_a_budget_that_suffices_is_not_the_reason) {
  PlannerRun planner(script({reply("1", children("a", 2))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}}), {{"total_node_budget", 2}}));
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], nullptr);
  EXPECT_TRUE(planner.events(run, "budget_exhausted").empty());
}

TEST(PlanDecomposer, calls_have_a_budget_too_and_retries_count) {
  PlannerRun planner(script({fails, fails, reply("2", children("a", 1)), reply("3", children("b", 1))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}, {"3"}}), {{"max_llm_calls", 3}}));
  const Json result = result_of(planner, run);
  EXPECT_EQ(result["stopped_reason"], "llm_calls");
  EXPECT_EQ(result["stats"]["llm_calls"], 3);
  EXPECT_EQ(planner.model().requests.size(), 3U);
  EXPECT_EQ(planner.events(run, "budget_exhausted").at(0)["name"], "llm_calls");
}

TEST(PlanDecomposer, S1_16_of_nine_children_the_first_six_are_kept_and_the_cut_is_on_record) {
  PlannerRun planner(script({reply("1", children("a", 9))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}})));
  EXPECT_EQ(names_of(result_of(planner, run)["created_tasks"]), (Names{"a0", "a1", "a2", "a3", "a4", "a5"}));
  EXPECT_EQ(planner.events(run, "task_decomposed").at(0)["truncated"], 3);
  const std::vector<Json> cuts = planner.events(run, "decision_rewritten");
  ASSERT_EQ(cuts.size(), 1U);
  EXPECT_EQ(cuts[0]["rule"], "max_children");
  EXPECT_EQ(cuts[0]["from"]["children"], 9);
  EXPECT_EQ(cuts[0]["to"]["children"], 6);
}

TEST(PlanDecomposer, S1_17_a_reply_that_says_stop_is_written_and_ends_the_run) {
  PlannerRun planner(script({stops(reply("1", children("a", 2, false)), "Enough."), reply("2", children("b", 1))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}})));
  const Json result = result_of(planner, run);
  EXPECT_EQ(result["stopped_reason"], "llm_should_stop: Enough.");
  EXPECT_EQ(result["created_tasks"].size(), 2U);
  EXPECT_EQ(planner.model().requests.size(), 1U);
}

TEST(PlanDecomposer, S1_17_with_the_scope_of_a_node_only_its_children_are_left_whole) {
  PlannerRun planner(script({stops(reply("1", children("a", 2, false)), "Enough."), reply("2", children("b", 1))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}}), {{"stop_scope", "node"}}));
  EXPECT_EQ(asked(planner), (Names{"1", "2"}));
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], nullptr);
}

TEST(PlanDecomposer, S1_18_an_empty_reply_stops_the_run_or_not_as_configured) {
  const Json plan = plan_of({{"1"}, {"2"}});
  for (const bool stop : {true, false}) {
    PlannerRun planner(script({reply("1", Json::array()), reply("2", children("b", 1))}));
    const RunId run = planner.run("plan_decomposer", input(plan, {{"stop_on_empty", stop}}));
    EXPECT_EQ(planner.model().requests.size(), stop ? 1U : 2U);
    EXPECT_EQ(result_of(planner, run)["stopped_reason"], stop ? Json("empty_children") : Json(nullptr));
  }
}

// --- dependencies ----------------------------------------------------------------------------------------------------
TEST(PlanDecomposer, S1_28_dependencies_on_no_task_are_dropped_and_recorded) {
  PlannerRun planner(script({single("7", {child("a", true, {"4", "999"})})}));
  const RunId run = planner.run("plan_decomposer", input_for(plan_of({{"4"}, {"7"}}), "7"));
  EXPECT_EQ(result_of(planner, run)["created_tasks"][0]["dependencies"], (Json{"4"}));
  EXPECT_EQ(planner.events(run, "task_decomposed").at(0)["dropped"], (Json{"999"}));
  const std::vector<Json> drops = planner.events(run, "decision_rewritten");
  ASSERT_EQ(drops.size(), 1U);
  EXPECT_EQ(drops[0]["rule"], "unknown_dependency");
  EXPECT_EQ(drops[0]["from"], (Json{{"task", "7.1"}, {"after", "999"}}));
}

TEST(PlanDecomposer, S1_28_dependencies_that_could_never_be_met_are_dropped) {
  // 1.1 may not wait for: itself, its parent, a later sibling that waits for it, a task that waits for its parent, or
  // one whose child does.
  const std::vector<Task> tasks = {{"1"}, {"waits", "", {"1"}}, {"around"}, {"inside", "around", {"1"}}, {"free"}};
  PlannerRun planner(script({single(
      "1", {child("a", true, {"1.1", "1", "waits", "around", "free", "1.2"}), child("b", true, {"1.1", "1.1"})})}));
  const RunId run = planner.run("plan_decomposer", input_for(plan_of(tasks), "1"));
  const Json created = result_of(planner, run)["created_tasks"];
  EXPECT_EQ(created[0]["dependencies"], (Json{"free", "1.2"}));
  EXPECT_EQ(created[1]["dependencies"], Json::array()) << "1.1 waits for it already";
  EXPECT_EQ(planner.events(run, "task_decomposed").back()["dropped"], (Json{"1.1", "1", "waits", "around", "1.1"}));
  for (const Json& drop : planner.events(run, "decision_rewritten")) EXPECT_EQ(drop["rule"], "cyclic_dependency");
}

TEST(PlanDecomposer, S1_28_a_given_plan_with_such_dependencies_is_refused) {
  PlannerRun planner(script({}));
  const std::vector<std::pair<std::vector<Task>, std::string>> cases = {
      {{{"1", "", {"2"}}}, "there is no task 2"},
      {{{"1", "", {"2"}}, {"2", "", {"1"}}}, "run in a circle"},
      {{{"1"}, {"a", "1", {"1"}}}, "run in a circle"},
      {{{"1"}, {"a", "b"}, {"b", "a"}}, "to hang below a root"},
      {{{"1"}, {"a", "x"}}, "there is no task x"}};
  for (const auto& [tasks, says] : cases) {
    const RunId run = planner.run("plan_decomposer", input(plan_of(tasks)));
    EXPECT_EQ(planner.state(run).status, RunStatus::failed);
    EXPECT_TRUE(has(planner.state(run).reason, says)) << planner.state(run).reason;
  }
}

}  // namespace
}  // namespace cairn::test::decomposing
