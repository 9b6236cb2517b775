// The uses of the plan decomposer: on one task, by another graph, with settings, without a model; and its result.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/evolve.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/run_json.hpp"
#include "tests/paths.hpp"
#include "tests/workers/planners/plan_decomposer/plan_decomposer_trial.hpp"

namespace cairn::test::decomposing {
namespace {

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

// --- called by another graph -----------------------------------------------------------------------------------------
// A graph that owns a plan: it is created, decomposed by a child unless the input says otherwise, and merged. If the
// plan changed meanwhile, it is decomposed again, at most twice in all.
const Json owner_graph = Json::parse(R"({ "name": "owner", "start": "create", "limits": { "steps": 50 },
  "budgets": { "decompositions": { "cap": 2 } },
  "nodes": {
    "create": { "do": "plan.create", "with": {
        "plan": {"$": "draft", "default": null}, "auto_on_create": {"$": "auto_on_create", "default": null} },
      "on": { "decompose": "decompose", "created": "kept", "error": "refused" } },
    "decompose": { "call": "plan_decomposer", "with": {
        "plan": "$plan", "node_id": {"$": "node", "default": null}, "options": {"$": "options", "default": null} },
      "into": "decomposition", "spends": "decompositions",
      "on": { "done": "merge", "failed": "kept", "exhausted": "kept" } },
    "merge": { "do": "plan.merge", "with": { "decomposition": {"$": "decomposition", "default": null} },
      "on": { "merged": "kept", "conflict": "decompose" } },
    "kept": { "end": { "status": "done", "output": {
      "plan": "$plan", "decomposition": {"$": "decomposition", "default": null} } } },
    "refused": { "end": { "status": "failed", "reason": "No plan." } } } })");

// So that what the tests below prove of it holds for its copies, too.
TEST(PlanDecomposer, S1_03_the_page_of_plan_create_and_plan_merge_has_the_graph_that_is_tested_here) {
  std::ifstream file(std::filesystem::path(testing::source_dir()) / "workers/planners/plan_runner/README.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = page.find("{ \"name\": \"owner\"");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(Json::parse(page.substr(begin, page.find("```", begin) - begin)), owner_graph);
}

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
  const Json request_options = {{"temperature", 0}, {"reasoning_effort", "low"}};
  const RunId run =
      planner.start("owner", {{"draft", plan_of({{"1"}})},
                              {"messages", {{{"role", "user"}, {"content", marker}}}},
                              {"history", marker},
                              {"options", {{"model", "decomposer-small"}, {"options", request_options}}}});
  work_with_children(planner, run);
  ASSERT_FALSE(planner.model().requests.empty());
  for (const ModelRequest& request : planner.model().requests) {
    EXPECT_FALSE(has(request.messages.dump(), "Ernesto"));
    EXPECT_EQ(request.messages.size(), 2U) << "a conversation of its own";
    EXPECT_EQ(request.model, "decomposer-small");
    EXPECT_EQ(request.options, request_options);
  }
}

TEST(PlanDecomposer, a_task_that_became_a_leaf_is_one_in_the_callers_plan) {
  PlannerRun planner(script({reply("1", Json::array()), reply("2", {child("a", false)}), reply("2.1", Json::array())}));
  add_graph(planner, owner_graph);
  const RunId run = planner.start("owner", {{"draft", plan_of({{"1"}, {"2"}})}});
  work_with_children(planner, run);
  const Json nodes = planner.output(run)["plan"]["nodes"];
  EXPECT_EQ(nodes["1"]["leaf"], true);
  EXPECT_EQ(nodes["2"]["leaf"], false);
  EXPECT_EQ(nodes["2.1"]["leaf"], true);
  EXPECT_EQ(find_goal(planner.state(run), root_branch, "1")->context["leaf"], true);
}

// The decision on one command: all of its events and the runs it starts are one commit.
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
  const StepResult result = std::get<PureHandler>(create->run)(*step_input(state, state.steps.at(1), create));
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
std::unique_ptr<Model> rules() { return make_rule_model(rule_book_name, answer_decomposition_prompt); }

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
  EXPECT_EQ(result_of(planner, run)["stopped_reason"], nullptr);
  EXPECT_EQ(planner.output(run)["leaves"], (Json{"1"}));
  EXPECT_EQ(planner.events(run, "decision_proposed").at(0)["reason"],
            "The text of the task has neither headings nor a list.");
  PlannerRun strict(rules());
  const RunId stopped =
      strict.run("plan_decomposer", {{"goal", "Release version 2"}, {"options", {{"stop_on_empty", true}}}});
  EXPECT_EQ(result_of(strict, stopped)["stopped_reason"], "empty_children");
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
  ASSERT_TRUE(answer_decomposition_prompt(request).failure);
  EXPECT_EQ(answer_decomposition_prompt(request).failure->error, "refused");
}

}  // namespace
}  // namespace cairn::test::decomposing
