// Planning in rounds end to end: its real graph, with scripted replies or the rule book in a model's place, and tools
// of the test's own or the nine over the sample data.
#include <boost/asio.hpp>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/job.hpp"
#include "storage/chain.hpp"
#include "storage/data/dataset.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/planners/round_planner/rules.hpp"
#include "workers/planners/seven_node/rules.hpp"
#include "workers/ports/models.hpp"
#include "workers/ports/tools.hpp"
#include "workers/tools/data/tools.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using test::PlannerRun;
using Lines = std::vector<std::string>;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// --- replies ---------------------------------------------------------------------------------------------------------
Json says(const std::string& node, Json value) { return {{"node", node}, {"value", std::move(value)}}; }
Json fails(const std::string& node, bool retryable = false) {
  return {{"node", node},
          {"error", {{"error", "refused"}, {"message", "The model is out."}, {"retryable", retryable}}}};
}

const Json understood = says("understand_goal", {{"kind", "count"}, {"references", {"orders"}}, {"reason", "Clear."}});

Json goal(const std::string& id, const std::string& worker, Json inputs = Json::object()) {
  return {{"id", id}, {"worker", worker}, {"inputs", std::move(inputs)}};
}
Json from(const std::string& id, const std::string& slot) { return {{"from_sub_goal", id}, {"slot", slot}}; }
Json goes_on(const std::vector<Json>& goals, const std::string& why = "More is needed.") {
  return says("plan_round", {{"action", "continue"}, {"reasoning", why}, {"sub_goals", goals}});
}
Json is_done(Json inputs) {
  return says("plan_round",
              {{"action", "done"}, {"reasoning", "It is all there."}, {"synthesis_inputs", std::move(inputs)}});
}
Json gives_up(const std::string& why) { return says("plan_round", {{"action", "failed"}, {"reasoning", why}}); }
Json answers(const std::string& text) { return says("synthesize", {{"answer", text}}); }

std::unique_ptr<Model> script(const std::vector<Json>& replies) { return make_scripted_model({{"replies", replies}}); }
std::unique_ptr<Model> rules() {
  return make_rule_model(rule_book_name, [](const ModelRequest& request) { return answer_round_prompt(request); });
}

// --- tools -----------------------------------------------------------------------------------------------------------
ToolSpec worker(const std::string& name, NativeTool does, std::vector<std::string> gives = {}) {
  ToolSpec spec;
  spec.name = name;
  spec.does = std::move(does);
  spec.facts.about = "A worker of the test.";
  spec.facts.gives = std::move(gives);
  return spec;
}

// Calls by tool, counted from whatever thread.
class Calls {
 public:
  int count(const std::string& tool) {
    const std::lock_guard lock(mutex_);
    return counts_[tool];
  }
  void add(const std::string& tool) {
    const std::lock_guard lock(mutex_);
    ++counts_[tool];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> counts_;
};

// `give` leaves its input x as v; `doubt` does so with a tone; `refuse` always fails.
std::vector<ToolSpec> small_workers(Calls& calls) {
  const auto give = [&calls](const ToolCall& call) -> ToolAnswer {
    calls.add(call.sub_goal);
    return Json{{"v", call.inputs.value("x", Json("nothing"))}};
  };
  const auto doubt = [](const ToolCall&) -> ToolAnswer { return Json{{"v", 1}, {"tone", "uncertain"}}; };
  const auto refuse = [&calls](const ToolCall& call) -> ToolAnswer {
    calls.add(call.sub_goal);
    return Failure{"error", "It is broken.", false, {}};
  };
  return {worker("give", give, {"v"}), worker("doubt", doubt, {"v", "tone"}), worker("refuse", refuse, {"v"})};
}

struct Scripted {
  explicit Scripted(const std::vector<Json>& replies, const std::vector<ToolSpec>& more = {}) {
    std::vector<ToolSpec> specs = small_workers(calls);
    specs.insert(specs.end(), more.begin(), more.end());
    planner = std::make_unique<PlannerRun>(script(replies), make_tools(std::move(specs), 4));
  }
  RunId run(Json input = {{"question", "How many orders?"}}) { return planner->run("round_planner", std::move(input)); }
  PlannerRun* operator->() { return planner.get(); }

  // The data of the n-th prompt of a node.
  Json prompt(const std::string& node, std::size_t n = 0) {
    return Json::parse(planner->model().of(node).at(n).messages.back()["content"].get<std::string>());
  }
  std::vector<std::string> reasons(const RunId& of) {
    std::vector<std::string> found;
    for (const Json& event : planner->events(of, "sub_goal_rejected"))
      found.push_back(event["sub_goal"].get<std::string>() + ": " + event["reason"].get<std::string>());
    return found;
  }
  std::int64_t times(const RunId& of, const std::string& node) {
    const std::vector<std::string> path = planner->path(of);
    return std::count(path.begin(), path.end(), node);
  }

  Calls calls;
  std::unique_ptr<PlannerRun> planner;
};

// The nine tools over the sample.
const Dataset& sample() {
  static const Dataset dataset = [] {
    Dataset made;
    made.dsn = made.load_dsn = test::new_database(1);
    made.login = sample_login;
    return made;
  }();
  return dataset;
}

std::vector<ToolSpec> nine_tools(const Dataset& dataset) { return data_tools(dataset, **find_query_language("sql")); }
std::unique_ptr<Tools> nine() { return make_tools(nine_tools(sample()), 4); }

Json ask_rules(PlannerRun& planner, const std::string& question) {
  const RunId run = planner.run("round_planner", {{"question", question}});
  Json output = planner.output(run);
  output["run_status"] = to_string(planner.state(run).status);
  return output;
}
Json ask_rules(const std::string& question) {
  PlannerRun planner(rules(), nine());
  return ask_rules(planner, question);
}

// --- the graph -------------------------------------------------------------------------------------------------------
TEST(RoundPlanner, S4_01_has_the_nodes_and_edges_of_the_document) {
  Scripted scripted({});
  const GraphRef graph = scripted->client().graphs().current("round_planner");
  std::set<std::pair<std::string, std::string>> edges;
  for (const Node& node : graph->nodes)
    for (const auto& [label, targets] : node.on)
      for (const NodeIndex target : targets) {
        const Node& to = graph->nodes[static_cast<std::size_t>(target)];
        edges.emplace(node.name, to.verb == Verb::end ? "end" : to.name);
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
      *parse_tools(file));
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
  EXPECT_EQ(orders.size(), 24U) << "every order was seen";
  EXPECT_EQ(states.size(), 1U);
}

// --- the end ---------------------------------------------------------------------------------------------------------
TEST(RoundPlanner, S4_15_done_that_names_nothing_is_repaired_once) {
  Scripted scripted({understood, goes_on({goal("a", "give", {{"x", 5}})}), is_done({{"r", from("a", "rows")}}),
                     is_done({{"r", from("a", "v")}}), answers("Five.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
  const std::vector<Json> rewritten = scripted->events(run, "decision_rewritten");
  ASSERT_EQ(rewritten.size(), 1U);
  EXPECT_EQ(rewritten[0]["rule"], "synthesis_inputs");
  EXPECT_TRUE(has(scripted->model().of("plan_round").at(2).messages[1]["content"], "sub-goal a left no rows"));
}

TEST(RoundPlanner, S4_15_done_that_names_nothing_twice_has_failed) {
  for (const Json& inputs : {Json::object(), Json{{"r", from("ghost", "v")}}, Json{{"r", from("f", "v")}}}) {
    Scripted scripted({understood, goes_on({goal("a", "give"), goal("f", "refuse")}), is_done(inputs), is_done(inputs),
                       is_done({{"r", from("a", "v")}}), answers("Sorry.")});
    const RunId run = scripted.run();
    EXPECT_EQ(scripted->state(run).status, RunStatus::failed) << inputs;
    EXPECT_TRUE(has(scripted->state(run).reason, "synthesis_inputs: Expected")) << scripted->state(run).reason;
    EXPECT_EQ(scripted->model().of("plan_round").size(), 3U) << "one round, one done, one repair";
  }
}

TEST(RoundPlanner, S4_16_done_hands_resolved_inputs_to_the_synthesizer_and_ends) {
  Scripted scripted({understood, goes_on({goal("a", "give", {{"x", 5}})}), is_done({{"count", from("a", "v")}}),
                     answers("Five orders.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.prompt("synthesize")["results"], Json::parse(R"({"count": {"value": 5}})"));
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
  EXPECT_EQ(scripted->output(run)["answer"], "Five orders.");
  EXPECT_EQ(scripted->output(run)["status"], "done");
  EXPECT_EQ(scripted->path(run).back(), "synthesize");
}

TEST(RoundPlanner, S4_17_failed_keeps_its_reason) {
  Scripted scripted(
      {understood, gives_up("Entity 'XYZ Corp' could not be resolved after 2 retries"), answers("Sorry.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->state(run).status, RunStatus::failed);
  EXPECT_EQ(scripted->state(run).reason, "Entity 'XYZ Corp' could not be resolved after 2 retries");
  EXPECT_EQ(scripted->channel(run, "planner_reasoning").back()["reasoning"], scripted->state(run).reason);
  EXPECT_EQ(scripted->channel(run, "status"), "failed");
}

TEST(RoundPlanner, S4_18_failed_is_explained_with_partial_results_or_ends_at_once) {
  Json wanted = goal("a", "give", {{"x", 5}});
  wanted["deliverable"] = true;
  const std::vector<Json> replies = {understood, goes_on({wanted}), gives_up("The rest is nowhere."),
                                     answers("Five, and no more.")};
  Scripted explained(replies);
  const RunId first = explained.run();
  EXPECT_EQ(explained->state(first).status, RunStatus::failed);
  EXPECT_EQ(explained->output(first)["answer"], "Five, and no more.");
  EXPECT_EQ(explained.prompt("synthesize")["results"]["v"]["value"], 5);
  EXPECT_EQ(explained.prompt("synthesize")["reason"], "The rest is nowhere.");
  Scripted at_once(replies);
  const RunId second = at_once.run({{"question", "How many orders?"}, {"on_failed", "end"}});
  EXPECT_EQ(at_once->state(second).status, RunStatus::failed);
  EXPECT_EQ(at_once->state(second).reason, "The rest is nowhere.");
  EXPECT_TRUE(at_once->model().of("synthesize").empty());
  EXPECT_EQ(at_once->output(second)["completed_outputs"]["a"]["v"], 5);
}

std::vector<Json> endless(int rounds) {
  std::vector<Json> replies = {understood, answers("Sorry.")};
  for (int round = 0; round < rounds; ++round)
    replies.push_back(goes_on({goal("g" + std::to_string(round), "give", {{"x", round}})}));
  return replies;
}

TEST(RoundPlanner, S4_19_after_ten_rounds_nothing_is_dispatched) {
  Scripted scripted(endless(30));
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.times(run, "join_reduce"), 10);
  const std::vector<Json> exhausted = scripted->events(run, "budget_exhausted");
  ASSERT_EQ(exhausted.size(), 1U);
  EXPECT_EQ(exhausted[0]["name"], "rounds");
  EXPECT_EQ(exhausted[0]["cap"], 10);
  EXPECT_EQ(scripted->events(run, "tool_called").size(), 10U);
  EXPECT_EQ(scripted->state(run).status, RunStatus::failed);
  EXPECT_TRUE(has(scripted->state(run).reason, "max_rounds"));
  EXPECT_EQ(scripted->channel(run, "status"), "failed");
}

TEST(RoundPlanner, S4_19_the_count_of_rounds_lives_in_the_log_whoever_goes_on) {
  Scripted scripted(endless(30));
  const RunId run = scripted->start("round_planner", {{"question", "How many orders?"}});
  int sessions = 0;
  for (; !is_ended(scripted->state(run).status) && sessions < 400; ++sessions)
    scripted->work_until(run, scripted->state(run).seq + 1);
  EXPECT_GT(sessions, 30);
  EXPECT_EQ(scripted.times(run, "join_reduce"), 10);
  EXPECT_EQ(scripted->events(run, "budget_exhausted").size(), 1U);
}

// --- failures of sub-goals -------------------------------------------------------------------------------------------
Json retry(const std::string& id, const std::string& of, const std::string& worker_name = "refuse") {
  Json again = goal(id, worker_name, {{"try", id}});
  again["retry_of"] = of;
  return again;
}

TEST(RoundPlanner, S4_20_a_failing_sub_goal_is_the_planners_to_retry_under_a_new_id) {
  Scripted scripted({understood, goes_on({goal("sb1", "refuse")}), goes_on({retry("sb2", "sb1", "give")}),
                     is_done({{"r", from("sb2", "v")}}), answers("At last.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.prompt("plan_round", 1)["failed_sub_goals"][0]["id"], "sb1");
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
  EXPECT_EQ(scripted->output(run)["outcome"], "answered") << "what a retry made good is not missing";
  EXPECT_EQ(state_json(scripted->state(run))["plan"][1]["title"], "round 2, retry of sb1");
}

TEST(RoundPlanner, S4_21_a_third_retry_is_rejected) {
  Scripted scripted({understood, goes_on({goal("sb1", "refuse")}), goes_on({retry("sb2", "sb1")}),
                     goes_on({retry("sb3", "sb2")}), goes_on({retry("sb4", "sb3"), goal("other", "give")}),
                     gives_up("It stays broken."), answers("Sorry.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.reasons(run),
            (Lines{"sb4: Expected at most 2 retries of sub-goal sb1, but this would be another."}));
  EXPECT_EQ(scripted.calls.count("sb1") + scripted.calls.count("sb2") + scripted.calls.count("sb3"), 3);
  EXPECT_EQ(scripted.calls.count("sb4"), 0);
  EXPECT_EQ(scripted.calls.count("other"), 1);
}

TEST(RoundPlanner, S4_21_the_same_work_under_another_name_is_a_retry_too) {
  std::vector<Json> replies = {understood, answers("Sorry.")};
  for (const char* id : {"sb1", "sb2", "sb3", "sb4"}) replies.push_back(goes_on({goal(id, "refuse")}));
  replies.push_back(gives_up("It stays broken."));
  Scripted scripted(replies);
  const RunId run = scripted.run();
  ASSERT_EQ(scripted.reasons(run).size(), 1U);
  EXPECT_TRUE(has(scripted.reasons(run)[0], "sb4: Expected at most 2 retries")) << scripted.reasons(run)[0];
}

TEST(RoundPlanner, S4_21_what_did_not_fail_cannot_be_retried) {
  Scripted scripted({understood, goes_on({goal("a", "give"), retry("b", "a"), retry("c", "ghost")}),
                     is_done({{"r", from("a", "v")}}), answers("Good.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.reasons(run), (Lines{"b: Expected to retry a sub-goal that failed, but a is none.",
                                          "c: Expected to retry a sub-goal that failed, but ghost is none."}));
}

TEST(RoundPlanner, S4_22_partial_success_is_done_and_the_answer_names_the_missing_part) {
  Scripted scripted({understood, goes_on({goal("a", "give", {{"x", 5}}), goal("b", "refuse")}),
                     is_done({{"r", from("a", "v")}}), answers("Five.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
  const Json output = scripted->output(run);
  EXPECT_EQ(output["outcome"], "partial");
  EXPECT_EQ(output["missing"][0]["id"], "b");
  EXPECT_TRUE(has(output["answer"], "Five.") && has(output["answer"], "refuse") &&
              has(output["answer"], "It is broken"))
      << output["answer"];
  EXPECT_EQ(scripted.prompt("synthesize")["missing"][0]["worker"], "refuse");
}

TEST(RoundPlanner, S4_23_the_status_is_executing_done_or_failed_and_only_the_planner_sets_it) {
  for (const bool succeeds : {true, false}) {
    Scripted scripted({understood, goes_on({goal("a", "give")}),
                       succeeds ? is_done({{"r", from("a", "v")}}) : gives_up("No."), answers("It is so.")});
    const RunId run = scripted.run();
    Lines statuses;
    for (const Json& event : scripted->events(run, "step_succeeded")) {
      if (!event["patch"].contains("status")) continue;
      EXPECT_EQ(event["node"], "plan_round");
      statuses.push_back(event["patch"]["status"]);
    }
    EXPECT_EQ(statuses, (Lines{"executing", succeeds ? "done" : "failed"}));
  }
}

TEST(RoundPlanner, S4_26_a_tone_reaches_the_planner_and_the_synthesizer) {
  Scripted scripted(
      {understood, goes_on({goal("a", "doubt")}), is_done({{"r", from("a", "v")}}), answers("One, perhaps.")});
  scripted.run();
  EXPECT_EQ(scripted.prompt("plan_round", 1)["completed_outputs"]["a"]["tone"], "uncertain");
  EXPECT_EQ(scripted.prompt("synthesize")["results"]["r"]["tone"], "uncertain");
}

TEST(RoundPlanner, S4_27_a_clarification_ends_the_run_with_a_question_and_asks_nobody) {
  PlannerRun planner(rules(), nine());
  const RunId run = planner.run("round_planner", {{"question", "What about Berlin?"}});
  EXPECT_EQ(planner.state(run).status, RunStatus::done);
  EXPECT_EQ(planner.output(run)["outcome"], "clarification");
  EXPECT_TRUE(has(planner.output(run)["answer"], "?"));
  EXPECT_TRUE(planner.events(run, "question_asked").empty());
}

TEST(RoundPlanner, S4_27_with_the_option_the_run_waits_for_the_answer_and_goes_on) {
  PlannerRun planner(rules(), nine());
  const RunId run = planner.run("round_planner", {{"question", "What about Berlin?"}, {"clarify", "ask"}});
  ASSERT_EQ(planner.events(run, "question_asked").size(), 1U);
  EXPECT_EQ(planner.state(run).status, RunStatus::running);
  const Answer answer{"", "How many orders were there in Berlin?", "person", {}};
  ASSERT_TRUE(planner.client().command(run, answer).ok());
  planner.work(run);
  EXPECT_EQ(planner.output(run)["outcome"], "answered") << planner.output(run);
  EXPECT_TRUE(has(planner.output(run)["answer"], "shops.city is Berlin: 99.")) << planner.output(run)["answer"];
}

// --- rounds that lead nowhere ----------------------------------------------------------------------------------------
TEST(RoundPlanner, S4_28_a_round_without_a_valid_sub_goal_is_repaired_once) {
  const std::vector<std::vector<Json>> fruitless = {
      {}, {goal("x", "oracle")}, {goal("x", "give", {{"x", from("ghost", "v")}})}};
  for (const std::vector<Json>& goals : fruitless) {
    Scripted mended(
        {understood, goes_on(goals), goes_on({goal("a", "give")}), is_done({{"r", from("a", "v")}}), answers("Good.")});
    const RunId good = mended.run();
    EXPECT_EQ(mended->state(good).status, RunStatus::done);
    EXPECT_TRUE(has(mended->model().of("plan_round").at(1).messages[1]["content"],
                    "Expected a sub-goal that can be dispatched"));
    Scripted stuck({understood, goes_on(goals), goes_on(goals), goes_on({goal("a", "give")}), answers("Sorry.")});
    const RunId bad = stuck.run();
    EXPECT_EQ(stuck->state(bad).status, RunStatus::failed);
    EXPECT_TRUE(has(stuck->state(bad).reason, "no_progress")) << stuck->state(bad).reason;
    EXPECT_EQ(stuck->model().of("plan_round").size(), 2U);
    EXPECT_EQ(stuck->channel(bad, "planner_reasoning").back()["action"], "failed");
  }
}

TEST(RoundPlanner, S4_28_a_repair_is_forgotten_once_there_was_progress) {
  Scripted scripted({understood, goes_on({}), goes_on({goal("a", "give")}), goes_on({}),
                     goes_on({goal("b", "give", {{"x", 2}})}), is_done({{"r", from("b", "v")}}), answers("Good.")});
  EXPECT_EQ(scripted->state(scripted.run()).status, RunStatus::done);
}

TEST(RoundPlanner, S4_29_the_same_work_is_not_done_twice) {
  Scripted scripted({understood, goes_on({goal("a", "give", {{"x", 5}})}),
                     goes_on({goal("b", "give", {{"x", from("a", "v")}}), goal("c", "give", {{"x", 6}})}),
                     is_done({{"r", from("b", "v")}}), answers("Five.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.calls.count("a"), 1);
  EXPECT_EQ(scripted.calls.count("b"), 0) << "its resolved inputs are those of a";
  EXPECT_EQ(scripted.calls.count("c"), 1);
  for (const Json& closed : scripted->events(run, "sub_goal_closed"))
    EXPECT_EQ(closed.value("reused_from", ""), closed["sub_goal"] == "b" ? "a" : "") << closed;
  EXPECT_EQ(scripted.prompt("synthesize")["results"]["r"]["value"], 5);
}

TEST(RoundPlanner, S4_30_a_model_that_fails_is_asked_again_and_then_the_run_has_failed) {
  const Json out = fails("plan_round", true);
  Scripted recovers({understood, out, out, gives_up("There is no way."), answers("Sorry.")});
  EXPECT_EQ(recovers->state(recovers.run()).reason, "There is no way.");
  Scripted scripted({understood, goes_on({goal("a", "give")}), out, out, out, answers("Never asked.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->state(run).status, RunStatus::failed);
  EXPECT_EQ(scripted->state(run).reason, "The step plan_round failed: The model is out.");
  EXPECT_EQ(scripted->events(run, "step_failed").size(), 3U);
  EXPECT_EQ(scripted->channel(run, "status"), "failed");
  EXPECT_TRUE(has(scripted->output(run)["answer"], "I am sorry"));
  EXPECT_TRUE(scripted->model().of("synthesize").empty()) << "the model is not asked to apologise for the model";
}

TEST(RoundPlanner, S4_30_a_goal_that_is_not_understood_fails_in_the_same_way) {
  Scripted scripted(std::vector<Json>{fails("understand_goal")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->state(run).reason, "The step understand_goal failed: The model is out.");
  Scripted no_question({});
  EXPECT_TRUE(
      has(no_question->state(no_question.run(Json::object())).reason, "Expected the input {\"question\": TEXT}"));
}

TEST(RoundPlanner, S4_31_what_had_finished_when_the_worker_died_is_not_run_again) {
  Scripted scripted({understood,
                     goes_on({goal("a", "give"), goal("b", "give", {{"x", 2}}), goal("c", "give", {{"x", 3}})}),
                     is_done({{"r", from("c", "v")}}), answers("Three.")});
  const RunId run = scripted->start("round_planner", {{"question", "How many orders?"}});
  while (scripted->events(run, "sub_goal_closed").size() < 2) scripted->work_until(run, scripted->state(run).seq + 1);
  EXPECT_EQ(scripted->events(run, "sub_goal_closed").size(), 2U);
  scripted->work(run);
  for (const char* id : {"a", "b", "c"}) EXPECT_EQ(scripted.calls.count(id), 1) << id;
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
}

TEST(RoundPlanner, S4_32_a_pool_of_workers_runs_only_what_is_queued_for_it) {
  PlannerRun planner(rules(), nine());
  const RunId run = planner.start("round_planner", {{"question", "How many orders were there in Berlin?"}});
  const auto closed = [&] { return planner.events(run, "sub_goal_closed").size(); };
  planner.work_in(run, {"default", "data"}, [&] { return closed() == 1 && planner.state(run).steps.size() == 2; });
  planner.work_in(run, {"es"}, [&] { return closed() >= 3; });
  std::map<std::string, std::set<Json>> sessions;  // by queue
  std::map<std::string, std::string> queue_of;
  for (const Json& opened : planner.events(run, "sub_goal_opened")) queue_of[opened["sub_goal"]] = opened["queue"];
  for (const Json& event : planner.events(run, "sub_goal_closed"))
    sessions[queue_of[event["sub_goal"]]].insert(event["worker"]);
  EXPECT_EQ(closed(), 3U) << "the pool es ran what is for it and left the rest";
  EXPECT_EQ(queue_of,
            (std::map<std::string, std::string>{{"sb1", "data"}, {"sb2", "es"}, {"sb3", "es"}, {"sb4", "data"}}));
  EXPECT_EQ(sessions["es"].size(), 1U);
  EXPECT_NE(sessions["es"], sessions["data"]);
  planner.work(run);
  EXPECT_EQ(planner.state(run).status, RunStatus::done);
}

// --- the nine tools over the sample, by rules ------------------------------------------------------------------------
std::string asked_of_database(const std::string& sql) { return test::ask_text(*sample().dsn, sql); }

TEST(RoundPlanner, rules_count_what_was_asked_for) {
  const Json output = ask_rules("How many orders were there in Berlin in March?");
  const std::string expected = asked_of_database(
      "select count(*)::text from sample_shop.orders join sample_shop.shops using (shop_id) where city = 'Berlin' and "
      "extract(month from ordered_on) = 3");
  EXPECT_EQ(output["outcome"], "answered") << output;
  EXPECT_TRUE(has(output["answer"], ": " + expected + ".")) << output["answer"];
  EXPECT_TRUE(has(output["answer"], "rule book")) << output["answer"];
  EXPECT_EQ(output["rounds"], 3);
}

TEST(RoundPlanner, rules_find_what_is_best) {
  const Json output = ask_rules("Which product sold best?");
  const std::string expected = asked_of_database(
      "select p.name || '  ' || sum(quantity) from sample_shop.orders join sample_shop.products p using (product_id) "
      "group by "
      "p.name order by sum(quantity) desc limit 1");
  EXPECT_TRUE(has(output["answer"], expected)) << output["answer"] << expected;
}

TEST(RoundPlanner, rules_list_the_largest) {
  const Json output = ask_rules("Show the ten largest orders");
  const std::string answer = output["answer"];
  const std::string largest = asked_of_database("select max(net_amount)::float8::text from sample_shop.orders");
  EXPECT_TRUE(has(answer, largest)) << answer << largest;
  EXPECT_EQ(std::count(answer.begin(), answer.end(), '\n'), 13) << answer;
}

TEST(RoundPlanner, rules_say_what_a_column_means) {
  const Json output = ask_rules("What does the column net_price mean?");
  EXPECT_TRUE(has(output["answer"], "without value added tax")) << output["answer"];
  EXPECT_TRUE(has(output["answer"], "numeric(8,2)")) << output["answer"];
}

TEST(RoundPlanner, rules_find_where_sales_fell_and_doubt_why) {
  const Json output = ask_rules("Why did sales fall in May?");
  const std::string answer = output["answer"];
  EXPECT_TRUE(has(answer, "against the month before: it fell by ")) << answer;
  EXPECT_TRUE(has(answer, "products.name Touring Saddle: from 1512 to 0")) << answer;
  EXPECT_TRUE(has(answer, "not certain")) << "the tone of the analysis: " << answer;
}

TEST(RoundPlanner, rules_give_one_page_of_many_rows) {
  const Json output = ask_rules("Show the orders in Hamburg, page 2");
  EXPECT_TRUE(has(output["answer"], "Page 2, with 20 rows")) << output["answer"];
  const std::string row = asked_of_database(
      "select order_id::text from sample_shop.orders join sample_shop.shops using (shop_id) where city = 'Hamburg' "
      "order by order_id "
      "offset 20 limit 1");
  EXPECT_TRUE(has(output["answer"], row)) << output["answer"];
}

TEST(RoundPlanner, rules_send_common_questions_to_the_helpdesk) {
  for (const char* question : {"Hello!", "What can you do?"}) {
    const Json output = ask_rules(question);
    EXPECT_TRUE(has(output["answer"], "I answer questions on the data")) << output["answer"];
    EXPECT_EQ(output["rounds"], 2);
  }
}

TEST(RoundPlanner, rules_ask_back_what_a_name_they_do_not_find_means) {
  const Json output = ask_rules("How many orders were there in Springfield?");
  EXPECT_EQ(output["outcome"], "clarification");
  EXPECT_TRUE(has(output["answer"], "nothing called Springfield")) << output["answer"];
}

TEST(RoundPlanner, rules_say_that_nothing_was_found) {
  const Json output = ask_rules("How many unicorns were there?");
  EXPECT_EQ(output["run_status"], "failed");
  EXPECT_TRUE(has(output["answer"], "unicorns")) << output["answer"];
}

TEST(RoundPlanner, rules_retry_what_may_pass_and_give_up_after_two_retries) {
  Dataset unreachable;
  unreachable.dsn = "host=/nowhere";
  PlannerRun planner(rules(), make_tools(nine_tools(unreachable), 2));
  const Json output = ask_rules(planner, "How many orders were there?");
  EXPECT_EQ(output["run_status"], "failed");
  EXPECT_TRUE(has(output["answer"], "after 2 retries")) << output["answer"];
}

// A query that a model drafted reaches the database through the same bounds.
TEST(RoundPlanner, a_drafted_query_that_would_write_fails_and_changes_nothing) {
  const std::string before = asked_of_database("select count(*)::text from sample_shop.orders");
  for (const char* draft : {"drop table orders", "select 1; delete from orders", "select pg_read_file('/etc/passwd')",
                            "select * from cairn.run"}) {
    Scripted scripted(
        {understood, goes_on({goal("m", "metadata_lookup")}),
         goes_on({goal("g", "es_query_gen", {{"metadata_results", from("m", "metadata_results")}, {"draft", draft}}),
                  goal("x", "es_query_exec", {{"es_query", from("g", "es_query")}}),
                  goal("s", "show_results", {{"es_results", from("x", "es_results")}})}),
         gives_up("The query was refused."), answers("Sorry.")},
        nine_tools(sample()));
    const RunId run = scripted.run();
    const Json plan = state_json(scripted->state(run))["plan"];
    EXPECT_EQ(plan[2]["status"], "failed") << draft;
    EXPECT_EQ(plan[3]["status"], "skipped") << draft;
  }
  EXPECT_EQ(asked_of_database("select count(*)::text from sample_shop.orders"), before);
}

// --- over HTTP -------------------------------------------------------------------------------------------------------
using testing::LoopbackServer;

// A chat-completions endpoint behind which the rule book sits.
LoopbackServer::Reply rules_over_http(const LoopbackServer::Request& http) {
  const Json body = Json::parse(http.body());
  ModelRequest request;
  request.messages = body["messages"];
  request.schema_name = body["response_format"]["json_schema"]["name"];
  const ModelAnswer answer = answer_round_prompt(request);
  const Json reply = {{"model", "loopback"},
                      {"choices", {{{"message", answer.reply.message}, {"finish_reason", "stop"}}}},
                      {"usage", {{"prompt_tokens", 100}, {"completion_tokens", 10}}}};
  return {200, reply.dump()};
}

Json ask_over_http(LoopbackServer::Answers serve, std::string* reason = nullptr) {
  const LoopbackServer server(std::move(serve));
  ModelEndpoint endpoint;
  endpoint.url = server.url("/v1");
  endpoint.model = "loopback";
  endpoint.timeout_ms = 400;
  PlannerRun planner(make_http_model(endpoint), nine());
  const RunId run = planner.run("round_planner", {{"question", "How many orders were there in Berlin in March?"}});
  if (reason != nullptr) *reason = planner.state(run).reason;
  Json output = planner.output(run);
  output["failed_attempts"] = planner.events(run, "step_failed").size();
  output["calls"] = server.requests().size();
  return output;
}

// The server does `fault` on every third request.
Json ask_with(const std::function<LoopbackServer::Reply(LoopbackServer::Reply)>& fault) {
  int requests = 0;
  return ask_over_http([&requests, fault](const LoopbackServer::Request& request) {
    LoopbackServer::Reply reply = rules_over_http(request);
    return ++requests % 3 == 1 ? fault(std::move(reply)) : reply;
  });
}

TEST(RoundPlannerOverHttp, a_model_that_is_well_answers) {
  const Json output = ask_over_http(rules_over_http);
  EXPECT_EQ(output["outcome"], "answered") << output;
  EXPECT_EQ(output["model_calls"], output["calls"]);
  EXPECT_EQ(output["tokens_in"], 100 * output["calls"].get<int>());
  EXPECT_EQ(output["failed_attempts"], 0);
}

TEST(RoundPlannerOverHttp, a_model_that_is_slow_malformed_limited_or_cut_off_is_asked_again) {
  using Reply = LoopbackServer::Reply;
  const std::map<std::string, std::function<Reply(Reply)>> faults = {
      {"slow",
       [](Reply reply) {
         std::this_thread::sleep_for(std::chrono::milliseconds(900));
         return reply;
       }},
      {"no JSON",
       [](Reply) {
         return Reply{200, "<html>busy</html>"};
       }},
      {"half a document",
       [](Reply reply) {
         return Reply{200, reply.body.substr(0, reply.body.size() / 2)};
       }},
      {"another form",
       [](Reply) {
         return Reply{200, R"({"choices": [{"message": {"role": "assistant", "content": "{\"action\": 5}"}}]})"};
       }},
      {"429",
       [](Reply) {
         return Reply{429, R"({"error": {"message": "Slow down."}})"};
       }},
      {"503",
       [](Reply) {
         return Reply{503, "busy"};
       }},
      {"cut off", [](Reply reply) {
         reply.cut = true;
         return reply;
       }}};
  for (const auto& [name, fault] : faults) {
    const Json output = ask_with(fault);
    EXPECT_EQ(output["outcome"], "answered") << name << ": " << output;
    EXPECT_GE(output["failed_attempts"].get<int>(), 1) << name;
  }
}

TEST(RoundPlannerOverHttp, a_model_that_stays_bad_is_given_up_and_never_hung_on) {
  using Reply = LoopbackServer::Reply;
  for (const Reply& bad : {Reply{429, "{}"}, Reply{200, "no"}, Reply{401, "{}"}}) {
    std::string reason;
    const Json output = ask_over_http([bad](const LoopbackServer::Request&) { return bad; }, &reason);
    EXPECT_EQ(output["outcome"], "failed") << output;
    EXPECT_TRUE(has(reason, "The step understand_goal failed")) << reason;
    EXPECT_LE(output["calls"].get<int>(), 3);
  }
}

}  // namespace
}  // namespace cairn
