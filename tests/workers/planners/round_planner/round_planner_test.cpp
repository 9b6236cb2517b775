// Planning in rounds end to end: what the planner is asked, how its sub-goals are admitted, dispatched and joined.
// S4_nn in a name is the requirement that the test holds.
#include "engine/run_json.hpp"
#include "tests/workers/planners/round_planner/round_planner_trial.hpp"
#include "workers/ports/tools_file.hpp"

namespace cairn::test::rounds {
namespace {

// --- the graph -------------------------------------------------------------------------------------------------------
TEST(RoundPlanner, S4_01_has_the_nodes_and_edges_of_the_document) {
  Scripted scripted({});
  const GraphRef graph = scripted->client().graphs().current("round_planner");
  std::set<std::pair<std::string, std::string>> edges;
  for (const Node& node : graph->nodes)
    for (const auto& [label, targets] : node.on)
      for (const NodeIndex target : targets) {
        const Node& to = graph->node(target);
        edges.emplace(node.name, to.verb() == Verb::end ? "end" : to.name);
      }
  const std::set<std::pair<std::string, std::string>> expected = {
      {"understand_goal", "plan_round"}, {"plan_round", "dispatch"},      {"plan_round", "plan_round"},
      {"plan_round", "synthesize"},      {"plan_round", "end"},           {"dispatch", "join_reduce"},
      {"dispatch", "plan_round"},        {"join_reduce", "plan_round"},   {"synthesize", "end"},
      {"synthesize", "ask_back"},        {"ask_back", "understand_goal"}, {"ask_back", "end"}};
  EXPECT_EQ(edges, expected);
}

// --- what the planner is asked and says ------------------------------------------------------------------------------
TEST(RoundPlanner, S4_02_the_planner_sees_five_things_and_nothing_else) {
  Scripted scripted({understood, goes_on({goal("a", "give"), goal("b", "refuse")}), is_done({{"r", from("a", "v")}}),
                     answers("One.")});
  scripted.run();
  for (const std::size_t call : {0U, 1U}) {
    std::set<std::string> keys;
    const Json prompt = scripted.prompt("plan_round", call);
    for (const auto& [key, value] : prompt.items()) keys.insert(key);
    EXPECT_EQ(keys, (std::set<std::string>{"main_goal", "worker_registry", "completed_outputs", "failed_sub_goals",
                                           "round"}));
  }
  const Json second = scripted.prompt("plan_round", 1);
  EXPECT_EQ(second["round"], 2);
  EXPECT_EQ(second["completed_outputs"], Json::parse(R"({"a": {"v": "nothing"}})"));
  EXPECT_EQ(second["failed_sub_goals"][0]["id"], "b");
  EXPECT_EQ(second["failed_sub_goals"][0]["message"], "It is broken.");
  EXPECT_EQ(second["failed_sub_goals"][0]["attempts"], 1);
  EXPECT_TRUE(second["worker_registry"].contains("give"));
  EXPECT_EQ(second["main_goal"]["question"], "How many orders?");
}

TEST(RoundPlanner, ten_large_outputs_make_no_prompt_that_no_model_takes) {
  std::vector<Json> goals;
  Json named = Json::object();
  for (int n = 0; n < 10; ++n) {
    const std::string id = std::string(1, static_cast<char>('j' - n));  // the latest is the first by its name
    goals.push_back(goal(id, "give", {{"x", {{"number", n}, {"rows", Json::array_t(3'000, "a row of the data")}}}}));
    named["of " + id] = from(id, "v");
  }
  Scripted scripted({understood, goes_on(goals), is_done(named), answers("Ten.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->state(run).status, RunStatus::done) << scripted->state(run).reason;
  for (const auto& [node, call] : {std::pair{"plan_round", 1U}, std::pair{"synthesize", 0U}}) {
    SCOPED_TRACE(node);
    EXPECT_LT(canonical(scripted->model().of(node).at(call).messages).size(), 200U * 1024);
    const Json prompt = scripted.prompt(node, call);
    const auto shown = [&prompt, is_plan = call == 1](const std::string& id) {
      return is_plan ? prompt["completed_outputs"][id]["v"] : prompt["results"]["of " + id]["value"];
    };
    for (const Json& each : goals) {
      const Json value = shown(each["id"]);
      EXPECT_EQ(value["number"], each["inputs"]["x"]["number"]);
      EXPECT_GT(value["rows"].size(), 100U);
      EXPECT_EQ(value["rows"].size() + value["rows_left_out"].get<std::size_t>(), 3'000U);
    }
    EXPECT_GT(shown("a")["rows"].size(), 3 * shown("j")["rows"].size()) << "the latest is shown most";
  }
}

TEST(RoundPlanner, S4_03_a_reply_without_reasoning_is_a_format_error) {
  Scripted scripted(
      {understood, says("plan_round", {{"action", "failed"}}), gives_up("There is no way."), answers("Sorry.")});
  const RunId run = scripted.run();
  const std::vector<Json> failed = scripted->events(run, "step_failed");
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0]["node"], "plan_round");
  EXPECT_EQ(failed[0]["error"], "bad_reply");
  const ModelRequest again = scripted->model().of("plan_round").at(1);
  EXPECT_TRUE(has(again.messages[1]["content"], "reasoning")) << "the next attempt is told";
  EXPECT_EQ(scripted->state(run).reason, "There is no way.");
}

// --- rounds ----------------------------------------------------------------------------------------------------------
TEST(RoundPlanner, S4_04_and_S4_14_rounds_begin_and_end_in_turn_and_count_up_from_one) {
  Scripted scripted({understood, goes_on({goal("a", "give")}), goes_on({goal("b", "give", {{"x", 2}})}),
                     is_done({{"r", from("b", "v")}}), answers("Two.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->path(run), (Lines{"understand_goal", "plan_round", "dispatch", "join_reduce", "plan_round",
                                        "dispatch", "join_reduce", "plan_round", "synthesize"}));
  for (const std::size_t round : {0U, 1U, 2U}) EXPECT_EQ(scripted.prompt("plan_round", round)["round"], round + 1);
  EXPECT_EQ(scripted.prompt("plan_round", 1)["completed_outputs"].size(), 1U);
  EXPECT_EQ(scripted.prompt("plan_round", 2)["completed_outputs"].size(), 2U);
  EXPECT_EQ(scripted->output(run)["rounds"], 3);
}

TEST(RoundPlanner, S4_05_a_batch_is_in_the_queue_whole_and_may_run_on_as_many_workers) {
  Scripted scripted({understood,
                     goes_on({goal("a", "give"), goal("b", "give", {{"x", 2}}), goal("c", "give", {{"x", 3}})}),
                     is_done({{"r", from("c", "v")}}), answers("Three.")});
  const RunId run = scripted->start("round_planner", {{"question", "How many orders?"}});
  while (scripted->state(run).steps.size() < 4 && !is_ended(scripted->state(run).status))
    scripted->work_until(run, scripted->state(run).seq + 1);
  const RunState state = scripted->state(run);
  int jobs = 0;
  for (const auto& [id, step] : state.steps)
    if (step.goal >= 0 && job_of(state, step.branch)) ++jobs;
  EXPECT_EQ(jobs, 3);
  for (int session = 0; session < 3; ++session) scripted->work_until(run, scripted->state(run).seq + 1);
  std::set<Json> workers;
  for (const Json& closed : scripted->events(run, "sub_goal_closed")) workers.insert(closed["worker"]);
  EXPECT_EQ(workers.size(), 3U);
  scripted->work(run);
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
}

TEST(RoundPlanner, S4_10_a_reference_within_the_batch_is_waited_for_within_the_round) {
  Scripted scripted({understood,
                     goes_on({goal("late", "give", {{"x", from("early", "v")}}), goal("early", "give", {{"x", 7}})}),
                     is_done({{"r", from("late", "v")}}), answers("Seven.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.times(run, "dispatch"), 1);
  const std::vector<Json> closed = scripted->events(run, "sub_goal_closed");
  ASSERT_EQ(closed.size(), 2U);
  EXPECT_EQ(closed[0]["sub_goal"], "early");
  EXPECT_EQ(closed[1]["sub_goal"], "late");
  EXPECT_EQ(closed[1]["outputs"]["v"], 7);
}

TEST(RoundPlanner, S4_24_and_S4_25_sub_goals_and_reasoning_of_every_round_are_kept) {
  Scripted scripted({understood, goes_on({goal("a", "give")}, "First a."),
                     goes_on({goal("b", "give", {{"x", 2}})}, "Then b."), gives_up("Then nothing."),
                     answers("Sorry.")});
  const RunId run = scripted.run();
  const Json plan = state_json(scripted->state(run))["plan"];
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0]["id"], "a");
  EXPECT_EQ(plan[0]["title"], "round 1");
  EXPECT_EQ(plan[1]["title"], "round 2");
  EXPECT_EQ(scripted->channel(run, "planner_reasoning"), Json::parse(R"([
      {"round": 1, "action": "continue", "reasoning": "First a."},
      {"round": 2, "action": "continue", "reasoning": "Then b."},
      {"round": 3, "action": "failed", "reasoning": "Then nothing."}])"));
}

// --- preconditions ---------------------------------------------------------------------------------------------------
TEST(RoundPlanner, S4_06_preconditions_are_the_engines_whatever_the_model_says) {
  Dataset nowhere;
  const std::vector<std::pair<Json, std::string>> cases = {
      {goal("x", "es_query_exec"), "*.es_query"},
      {goal("x", "es_query_exec", {{"es_query", {{"language", "sql"}, {"text", "select 1"}}}}), "*.es_query"},
      {goal("x", "es_query_gen", {{"metadata_results", {{"tables", "made up"}}}}), "*.metadata_results"},
      {goal("x", "page_query", {{"page", {{"number", 1}}}}), "*.es_query"},
      {goal("x", "explain_metadata"), "*.metadata_results"},
      {goal("x", "show_results"), "*.es_results"},
      {goal("x", "analyze_results"), "*.es_results"}};
  for (const auto& [sub_goal, unmet] : cases) {
    Scripted scripted(
        {understood, goes_on({sub_goal, goal("good", "give")}), is_done({{"r", from("good", "v")}}), answers("Good.")},
        nine_tools(nowhere));
    const RunId run = scripted.run();
    const std::vector<Json> rejected = scripted->events(run, "sub_goal_rejected");
    ASSERT_EQ(rejected.size(), 1U) << sub_goal;
    EXPECT_EQ(rejected[0]["unmet"][0], unmet);
    const std::vector<Json> called = scripted->events(run, "tool_called");
    ASSERT_EQ(called.size(), 1U);
    EXPECT_EQ(called[0]["tool"], "give");
    EXPECT_EQ(scripted.prompt("plan_round", 1)["failed_sub_goals"][0]["error"], "rejected");
  }
}

TEST(RoundPlanner, S4_06_a_goal_without_references_leaves_nothing_to_look_up) {
  Dataset nowhere;
  Scripted scripted({says("understand_goal", {{"kind", "count"}, {"references", Json::array()}, {"reason", "Clear."}}),
                     goes_on({goal("x", "metadata_lookup", {{"references", {"orders"}}}), goal("good", "give")}),
                     gives_up("Enough."), answers("Sorry.")},
                    nine_tools(nowhere));
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->events(run, "sub_goal_rejected").at(0)["unmet"][0], "$main_goal/references");
}

TEST(RoundPlanner, S4_07_a_worker_that_is_registered_in_the_configuration_is_dispatched) {
  const Json file = Json::parse(R"({"tools": {
      "forecast": {"exec": ["/bin/sh", "-c", "cat > /dev/null; echo '{\"weather\": \"rain\"}'"],
                   "about": "Tells the weather.", "gives": ["weather"], "needs": ["city"], "queue": "weather"},
      "hidden": {"exec": ["/bin/true"]}}})");
  Scripted scripted(
      {understood, goes_on({goal("w", "forecast", {{"city", "Berlin"}}), goal("n", "forecast"), goal("h", "hidden")}),
       is_done({{"weather", from("w", "weather")}}), answers("It rains.")},
      parse_tools(file)->tools);
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
  EXPECT_EQ(scripted.prompt("plan_round")["worker_registry"]["forecast"],
            Json::parse(R"({"does": "Tells the weather.", "needs": ["city"], "gives": ["weather"]})"));
  EXPECT_EQ(scripted.prompt("synthesize")["results"]["weather"]["value"], "rain");
  EXPECT_EQ(scripted.reasons(run), (Lines{"n: Expected tool forecast to find city, but it is not there.",
                                          "h: Expected a worker of the registry, but hidden is none."}));
}

TEST(RoundPlanner, S4_08_judgements_are_facts_that_are_checked_like_data) {
  Dataset nowhere;
  Json with_fact = goes_on({goal("c", "clarify_question"), goal("h", "common_helpdesk")});
  with_fact["value"]["facts"] = {{"ambiguous", true}, {"common_question", false}};
  Scripted scripted({understood, goes_on({goal("c0", "clarify_question"), goal("g", "give")}), with_fact,
                     is_done({{"asks", from("c", "question")}}), answers("Which one?")},
                    nine_tools(nowhere));
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.reasons(run),
            (Lines{"c0: Expected tool clarify_question to find $facts/ambiguous, but it is not there.",
                   "h: Expected tool common_helpdesk to find $facts/common_question, but it is not there."}));
  EXPECT_EQ(scripted->output(run)["outcome"], "clarification");
  Scripted general(
      {says("understand_goal", {{"kind", "general"}, {"references", Json::array()}, {"reason", "A greeting."}}),
       goes_on({goal("h", "common_helpdesk")}), is_done({{"answer", from("h", "answer")}}), answers("Hello.")},
      nine_tools(nowhere));
  EXPECT_TRUE(general.reasons(general.run()).empty());
}

// --- references ------------------------------------------------------------------------------------------------------
TEST(RoundPlanner, S4_09_references_are_resolved_at_dispatch_and_kept_with_a_hash_of_what_they_were) {
  Scripted scripted({understood, goes_on({goal("a", "give", {{"x", {1, 2}}})}),
                     goes_on({goal("b", "give", {{"x", from("a", "v")}, {"y", 3}})}), is_done({{"r", from("b", "v")}}),
                     answers("One and two.")});
  const RunId run = scripted.run();
  const Json opened = scripted->events(run, "sub_goal_opened").at(1);
  EXPECT_EQ(opened["inputs"]["x"], from("a", "v")) << "the event keeps the reference";
  EXPECT_EQ(scripted->events(run, "sub_goal_closed").at(1)["outputs"]["v"], Json::parse("[1, 2]"));
  EXPECT_EQ(scripted->events(run, "tool_called").at(1)["inputs_hash"], hex(sha256(R"({"x":[1,2],"y":3})")));
}

TEST(RoundPlanner, S4_11_a_reference_to_no_sub_goal_is_rejected_and_the_rest_runs) {
  Scripted scripted({understood, goes_on({goal("bad", "give", {{"x", from("ghost", "v")}}), goal("good", "give")}),
                     is_done({{"r", from("good", "v")}}), answers("Good.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.reasons(run), (Lines{"bad: Expected ghost to be a sub-goal, but there is none of that id."}));
  EXPECT_EQ(scripted.calls.count("good"), 1);
}

TEST(RoundPlanner, S4_11_a_reference_to_a_slot_that_is_not_given_is_rejected_and_the_rest_runs) {
  Scripted scripted(
      {understood, goes_on({goal("good", "give"), goal("bad", "give", {{"x", from("good", "rows")}})}),
       goes_on({goal("late", "give", {{"x", from("good", "columns")}}), goal("fine", "give", {{"x", 1}})}),
       is_done({{"r", from("good", "v")}}), answers("Good.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.reasons(run), (Lines{"bad: Expected sub-goal good to give rows, but it does not.",
                                          "late: Expected sub-goal good to give columns, but it does not."}));
  EXPECT_EQ(scripted.calls.count("good") + scripted.calls.count("fine"), 2);
}

TEST(RoundPlanner, S4_11_a_cycle_is_rejected_and_the_rest_runs) {
  Scripted scripted({understood,
                     goes_on({goal("a", "give", {{"x", from("b", "v")}}), goal("b", "give", {{"x", from("a", "v")}}),
                              goal("good", "give")}),
                     is_done({{"r", from("good", "v")}}), answers("Good.")});
  const RunId run = scripted.run();
  ASSERT_EQ(scripted.reasons(run).size(), 2U);
  for (const std::string& reason : scripted.reasons(run)) EXPECT_TRUE(has(reason, "Expected no cycle")) << reason;
  EXPECT_EQ(scripted.calls.count("good"), 1);
}

TEST(RoundPlanner, S4_11_an_unknown_worker_is_rejected_and_the_rest_runs) {
  Scripted scripted(
      {understood,
       goes_on({goal("bad", "oracle"), goal("behind", "give", {{"x", from("bad", "v")}}), goal("good", "give")}),
       is_done({{"r", from("good", "v")}}), answers("Good.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.reasons(run),
            (Lines{"bad: Expected a worker of the registry, but oracle is none.",
                   "behind: Expected sub-goal bad to be part of the plan, but it was rejected."}));
  EXPECT_EQ(scripted.calls.count("good"), 1);
}

TEST(RoundPlanner, S4_11_a_double_id_is_rejected_and_the_rest_runs) {
  Scripted scripted({understood, goes_on({goal("good", "give", {{"x", 1}}), goal("good", "give", {{"x", 2}})}),
                     goes_on({goal("good", "give", {{"x", 3}}), goal("more", "give", {{"x", 4}})}),
                     is_done({{"r", from("good", "v")}}), answers("Good.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.reasons(run), (Lines{"good: Expected sub-goal good once, but its id is already taken.",
                                          "good: Expected sub-goal good once, but its id is already taken."}));
  EXPECT_EQ(scripted.calls.count("good"), 1);
  EXPECT_EQ(scripted.prompt("synthesize")["results"]["r"]["value"], 1);
}

// --- side by side ----------------------------------------------------------------------------------------------------
TEST(RoundPlanner, S4_12_the_join_waits_for_all_whether_they_succeed_or_fail) {
  ToolSpec slow = worker("slow", [](const ToolCall&) -> ToolAnswer { return Json{{"v", "at last"}}; });
  slow.facts.queue = "late";
  const auto failing = [](const ToolCall&) -> ToolAnswer { return Failure{"error", "No.", false, {}}; };
  Scripted scripted({understood, goes_on({goal("s", "slow"), goal("f", "failing")}), is_done({{"r", from("s", "v")}}),
                     answers("Slow.")},
                    {slow, worker("failing", failing)});
  const RunId run = scripted->start("round_planner", {{"question", "How many orders?"}});
  scripted->work_in(run, {"default"}, [&] { return scripted->events(run, "sub_goal_closed").size() == 1; });
  EXPECT_EQ(scripted->events(run, "sub_goal_closed").at(0)["sub_goal"], "f");
  EXPECT_EQ(scripted.times(run, "dispatch"), 0) << "it waits for the other";
  scripted->work(run);
  EXPECT_EQ(scripted.times(run, "join_reduce"), 1);
  EXPECT_EQ(scripted.prompt("plan_round", 1)["completed_outputs"]["s"]["v"], "at last");
  EXPECT_EQ(scripted.prompt("plan_round", 1)["failed_sub_goals"].size(), 1U);
}

// Holds calls back until all of a batch are there, then lets them end one after another in a given order.
class OrderedTools final : public Tools {
 public:
  explicit OrderedTools(std::vector<std::string> order) : order_(std::move(order)) {
    ToolFacts facts;
    facts.about = "A worker of the test.";
    table_["give"] = facts;
  }
  asio::awaitable<ToolAnswer> call(ToolCall call) override {
    ++arrived_;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (arrived_ < order_.size() || order_[ended_] != call.sub_goal) {
      timer.expires_after(std::chrono::milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
    }
    ++ended_;
    if (call.sub_goal == "b") co_return Failure{"error", "b always fails.", false, {}};
    co_return Json{{"v", call.sub_goal}};
  }
  const ToolTable& table() const override { return table_; }

 private:
  std::vector<std::string> order_;
  std::size_t arrived_ = 0;
  std::size_t ended_ = 0;
  ToolTable table_;
};

TEST(RoundPlanner, S4_13_what_is_joined_does_not_depend_on_who_finished_first) {
  std::vector<std::string> order = {"a", "b", "c", "d"};
  std::set<std::string> states;
  std::set<std::string> orders;
  do {
    const std::vector<Json> goals = {goal("a", "give", {{"x", 1}}), goal("b", "give", {{"x", 2}}),
                                     goal("c", "give", {{"x", 3}}), goal("d", "give", {{"x", 4}})};
    PlannerRun planner(script({understood, goes_on(goals), is_done({{"r", from("a", "v")}}), answers("Done.")}),
                       std::make_unique<OrderedTools>(order));
    const RunId run = planner.run("round_planner", {{"question", "How many orders?"}});
    Json channels = state_json(planner.state(run))["channels"];
    EXPECT_EQ(channels["completed_outputs"].size(), 3U);
    EXPECT_EQ(channels["failed_sub_goals"].size(), 1U);
    states.insert(canonical(channels));
    std::string closed;
    for (const Json& event : planner.events(run, "sub_goal_closed")) closed += event["sub_goal"].get<std::string>();
    orders.insert(closed);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_GE(orders.size(), 20U) << "on a busy machine two may be recorded the other way round";
  EXPECT_EQ(states.size(), 1U);
}

}  // namespace
}  // namespace cairn::test::rounds
