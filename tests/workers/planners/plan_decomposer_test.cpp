// The plan decomposer end to end: its real graph on a memory store, with scripted replies, the rule book or a real HTTP
// endpoint in a model's place. S1_nn in a name is the requirement that the test holds.
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/evolve.hpp"
#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/planners/plan_decomposer/prompts.hpp"
#include "workers/planners/plan_decomposer/result.hpp"
#include "workers/planners/plan_decomposer/rules.hpp"
#include "workers/planners/seven_node/rules.hpp"
#include "workers/ports/models.hpp"

namespace cairn {
namespace {

using test::PlannerRun;
using testing::LoopbackServer;
using Names = std::vector<std::string>;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// --- plans and replies -----------------------------------------------------------------------------------------------
struct Task {
  std::string id;
  std::string parent = "";
  Names dependencies = {};
};

// A plan of tasks that are named after their ids, siblings in the order given.
Json plan_of(const std::vector<Task>& tasks, Json plan_id = 8) {
  Json plan = {{"plan_id", std::move(plan_id)}, {"roots", Json::array()}, {"nodes", Json::object()}};
  for (const Task& task : tasks) {
    Json node = {{"name", "Task " + task.id},
                 {"instruction", "Do " + task.id + "."},
                 {"position", plan["nodes"].size()},
                 {"dependencies", task.dependencies}};
    if (task.parent.empty()) {
      plan["roots"].push_back(task.id);
    } else {
      node["parent_id"] = task.parent;
    }
    plan["nodes"][task.id] = std::move(node);
  }
  return plan;
}

Json input(Json plan, Json options = Json::object()) {
  return {{"plan", std::move(plan)}, {"options", std::move(options)}};
}
Json input_for(Json plan, const std::string& node, Json options = Json::object()) {
  Json made = input(std::move(plan), std::move(options));
  made["node_id"] = node;
  return made;
}

Json child(const std::string& name, bool leaf = true, Json dependencies = Json::array(), Json context = nullptr) {
  return {{"name", name},
          {"instruction", "Do " + name + "."},
          {"dependencies", std::move(dependencies)},
          {"context", std::move(context)},
          {"leaf", leaf}};
}

std::vector<Json> children(const std::string& prefix, int count, bool leaf = true) {
  std::vector<Json> list;
  for (int i = 0; i < count; ++i) list.push_back(child(prefix + std::to_string(i), leaf));
  return list;
}

Json reply(const std::string& target, const std::vector<Json>& children, const std::string& mode = "plan_bfs") {
  return {{"target_node_id", target},
          {"mode", mode},
          {"should_stop", false},
          {"reason", "So it is."},
          {"children", children}};
}
Json single(const std::string& target, const std::vector<Json>& children) {
  return reply(target, children, "single_node");
}

Json stops(Json reply, const std::string& reason) {
  reply["should_stop"] = true;
  reply["reason"] = reason;
  return reply;
}

Json value(Json reply) { return {{"value", std::move(reply)}}; }
const Json fails = {{"error", {{"error", "unreachable"}, {"message", "The endpoint is away."}}}};

std::unique_ptr<Model> script(const std::vector<Json>& replies) {
  Json list = Json::array();
  for (const Json& one : replies) list.push_back(one.contains("children") ? value(one) : one);
  return make_scripted_model({{"replies", list}});
}

// Gives every task the same number of children, by its own prompt.
std::unique_ptr<Model> generous(int count) {
  return make_rule_model("generous", [count](const ModelRequest& request) -> ModelAnswer {
    const Json data = Json::parse(request.messages.back()["content"].get<std::string>());
    ModelReply made;
    made.value = reply(data["target_task"]["id"], children("n", count, false), data["mode_hint"]);
    return made;
  });
}

// --- what came of it -------------------------------------------------------------------------------------------------
Json result_of(PlannerRun& planner, const RunId& run) {
  const RunState state = planner.state(run);
  EXPECT_EQ(state.status, RunStatus::done) << state.reason;
  return planner.output(run).value("result", Json::object());
}

Names names_of(const Json& tasks) {
  Names names;
  for (const Json& task : tasks) names.push_back(task["name"]);
  return names;
}

Names targets(PlannerRun& planner, const RunId& run, const std::string& mode = "plan_bfs") {
  Names targets;
  for (const Json& event : planner.events(run, "task_decomposed")) {
    if (event["mode"] == mode) targets.push_back(event["target"]);
  }
  return targets;
}

// Ids of the tasks below a task in the run's plan, without those that were removed.
Names below(const RunState& state, const std::string& parent) {
  Names ids;
  for (const SubGoal* goal : plan_of(state, root_branch)) {
    if (goal->parent == parent && goal->status == GoalStatus::planned) ids.push_back(goal->id);
  }
  return ids;
}

Json prompt_of(const ModelRequest& request) {
  return Json::parse(request.messages.back()["content"].get<std::string>());
}

Names asked(const PlannerRun& planner) {
  Names ids;
  for (const ModelRequest& request : planner.model().requests) ids.push_back(prompt_of(request)["target_task"]["id"]);
  return ids;
}

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

// --- failures --------------------------------------------------------------------------------------------------------
TEST(PlanDecomposer, S1_19_a_call_that_fails_twice_leaves_its_task_out_and_the_rest_goes_on) {
  PlannerRun planner(script({fails, fails, reply("2", children("b", 1))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}})));
  const Json result = result_of(planner, run);
  EXPECT_EQ(asked(planner), (Names{"1", "1", "2"}));
  EXPECT_EQ(result["failed_nodes"], (Json{"1"}));
  EXPECT_EQ(result["processed_nodes"], (Json{"2"}));
  EXPECT_EQ(result["stopped_reason"], nullptr);
  EXPECT_EQ(planner.events(run, "model_called").size(), 3U);
}

TEST(PlanDecomposer, S1_19_the_limit_of_retries_is_a_setting) {
  for (const int limit : {0, 1, 3}) {
    PlannerRun planner(script({fails, fails, fails, fails, fails}));
    const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}}), {{"retry_limit", limit}}));
    EXPECT_EQ(planner.model().requests.size(), static_cast<std::size_t>(limit + 1));
    EXPECT_EQ(result_of(planner, run)["stats"]["llm_calls"], limit + 1);
  }
}

Json without(Json object, const char* field) {
  object.erase(field);
  return object;
}
Json with(Json object, const char* field, Json set) {
  object[field] = std::move(set);
  return object;
}

TEST(PlanDecomposer, S1_20_a_reply_of_a_wrong_form_is_told_to_the_next_attempt_and_then_given_up) {
  const Json good = reply("1", {child("a")});
  const auto with_child = [&good](Json one) { return with(good, "children", Json::array({std::move(one)})); };
  const std::vector<std::pair<std::string, Json>> cases = {
      {"no JSON", {{"reply", {{"role", "assistant"}, {"content", "Node:\n1: Check.\nEdge: (START,1) (1,END)"}}}}},
      {"no object", value({1, 2})},
      {"a field missing", value(without(good, "should_stop"))},
      {"an unknown field", value(with(good, "thoughts", "hm"))},
      {"another task", value(with(good, "target_node_id", "2"))},
      {"another mode", value(with(good, "mode", "single_node"))},
      {"no mode at all", value(with(good, "mode", "dfs"))},
      {"a priority", value(with_child(with(child("a"), "priority", 1)))},
      {"a status", value(with_child(with(child("a"), "status", "done")))},
      {"no name", value(with_child(child("")))},
      {"a blank name", value(with_child(child(" \n ")))},
      {"children that are no list", value(with(good, "children", "a, b"))},
      {"a child that is a text", value(with_child("a"))},
      {"dependencies that are no ids", value(with_child(child("a", true, {Json::object()})))}};
  for (const auto& [what, faulty] : cases) {
    PlannerRun planner(script({faulty, faulty}));
    const RunId run = planner.run("plan_decomposer",
                                  input(plan_of({{"1"}, {"2"}}), {{"total_node_budget", 50}, {"max_llm_calls", 2}}));
    EXPECT_EQ(result_of(planner, run)["failed_nodes"], (Json{"1"})) << what;
    EXPECT_EQ(result_of(planner, run)["created_tasks"], Json::array()) << what;
    const std::vector<Json> failed = planner.events(run, "decomposition_failed");
    ASSERT_EQ(failed.size(), 2U) << what;
    for (int attempt = 1; attempt <= 2; ++attempt) {
      const Json& event = failed[static_cast<std::size_t>(attempt) - 1];
      EXPECT_EQ(event["target"], "1") << what;
      EXPECT_EQ(event["error"], "format") << what;
      EXPECT_EQ(event["attempt"], attempt) << what;
    }
    const Json again = prompt_of(planner.model().requests.at(1));
    EXPECT_EQ(again.value("last_attempt_failed", ""), failed[0]["reason"]) << what;
    EXPECT_FALSE(prompt_of(planner.model().requests.at(0)).contains("last_attempt_failed")) << what;
  }
}

TEST(PlanDecomposer, S1_20_ids_may_come_as_numbers) {
  Json plan = {{"plan_id", 8}, {"roots", {12}}, {"nodes", {{"12", {{"name", "Twelve"}}}}}};
  Json numbered = single("12", {child("a", true, {4})});
  numbered["target_node_id"] = 12;
  PlannerRun planner(script({numbered}));
  Json asked_for = input(plan);
  asked_for["node_id"] = 12;
  const RunId run = planner.run("plan_decomposer", asked_for);
  EXPECT_EQ(result_of(planner, run)["created_tasks"][0]["id"], "12.1");
  EXPECT_EQ(planner.events(run, "task_decomposed").at(0)["dropped"], (Json{"4"}));
}

// Works event by event until it is so.
void work_until(PlannerRun& planner, const RunId& run, const std::function<bool()>& is_so) {
  for (int pieces = 0; pieces < 200 && !is_so(); ++pieces) planner.work_until(run, planner.state(run).seq + 1);
  EXPECT_TRUE(is_so());
}

// A write that the engine refuses: what it adds to a count does not fit 64 bits any more.
TEST(PlanDecomposer, S1_21_a_refused_write_leaves_nothing_of_its_task_and_stops_or_goes_on) {
  for (const std::string after : {"stop", "continue"}) {
    PlannerRun planner(
        script({reply("1", children("a", 1)), reply("2", children("b", 3)), reply("3", children("c", 1))}));
    const RunId run = planner.start(
        "plan_decomposer", input(plan_of({{"1"}, {"2"}, {"3"}}), {{"on_write_error", after}, {"max_children", 2}}));
    work_until(planner, run, [&] { return planner.events(run, "task_decomposed").size() == 1; });
    const Json full = {{"truncated", std::numeric_limits<std::int64_t>::max()}};
    ASSERT_TRUE(planner.client().command(run, EditChannels{full}).ok());
    planner.work(run);
    ASSERT_EQ(planner.events(run, "step_failed").size(), 1U);
    EXPECT_EQ(planner.events(run, "step_failed")[0]["node"], "write");
    EXPECT_EQ(planner.events(run, "step_failed")[0]["error"], "invalid");
    const Json result = result_of(planner, run);
    EXPECT_EQ(result["failed_nodes"], (Json{"2"}));
    EXPECT_EQ(below(planner.state(run), "1"), (Names{"1.1"}));
    EXPECT_TRUE(below(planner.state(run), "2").empty());
    EXPECT_EQ(result["stopped_reason"], after == "stop" ? Json("write_error") : Json(nullptr));
    EXPECT_EQ(result["processed_nodes"], after == "stop" ? (Json{"1"}) : (Json{"1", "3"}));
    ASSERT_EQ(planner.events(run, "decomposition_failed").size(), 1U);
    EXPECT_EQ(planner.events(run, "decomposition_failed")[0]["error"], "write");
  }
}

TEST(PlanDecomposer, S1_22_a_tasks_children_are_seen_all_or_none_whoever_looks_and_whenever) {
  PlannerRun planner(generous(4));
  const RunId run =
      planner.start("plan_decomposer", input(plan_of({{"1"}, {"2"}}), {{"max_depth", 2}, {"total_node_budget", 40}}));
  std::set<std::size_t> seen;
  work_until(planner, run, [&] {
    for (const char* task : {"1", "2", "1.1", "2.4"}) seen.insert(below(planner.state(run), task).size());
    return is_ended(planner.state(run).status);
  });
  EXPECT_EQ(seen, (std::set<std::size_t>{0, 4}));
}

// --- one task --------------------------------------------------------------------------------------------------------
const std::vector<Task> grown = {{"1"}, {"old", "1"}, {"older", "old"}, {"2", "", {"older", "1"}}};

TEST(PlanDecomposer, S1_23_new_children_come_after_the_old_ones) {
  PlannerRun planner(script({single("1", children("a", 2))}));
  const RunId run = planner.run("plan_decomposer", input_for(plan_of(grown), "1"));
  EXPECT_EQ(below(planner.state(run), "1"), (Names{"old", "1.2", "1.3"}));
  EXPECT_EQ(result_of(planner, run)["created_tasks"][0]["position"], 1);
  EXPECT_EQ(planner.output(run)["removed_nodes"], Json::array());
}

TEST(PlanDecomposer, S1_23_overwriting_removes_the_whole_old_subtree_and_nobody_waits_for_it) {
  PlannerRun planner(script({single("1", children("a", 2))}));
  const RunId run =
      planner.run("plan_decomposer", input_for(plan_of(grown), "1", {{"existing_children", "overwrite"}}));
  EXPECT_EQ(below(planner.state(run), "1").size(), 2U);
  EXPECT_TRUE(below(planner.state(run), "old").empty());
  EXPECT_EQ(result_of(planner, run)["created_tasks"][0]["position"], 0);
  EXPECT_EQ(planner.output(run)["removed_nodes"], (Json{"old", "older"}));
  const std::vector<Json> revised = planner.events(run, "plan_revised");
  ASSERT_EQ(revised.size(), 1U);
  EXPECT_EQ(revised[0]["changes"], Json::parse(R"([{"op": "remove", "id": "old"}, {"op": "remove", "id": "older"},
      {"op": "update", "id": "2", "after": ["1"]}])"));
  EXPECT_LT(revised[0]["seq"], planner.events(run, "task_decomposed").back()["seq"]);
}

TEST(PlanDecomposer, S1_24_the_old_children_stay_until_there_are_new_ones) {
  const Json overwrite = {{"existing_children", "overwrite"}};
  for (const std::vector<Json>& replies :
       {std::vector<Json>{fails, fails}, std::vector<Json>{single("1", Json::array())}}) {
    PlannerRun planner(script(replies));
    const RunId run = planner.run("plan_decomposer", input_for(plan_of(grown), "1", overwrite));
    EXPECT_EQ(below(planner.state(run), "1"), (Names{"old"}));
    EXPECT_TRUE(planner.events(run, "plan_revised").empty());
  }
}

TEST(PlanDecomposer, S1_25_one_level_makes_every_child_a_leaf) {
  PlannerRun planner(script({single("1", children("a", 2, false))}));
  const RunId run = planner.run("plan_decomposer", input_for(plan_of({{"1"}}), "1"));
  const Json result = result_of(planner, run);
  for (const Json& task : result["created_tasks"]) EXPECT_EQ(task["leaf"], true);
  EXPECT_EQ(planner.channel(run, "queue").size(), 1U) << "the given task alone";
  EXPECT_EQ(result["stopped_reason"], nullptr);
}

TEST(PlanDecomposer, S1_26_more_levels_go_on_below_the_task_and_no_further) {
  PlannerRun planner(generous(2));
  const RunId run = planner.run("plan_decomposer", input_for(plan_of({{"0"}, {"1"}}), "1", {{"expand_depth", 2}}));
  EXPECT_EQ(asked(planner), (Names{"1", "1.1", "1.2"}));
  EXPECT_EQ(result_of(planner, run)["created_tasks"].size(), 6U);
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], "depth");
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

// --- the result ------------------------------------------------------------------------------------------------------
TEST(PlanDecomposer, S1_29_the_result_has_exactly_its_fields) {
  PlannerRun planner(
      script({reply("1", {child("a", false), child("b", true, {"1.1"})}), fails, fails, reply("1.1", {child("c")})}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}}), {{"max_depth", 2}}));
  Json result = result_of(planner, run);
  EXPECT_GE(result["stats"]["elapsed_ms"], 0);
  result["stats"].erase("elapsed_ms");
  const Json expected = Json::parse(R"({
    "plan_id": 8, "mode": "plan_bfs", "root_node_id": null,
    "processed_nodes": ["1", "1.1"],
    "created_tasks": [
      {"id": "1.1", "parent_id": "1", "position": 0, "name": "a", "instruction": "Do a.", "dependencies": [], "context": null, "leaf": false},
      {"id": "1.2", "parent_id": "1", "position": 1, "name": "b", "instruction": "Do b.", "dependencies": ["1.1"], "context": null, "leaf": true},
      {"id": "1.1.1", "parent_id": "1.1", "position": 0, "name": "c", "instruction": "Do c.", "dependencies": [], "context": null, "leaf": true}],
    "failed_nodes": ["2"], "stopped_reason": null,
    "stats": {"llm_calls": 4, "nodes_created": 3, "depth_limited": 0, "skipped_nodes": [], "truncated": 0, "dropped": 0,
              "tokens_in": 0, "tokens_out": 0}})");
  EXPECT_EQ(result, expected);
}

TEST(PlanDecomposer, S1_30_calls_count_with_their_retries) {
  PlannerRun planner(script({fails, reply("1", children("a", 1)), fails, fails, reply("3", children("c", 2))}));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}, {"3"}})));
  const Json stats = result_of(planner, run)["stats"];
  EXPECT_EQ(stats["llm_calls"], 5);
  EXPECT_EQ(planner.events(run, "model_called").size(), 5U);
  EXPECT_EQ(stats["nodes_created"], 3);
  EXPECT_GE(stats["elapsed_ms"], 400) << "two retries wait at least 200 ms each";
}

Decomposition ten_and_one_failed(const std::string& error) {
  Decomposition done{"plan_bfs", "", {"1"}, {}, {{"15", error}}, "", Json::object()};
  done.created.resize(10);
  return done;
}

TEST(PlanDecomposer, S1_31_the_result_is_a_sentence_in_english_and_chinese) {
  PlanTree plan;
  plan.plan_id = 8;
  Decomposition done = ten_and_one_failed("unreachable");
  EXPECT_EQ(feedback_in_english(plan, done),
            "Plan #8: 10 sub-tasks created; node 15 not processed because the LLM did not answer.");
  EXPECT_EQ(feedback_in_chinese(plan, done), "计划 #8 已生成 10 个子任务，其中节点 15 因 LLM 无响应未处理。");
  done.failed.push_back({"16", "format"});
  done.failed.push_back({"17", "timeout"});
  done.stopped = "node_budget";
  done.stats = {{"truncated", 2}, {"dropped", 1}};
  EXPECT_EQ(feedback_in_english(plan, done),
            "Plan #8: 10 sub-tasks created; nodes 15 and 17 not processed because the LLM did not answer; node 16 not "
            "processed because "
            "the LLM's reply could not be used; 2 sub-tasks beyond the limits left out; 1 dependency dropped; stopped "
            "at the limit of new tasks.");
  EXPECT_EQ(feedback_in_chinese(plan, done),
            "计划 #8 已生成 10 个子任务，其中节点 15、17 因 LLM 无响应未处理，节点 16 因 LLM 回复格式错误未处理；2 "
            "个子任务超出上限，未写入；"
            "已去除 1 个依赖；已达到新增任务上限，停止分解。");
}

TEST(PlanDecomposer, S1_31_a_sentence_stays_short_when_much_fails) {
  PlanTree plan;
  plan.plan_id = 8;
  Decomposition done{"plan_bfs", "", {}, {}, {}, "", Json::object()};
  for (int i = 1; i <= 12; ++i) done.failed.push_back({std::to_string(i), "unreachable"});
  EXPECT_EQ(feedback_in_english(plan, done),
            "Plan #8: 0 sub-tasks created; nodes 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more not processed because the "
            "LLM did not answer.");
  EXPECT_EQ(feedback_in_chinese(plan, done),
            "计划 #8 已生成 0 个子任务，其中节点 1、2、3、4、5、6、7、8、9、10 等 12 个 因 LLM 无响应未处理。");
}

TEST(PlanDecomposer, S1_31_every_reason_to_stop_has_words_in_both_languages) {
  PlanTree plan;
  plan.goal = "Ship it";
  std::set<std::string> english;
  std::set<std::string> chinese;
  for (const char* reason : {"", "node_budget", "depth", "empty_plan", "empty_children", "llm_calls", "write_error",
                             "llm_should_stop: Enough."}) {
    Decomposition done{"plan_bfs", "", {}, {}, {}, reason, Json::object()};
    english.insert(feedback_in_english(plan, done));
    chinese.insert(feedback_in_chinese(plan, done));
  }
  EXPECT_EQ(english.size(), 8U);
  EXPECT_EQ(chinese.size(), 8U);
  EXPECT_TRUE(english.contains("Plan \"Ship it\": 0 sub-tasks created."));
  EXPECT_TRUE(english.contains("Plan \"Ship it\": 0 sub-tasks created; stopped because the LLM said so: Enough."));
  EXPECT_TRUE(chinese.contains("计划“Ship it”已生成 0 个子任务。"));
}

TEST(PlanDecomposer, S1_32_the_plan_that_is_read_is_the_fold_of_the_events) {
  PlannerRun planner(generous(3));
  const RunId run =
      planner.run("plan_decomposer", input(plan_of({{"1"}, {"old", "1"}, {"2"}}), {{"total_node_budget", 10}}));
  Graphs graphs;
  graphs.add(planner.client().graphs().current("plan_decomposer"), true);
  RunState folded;
  folded.id = run;
  std::vector<BranchId> touched;
  const Result<std::vector<Event>> events = planner.client().events(run, 0, 10'000);
  ASSERT_TRUE(events.ok());
  for (const Event& event : *events) evolve(folded, event, graphs, touched);
  EXPECT_EQ(state_json(folded), state_json(planner.state(run)));
  Names created;
  const Json result = result_of(planner, run);
  for (const Json& task : result["created_tasks"]) created.push_back(task["id"]);
  Names read;
  for (const SubGoal* goal : plan_of(folded, root_branch)) {
    if (goal->id != "1" && goal->id != "old" && goal->id != "2") read.push_back(goal->id);
  }
  EXPECT_EQ(read, created);
}

// --- crashes ---------------------------------------------------------------------------------------------------------
// A new session without any memory after every event.
void work_in_pieces(PlannerRun& planner, const RunId& run, const std::function<void()>& between) {
  work_until(planner, run, [&] {
    between();
    return is_ended(planner.state(run).status);
  });
}

TEST(PlanDecomposer, S1_36_a_recorded_reply_is_used_by_whoever_goes_on) {
  PlannerRun planner(generous(2));
  const RunId run = planner.start("plan_decomposer", input(plan_of({{"1"}}), {{"max_depth", 2}}));
  int between_reply_and_write = 0;
  work_in_pieces(planner, run, [&] {
    const Names path = planner.path(run);
    if (!path.empty() && path.back() == "expand") ++between_reply_and_write;
  });
  EXPECT_EQ(between_reply_and_write, 3) << "a session ended there each time";
  EXPECT_EQ(asked(planner), (Names{"1", "1.1", "1.2"}));
  EXPECT_EQ(result_of(planner, run)["stats"]["llm_calls"], 3);
}

TEST(PlanDecomposer, S1_37_budgets_count_on_whoever_goes_on) {
  PlannerRun planner(generous(6));
  const RunId run = planner.start("plan_decomposer", input(plan_of({{"1"}}), {{"max_depth", 10}}));
  std::int64_t sessions = 0;
  work_in_pieces(planner, run, [&] { ++sessions; });
  EXPECT_GT(sessions, 20);
  EXPECT_EQ(result_of(planner, run)["created_tasks"].size(), 50U);
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], "node_budget");
  EXPECT_EQ(planner.events(run, "budget_exhausted").size(), 1U);
}

// --- called by another graph -----------------------------------------------------------------------------------------
// A graph that owns a plan: it is created, decomposed by a child unless told otherwise, and merged. What changed in the
// meantime is looked at again, twice at most.
const Json owner_graph = Json::parse(R"({ "name": "owner", "start": "create", "limits": { "steps": 50 },
  "budgets": { "decompositions": { "cap": 2 } },
  "nodes": {
    "create": { "do": "plan.create", "with": { "plan": "$draft", "auto_on_create": "$auto_on_create" },
      "on": { "decompose": "decompose", "created": "kept", "error": "refused" } },
    "decompose": { "call": "plan_decomposer", "with": { "plan": "$plan", "node_id": "$node", "options": "$options" },
      "into": "decomposition", "spends": "decompositions",
      "on": { "done": "merge", "failed": "kept", "exhausted": "kept" } },
    "merge": { "do": "plan.merge", "with": { "decomposition": "$decomposition" },
      "on": { "merged": "kept", "conflict": "decompose" } },
    "kept": { "end": { "status": "done", "output": { "plan": "$plan", "decomposition": "$decomposition" } } },
    "refused": { "end": { "status": "failed", "reason": "No plan." } } } })");

void add_graph(PlannerRun& planner, const Json& graph) {
  const Result<GraphRef> added = planner.client().add_graph(graph);
  ASSERT_TRUE(added.ok()) << added.error().message;
}

// Works until the run and the children it called have ended.
void work_with_children(PlannerRun& planner, const RunId& run) {
  for (int round = 0; round < 20 && !is_ended(planner.state(run).status); ++round) {
    planner.work(run);
    for (const Json& started : planner.events(run, "child_started"))
      planner.work(*parse_run_id(started["child"].get<std::string>()));
  }
  EXPECT_EQ(planner.state(run).status, RunStatus::done) << planner.state(run).reason;
}

TEST(PlanDecomposer, S1_02_a_request_holds_nothing_of_the_callers_conversation) {
  PlannerRun planner(generous(2));
  add_graph(planner, owner_graph);
  const std::string marker = "the parrot is called Ernesto";
  const RunId run = planner.start("owner", {{"draft", plan_of({{"1"}})},
                                            {"messages", {{{"role", "user"}, {"content", marker}}}},
                                            {"history", marker},
                                            {"options", {{"model", "decomposer-small"}}}});
  work_with_children(planner, run);
  ASSERT_FALSE(planner.model().requests.empty());
  for (const ModelRequest& request : planner.model().requests) {
    EXPECT_FALSE(has(request.messages.dump(), "Ernesto"));
    EXPECT_EQ(request.messages.size(), 2U) << "a conversation of its own";
    EXPECT_EQ(request.model, "decomposer-small");
  }
}

// What one command comes to: all of its events and the runs it starts are one commit.
Decision decide_create(const std::string& graph, const Json& input) {
  static const std::unique_ptr<Catalogue> catalogue = *make_catalogue({});
  Graphs graphs;
  for (const GraphRef& built_in : catalogue->graphs) graphs.add(built_in, true);
  Json text = owner_graph;
  text["name"] = graph;
  graphs.add(*parse_graph(text, "v", catalogue->handlers.labels()), true);
  RunState state;
  StartRun start;
  start.run = *parse_run_id("00000000-0000-7000-8000-000000000001");
  start.graph = graph;
  start.input = input;
  Context context;
  context.id_base = *parse_run_id("00000000-0000-7000-8000-000000000100");
  EXPECT_TRUE(decide(state, start, context, graphs).ok());
  const Handler* create = catalogue->handlers.find("plan.create");
  const StepResult result = std::get<PureHandler>(create->run)(step_input(state, state.steps.at(1), create));
  if (!result) return *decide(state, FailStep{1, 1, result.error(), 0, 0}, context, graphs);
  return *decide(state, CompleteStep{1, 1, *result, 0, 0, 0}, context, graphs);
}

bool has_event(const std::vector<Event>& events, std::string_view type) {
  return std::ranges::any_of(events, [type](const Event& event) { return type_of(event.body) == type; });
}

TEST(PlanDecomposer, S1_03_a_created_plan_and_the_start_of_its_decomposition_are_one_commit) {
  const Decision both = decide_create("owner", {{"draft", plan_of({{"1"}})}});
  EXPECT_TRUE(has_event(both.events, "plan_created"));
  EXPECT_TRUE(has_event(both.events, "child_started"));
  ASSERT_EQ(both.children.size(), 1U);
  EXPECT_EQ(both.children[0].state.graph->name, "plan_decomposer");

  const Decision without = decide_create("owner", {{"draft", plan_of({{"1"}})}, {"auto_on_create", false}});
  EXPECT_TRUE(has_event(without.events, "plan_created"));
  EXPECT_FALSE(has_event(without.events, "child_started"));
  EXPECT_TRUE(without.children.empty());

  const Decision failed = decide_create("owner", {{"draft", plan_of({{"1", "", {"2"}}})}});
  EXPECT_FALSE(has_event(failed.events, "plan_created"));
  EXPECT_TRUE(failed.children.empty());
  EXPECT_TRUE(has_event(failed.events, "run_finished"));
}

TEST(PlanDecomposer, S1_03_the_childs_result_becomes_part_of_the_callers_plan) {
  PlannerRun planner(script({reply("1", {child("a"), child("b", true, {"1.1"})})}));
  add_graph(planner, owner_graph);
  const RunId run = planner.start("owner", {{"draft", plan_of({{"1"}})}});
  work_with_children(planner, run);
  EXPECT_EQ(below(planner.state(run), "1"), (Names{"1.1", "1.2"}));
  EXPECT_EQ(find_goal(planner.state(run), root_branch, "1.2")->after, (Names{"1.1"}));
  EXPECT_EQ(planner.state(run).plan_version, 2);
  EXPECT_EQ(planner.output(run)["plan"]["version"], 2);
  EXPECT_EQ(planner.output(run)["plan"]["nodes"]["1.2"]["name"], "b");
  EXPECT_EQ(planner.output(run)["decomposition"]["result"]["mode"], "plan_bfs");
  EXPECT_TRUE(has(planner.output(run)["decomposition"]["feedback"]["zh"], "计划 #8 已生成 2 个子任务"));
}

TEST(PlanDecomposer, S1_04_one_task_of_a_callers_plan_is_decomposed_as_deep_as_asked) {
  PlannerRun planner(generous(2));
  add_graph(planner, owner_graph);
  const RunId run =
      planner.start("owner", {{"draft", plan_of({{"1"}, {"2"}})}, {"node", "2"}, {"options", {{"expand_depth", 2}}}});
  work_with_children(planner, run);
  const RunState state = planner.state(run);
  EXPECT_TRUE(below(state, "1").empty());
  EXPECT_EQ(below(state, "2"), (Names{"2.1", "2.2"}));
  EXPECT_EQ(below(state, "2.2"), (Names{"2.2.1", "2.2.2"}));
  EXPECT_TRUE(below(state, "2.2.1").empty());
  EXPECT_EQ(planner.output(run)["decomposition"]["result"]["root_node_id"], "2");
}

// Two children get the plan as it was created; each is merged in its turn.
Json two_at_once() {
  Json graph = owner_graph;
  Json& nodes = graph["nodes"];
  graph["name"] = "two_at_once";
  nodes["create"]["on"]["decompose"] = {"first", "decompose"};
  nodes["first"] = {{"call", "plan_decomposer"},
                    {"with", {{"plan", "$plan"}, {"node_id", "1"}}},
                    {"into", "other"},
                    {"on", {{"done", "meet"}, {"failed", "meet"}}}};
  nodes["decompose"]["on"] = {{"done", "meet"}, {"failed", "meet"}, {"exhausted", "meet"}};
  nodes["meet"] = {{"do", "plan.merge"},
                   {"join", true},
                   {"with", {{"decomposition", "$other"}}},
                   {"on", {{"merged", "merge"}, {"conflict", "kept"}}}};
  nodes["merge"]["on"]["conflict"] = "again";
  nodes["again"] = {{"call", "plan_decomposer"},
                    {"with", {{"plan", "$plan"}, {"node_id", "$node"}}},
                    {"into", "decomposition"},
                    {"on", {{"done", "merge"}, {"failed", "kept"}}}};
  return graph;
}

TEST(PlanDecomposer, S1_35_the_second_of_two_at_once_is_refused_and_S1_06_made_again_on_the_newest_plan) {
  PlannerRun planner(generous(2));
  add_graph(planner, two_at_once());
  const RunId run = planner.start("two_at_once", {{"draft", plan_of({{"1"}, {"2"}})}, {"node", "2"}});
  work_with_children(planner, run);
  const std::vector<Json> steps = planner.events(run, "step_succeeded");
  std::vector<std::pair<std::string, std::string>> merges;
  for (const Json& step : steps) {
    if (step["node"] == "meet" || step["node"] == "merge") merges.emplace_back(step["node"], step["label"]);
  }
  EXPECT_EQ(merges, (std::vector<std::pair<std::string, std::string>>{
                        {"meet", "merged"}, {"merge", "conflict"}, {"merge", "merged"}}));
  EXPECT_EQ(below(planner.state(run), "1"), (Names{"1.1", "1.2"}));
  EXPECT_EQ(below(planner.state(run), "2"), (Names{"2.1", "2.2"}));
  EXPECT_EQ(planner.state(run).plan_version, 3);
  const Json prompt = prompt_of(planner.model().requests.back());
  EXPECT_EQ(prompt["target_task"]["id"], "2");
  EXPECT_EQ(prompt["plan_outline"]["tasks"], 4) << "what the first one wrote is seen";
  Names order;
  for (const Json& event : planner.events(run, "task_decomposed")) order.push_back(event["target"]);
  EXPECT_EQ(order, (Names{"1", "2"})) << "never interleaved";
}

TEST(PlanDecomposer, S1_06_a_change_that_nobody_saw_is_refused_by_the_plans_version) {
  // The merge is computed for version 1; by the time it is written the plan has version 2.
  PlannerRun planner(generous(1));
  add_graph(planner, owner_graph);
  const RunId run = planner.start("owner", {{"draft", plan_of({{"1"}})}});
  work_with_children(planner, run);
  const Json output = planner.output(run)["decomposition"];
  EXPECT_EQ(output["base_version"], 1);
  const Handler* merge = nullptr;
  const std::unique_ptr<Catalogue> catalogue = *make_catalogue({});
  merge = catalogue->handlers.find("plan.merge");
  StepInput stale;
  stale.with = {{"decomposition", output}};
  stale.data = Json::object();
  stale.plan_version = 2;
  const StepResult result = std::get<PureHandler>(merge->run)(stale);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->label, "conflict");
  EXPECT_TRUE(result->facts.empty());
}

TEST(PlanDecomposer, a_decomposition_that_overwrote_removes_in_the_callers_plan_too) {
  PlannerRun planner(script({single("1", children("a", 1))}));
  add_graph(planner, owner_graph);
  const RunId run = planner.start(
      "owner", {{"draft", plan_of(grown)}, {"node", "1"}, {"options", {{"existing_children", "overwrite"}}}});
  work_with_children(planner, run);
  EXPECT_EQ(below(planner.state(run), "1").size(), 1U);
  EXPECT_FALSE(planner.output(run)["plan"]["nodes"].contains("older"));
  EXPECT_EQ(find_goal(planner.state(run), root_branch, "2")->after, (Names{"1"}));
}

TEST(PlanDecomposer, what_is_no_decomposition_is_not_merged) {
  const std::unique_ptr<Catalogue> catalogue = *make_catalogue({});
  const Handler* merge = catalogue->handlers.find("plan.merge");
  StepInput input;
  input.data = Json::object();
  input.plan_version = 1;
  input.plan = {{"1", "", nullptr, GoalStatus::planned, nullptr, "", "", 0, "One"}};
  const Json task = {{"id", "1.1"},        {"parent_id", "1"},  {"position", 0},
                     {"name", "a"},        {"instruction", ""}, {"dependencies", Json::array()},
                     {"context", nullptr}, {"leaf", true}};
  const auto merged = [&](const std::vector<Json>& tasks) {
    input.with = {{"decomposition",
                   {{"base_version", 1},
                    {"removed_nodes", Json::array()},
                    {"result", {{"mode", "plan_bfs"}, {"created_tasks", tasks}}}}}};
    return std::get<PureHandler>(merge->run)(input);
  };
  EXPECT_TRUE(merged({task}).ok());
  EXPECT_FALSE(merged({task, task}).ok());
  EXPECT_FALSE(merged({with(task, "parent_id", "9")}).ok());
  EXPECT_FALSE(merged({with(task, "id", "1")}).ok());
  EXPECT_FALSE(merged({without(task, "name")}).ok());
  input.with = Json::object();
  EXPECT_FALSE(std::get<PureHandler>(merge->run)(input).ok());
}

// --- over real HTTP --------------------------------------------------------------------------------------------------
Json completion(const std::string& content, const std::string& finish_reason = "stop") {
  return {
      {"model", "served"},
      {"choices",
       {{{"index", 0}, {"message", {{"role", "assistant"}, {"content", content}}}, {"finish_reason", finish_reason}}}},
      {"usage", {{"prompt_tokens", 100}, {"completion_tokens", 20}}}};
}

std::unique_ptr<Model> http_model(const std::string& url) {
  ModelEndpoint endpoint;
  endpoint.url = url;
  endpoint.model = "served";
  endpoint.timeout_ms = 300;
  return make_http_model(endpoint);
}

Json prompt_of(const LoopbackServer::Request& request) {
  return Json::parse(Json::parse(request.body())["messages"].back()["content"].get<std::string>());
}

// Answers each task by its name: what is said of it the first time, and a good reply afterwards.
class Endpoint {
 public:
  explicit Endpoint(std::map<std::string, LoopbackServer::Reply> first) : first_(std::move(first)) {}
  LoopbackServer::Reply operator()(const LoopbackServer::Request& request) {
    const Json prompt = prompt_of(request);
    const std::string target = prompt["target_task"]["id"];
    if (const auto found = first_.find(target); found != first_.end()) {
      const LoopbackServer::Reply first = found->second;
      first_.erase(found);
      return first;
    }
    return {200, completion(reply(target, children("of " + target + " ", 2)).dump()).dump()};
  }

 private:
  std::map<std::string, LoopbackServer::Reply> first_;
};

TEST(PlanDecomposerOverHttp, a_malformed_limited_cut_or_broken_answer_costs_a_retry) {
  const std::string good = reply("cut", children("x", 2)).dump();
  const Endpoint endpoint(
      {{"malformed", {200, completion("Sure! Here is the plan: 1. Check.").dump()}},
       {"limited", {429, R"({"error": "slow down"})"}},
       {"cut", {200, completion(good.substr(0, good.size() / 2), "length").dump()}},
       {"half", {200, completion(good).dump().substr(0, 100)}},
       {"broken", {500, "oops"}},
       {"fenced", {200, completion("```json\n" + reply("fenced", children("f", 1)).dump() + "\n```").dump()}}});
  const auto server = std::make_shared<LoopbackServer>(endpoint);
  PlannerRun planner(http_model(server->url("/v1")));
  const std::vector<Task> tasks = {{"malformed"}, {"limited"}, {"cut"}, {"half"}, {"broken"}, {"fenced"}};
  const RunId run = planner.run("plan_decomposer", input(plan_of(tasks)));
  const Json result = result_of(planner, run);
  EXPECT_EQ(result["failed_nodes"], Json::array());
  EXPECT_EQ(result["created_tasks"].size(), 11U);
  EXPECT_EQ(result["stats"]["llm_calls"], 11) << "one retry each, and none for the fenced one";
  EXPECT_EQ(result["stats"]["tokens_out"], 6 * 20);
  std::map<std::string, std::string> errors;
  for (const Json& failed : planner.events(run, "decomposition_failed")) errors[failed["target"]] = failed["error"];
  EXPECT_EQ(errors, (std::map<std::string, std::string>{{"malformed", "format"},
                                                        {"limited", "refused"},
                                                        {"cut", "format"},
                                                        {"half", "format"},
                                                        {"broken", "refused"}}));
  const Json schema = Json::parse(server->requests().at(0).body())["response_format"]["json_schema"];
  EXPECT_EQ(schema["name"], "decomposition");
  EXPECT_EQ(schema["schema"], decomposition_reply_schema());
}

TEST(PlanDecomposerOverHttp, an_endpoint_that_is_away_or_slow_leaves_the_tasks_out_and_the_run_ends) {
  const LoopbackServer server([](const LoopbackServer::Request&) { return LoopbackServer::Reply{200, "", true}; });
  PlannerRun planner(http_model("http://127.0.0.1:" + std::to_string(testing::closed_port()) + "/v1"));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}, {"2"}})));
  EXPECT_EQ(result_of(planner, run)["failed_nodes"], (Json{"1", "2"}));
  EXPECT_EQ(planner.output(run)["feedback"]["en"],
            "Plan #8: 0 sub-tasks created; nodes 1 and 2 not processed because the LLM did not answer.");
  EXPECT_EQ(planner.state(run).reason, planner.output(run)["feedback"]["en"]);

  PlannerRun slow(http_model(server.url("/v1")));
  const RunId waited = slow.run("plan_decomposer", input(plan_of({{"1"}}), {{"retry_limit", 0}}));
  EXPECT_EQ(result_of(slow, waited)["failed_nodes"], (Json{"1"}));
  EXPECT_EQ(slow.events(waited, "decomposition_failed").at(0)["error"], "unreachable");
}

// Says the beginning of an answer, and hangs up.
TEST(PlanDecomposerOverHttp, a_connection_that_breaks_off_is_tried_again_and_given_up) {
  namespace asio = boost::asio;
  asio::io_context io;
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  std::thread server([&] {
    for (int call = 0; call < 2; ++call) {
      asio::ip::tcp::socket socket(io);
      acceptor.accept(socket);
      std::string request;
      boost::system::error_code ignored;
      asio::read_until(socket, asio::dynamic_buffer(request), "mode_hint", ignored);
      asio::write(socket, asio::buffer(std::string("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{\"choices\": [{")),
                  ignored);
    }
  });
  PlannerRun planner(http_model("http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()) + "/v1"));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}})));
  server.join();
  EXPECT_EQ(result_of(planner, run)["failed_nodes"], (Json{"1"}));
  EXPECT_EQ(planner.events(run, "model_called").size(), 2U);
}

// --- faulty plans that models wrote ----------------------------------------------------------------------------------
// The first two texts are shortened from the answers of WorfBench and of GNN4TaskPlan's TaskBench runs (both MIT).
TEST(PlanDecomposer, plans_in_somebody_elses_form_are_refused_and_told_why) {
  const std::vector<std::string> texts = {
      "Node:\n1: Check the availability of the domain 'example.com'.\n2: Attempt to create a new short link.\nGraph:\n"
      "Edge: (START,1) (1,2) (2,END)",
      R"({"task_steps": ["Step 1: Use Object Detection", "Step 2: Use Image Editing"],
          "task_nodes": [{"task": "Object Detection", "arguments": ["example.jpg"]}],
          "task_links": [{"source": "Object Detection", "target": "Image Editing"}]})",
      R"([{"name": "a"}, {"name": "b"}])",
      "",
      "null",
      "{\"target_node_id\": \"1\", \"mode\": \"plan_bfs\", \"children\": [{\"name\": \"a\""};
  for (const std::string& text : texts) {
    const Json said = {{"reply", {{"role", "assistant"}, {"content", text}}}};
    PlannerRun planner(script({said, said}));
    const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}})));
    EXPECT_EQ(result_of(planner, run)["failed_nodes"], (Json{"1"})) << text;
    EXPECT_TRUE(has(planner.output(run)["feedback"]["en"], "because the LLM's reply could not be used")) << text;
  }
}

// The tool loop of a plan that CodeLlama wrote, with a link to no step and a step twice: as sub-tasks it can be done.
TEST(PlanDecomposer, a_plan_with_a_cycle_a_dangling_link_and_a_double_is_repaired) {
  PlannerRun planner(
      script({single("1", {child("Object Detection", true, {"1.3"}), child("Image Editing", true, {"1.1"}),
                           child("Object Detection", true, {"1.2"}),
                           child("Text Summarization", true, {"1.9", "<node-3>", "1.3"})})}));
  const RunId run = planner.run("plan_decomposer", input_for(plan_of({{"1"}}), "1"));
  const Json created = result_of(planner, run)["created_tasks"];
  ASSERT_EQ(created.size(), 4U);
  EXPECT_EQ(created[0]["dependencies"], (Json{"1.3"}));
  EXPECT_EQ(created[1]["dependencies"], (Json{"1.1"}));
  EXPECT_EQ(created[2]["dependencies"], Json::array()) << "it would close the circle";
  EXPECT_EQ(created[3]["dependencies"], (Json{"1.3"}));
  EXPECT_EQ(result_of(planner, run)["stats"]["dropped"], 3);
}

TEST(PlanDecomposer, a_model_that_never_comes_to_an_end_is_bounded) {
  PlannerRun planner(make_rule_model("echo", [](const ModelRequest& request) -> ModelAnswer {
    const Json data = Json::parse(request.messages.back()["content"].get<std::string>());
    ModelReply made;  // itself again, many times, each waiting for all others
    Json all = Json::array();
    for (int i = 0; i < 500; ++i) {
      Json others = Json::array();
      for (int other = 1; other <= 500; ++other)
        others.push_back(data["target_task"]["id"].get<std::string>() + "." + std::to_string(other));
      all.push_back(child(data["target_task"]["name"], false, std::move(others)));
    }
    made.value = reply(data["target_task"]["id"], std::move(all));
    return made;
  }));
  const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}}), {{"max_depth", 50}}));
  EXPECT_EQ(result_of(planner, run)["created_tasks"].size(), 50U);
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], "node_budget");
}

// --- settings --------------------------------------------------------------------------------------------------------
TEST(PlanDecomposer, settings_that_cannot_be_are_refused_with_a_sentence) {
  PlannerRun planner(script({}));
  const std::vector<std::pair<Json, std::string>> cases = {
      {{{"max_depth", -1}}, "Expected the setting max_depth to be a whole number from 0 to 50, but it is -1."},
      {{{"max_children", "six"}},
       "Expected the setting max_children to be a whole number from 1 to 100, but it is \"six\"."},
      {{{"stop_on_empty", 1}}, "Expected the setting stop_on_empty to be true or false, but it is 1."},
      {{{"stop_scope", "plan"}}, "Expected the setting stop_scope to be run or node, but it is \"plan\"."},
      {{{"retry_limit", 9}}, "Expected the setting retry_limit to be a whole number from 0 to 3, but it is 9."},
      {{{"max_dept", 3}}, "Expected settings of plan_decomposer, but there is none of the name max_dept."},
      {5, "Expected the options to be an object, but they are 5."}};
  for (const auto& [options, says] : cases) {
    const RunId run = planner.run("plan_decomposer", input(plan_of({{"1"}}), options));
    EXPECT_EQ(planner.state(run).status, RunStatus::failed);
    EXPECT_TRUE(has(planner.state(run).reason, says)) << planner.state(run).reason;
  }
}

TEST(PlanDecomposer, a_graph_may_set_other_defaults_and_a_run_others_again) {
  PlannerRun planner(generous(6));
  Json graph = Json::parse(planner.client().graphs().current("plan_decomposer")->text);
  graph["name"] = "small_steps";
  graph["nodes"]["load"]["with"] = {{"options", {{"max_children", 2}, {"max_depth", 1}}}};
  add_graph(planner, graph);
  const RunId run = planner.run("small_steps", input(plan_of({{"1"}})));
  EXPECT_EQ(result_of(planner, run)["created_tasks"].size(), 2U);
  const RunId wider = planner.run("small_steps", input(plan_of({{"1"}}), {{"max_children", 4}}));
  EXPECT_EQ(result_of(planner, wider)["created_tasks"].size(), 4U);
}

// --- without a model -------------------------------------------------------------------------------------------------
std::unique_ptr<Model> rules() { return make_rule_model(rule_book_name, decompose_by_rules); }

const std::string release = R"(# Release 2.0

Everything until the version is out.

## Freeze

1. Announce the date
2. Close the branch
   - Tell the teams
   - Protect it (after Tell the teams)

## Test (after Freeze)

- [x] Unit tests
- [ ] Load test (after: Unit tests)
- [ ] Ask [the pilots](https://example.org) **twice**

## Publish (depends on Test, Legal)

Nothing to take apart here.
)";

TEST(PlanDecomposerRules, S1_38_a_release_plan_in_markdown_becomes_a_tree_with_its_order) {
  PlannerRun planner(rules());
  const RunId run = planner.run("plan_decomposer", {{"outline", release}});
  const Json result = result_of(planner, run);
  EXPECT_EQ(planner.state(run).goal, "Release 2.0");
  EXPECT_EQ(below(planner.state(run), ""), (Names{"1", "2", "3"}));
  EXPECT_EQ(names_of(result["created_tasks"]),
            (Names{"Announce the date", "Close the branch", "Unit tests", "Load test", "Ask the pilots twice",
                   "Tell the teams", "Protect it"}));
  std::map<std::string, Names> after;
  const RunState state = planner.state(run);
  for (const SubGoal* goal : plan_of(state, root_branch)) {
    if (!goal->after.empty()) after[goal->title] = goal->after;
  }
  EXPECT_EQ(after, (std::map<std::string, Names>{{"Close the branch", {"1.1"}},
                                                 {"Test", {"1"}},
                                                 {"Load test", {"2.1"}},
                                                 {"Publish", {"2"}},
                                                 {"Protect it", {"1.2.1"}}}));
  EXPECT_EQ(result["processed_nodes"], (Json{"1", "2", "1.2"})) << "Publish has no parts and was never asked about";
  EXPECT_EQ(result["stopped_reason"], nullptr);
  EXPECT_EQ(result["created_tasks"][2]["context"]["combined"], "Ticked as done in the outline.");
  EXPECT_EQ(planner.events(run, "decision_rewritten").at(0)["from"]["after"], "Legal") << "a name that no task has";
  for (const Json& call : planner.events(run, "model_called")) EXPECT_EQ(call["model"], "rules");
  for (const Json& decision : planner.events(run, "decision_proposed")) EXPECT_EQ(decision["source"], "rule");
}

TEST(PlanDecomposerRules, S1_38_one_task_by_its_own_text) {
  PlannerRun planner(rules());
  Json plan = plan_of({{"1"}, {"2"}});
  plan["nodes"]["2"]["instruction"] = "What is left:\n- pack\n- label (after pack)\n- send (after label, Task 1)\n";
  const RunId run = planner.run("plan_decomposer", input_for(plan, "2"));
  const Json created = result_of(planner, run)["created_tasks"];
  EXPECT_EQ(names_of(created), (Names{"pack", "label", "send"}));
  EXPECT_EQ(created[2]["dependencies"], (Json{"2.2", "1"}))
      << "a sibling, and a task elsewhere in the plan by its name";
}

TEST(PlanDecomposerRules, what_has_no_parts_is_not_made_up) {
  PlannerRun planner(rules());
  const RunId run = planner.run("plan_decomposer", {{"goal", "Release version 2 of the library"}});
  EXPECT_EQ(result_of(planner, run)["created_tasks"], Json::array());
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], "empty_children");
  EXPECT_EQ(planner.events(run, "decision_proposed").at(0)["reason"],
            "The text of the task has neither headings nor a list.");
}

TEST(PlanDecomposerRules, a_list_longer_than_the_limit_says_what_was_left_out) {
  PlannerRun planner(rules());
  std::string outline = "# Shopping\n## Buy\n";
  for (int i = 0; i < 10; ++i) outline += "- thing " + std::to_string(i) + "\n";
  const RunId run = planner.run("plan_decomposer", {{"outline", outline}});
  EXPECT_EQ(planner.output(run)["feedback"]["en"],
            "Plan \"Shopping\": 6 sub-tasks created; 4 sub-tasks beyond the limits left out.");
}

TEST(PlanDecomposerRules, other_prompts_are_not_answered) {
  ModelRequest request;
  request.node = "guardrail";
  request.schema_name = "guardrail";
  ASSERT_TRUE(decompose_by_rules(request).failure);
  EXPECT_EQ(decompose_by_rules(request).failure->error, "refused");
}

}  // namespace
}  // namespace cairn
