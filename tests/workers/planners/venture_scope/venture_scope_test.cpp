// venture_scope end to end: its real graph on a store in memory, with scripted replies or the rule book in a model's
// place, and the example corpus or documents of the test.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/graph_drawing.hpp"
#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/planners/venture_desk.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/tools.hpp"
#include "workers/rule_book.hpp"
#include "workers/tools/corpus/corpus_tool.hpp"
#include "workers/tools/corpus/documents.hpp"

namespace cairn {
namespace {

using test::PlannerRun;
using Words = std::vector<std::string>;

const Json bikes = {{"question", "How large is the market for e-bikes in Norland?"},
                    {"region", "Norland"},
                    {"currency", "EUR"},
                    {"fields", {{"core.product", "e-bikes"}}}};

// The same without words that could be read for what it lacks.
Json unnamed() {
  Json input = bikes;
  input.erase("question");
  return input;
}

Json tiny() {
  return {{"question", "How much?"}, {"region", "Norland"}, {"currency", "EUR"}, {"profile", test::tiny_profile()}};
}

std::unique_ptr<Model> rules() { return make_rule_model(rule_book_name, answer_by_rules); }

Json decided(const std::string& action, const std::string& target = "", const std::string& reason = "Because.") {
  const Json value = {{"action", action}, {"target_path", target}, {"query", ""}, {"question", ""}, {"reason", reason}};
  return {{"node", "decide"}, {"value", value}};
}

Json fails() {
  return {{"node", "decide"}, {"error", {{"error", "refused"}, {"message", "The model is out."}, {"retryable", true}}}};
}

std::unique_ptr<Model> script(const std::vector<Json>& replies) { return make_scripted_model({{"replies", replies}}); }

// Says the same each time.
std::unique_ptr<Model> always(const std::string& action, const std::string& target = "") {
  return make_rule_model("always", [action, target](const ModelRequest&) -> ModelAnswer {
    ModelReply reply;
    reply.model = "always";
    reply.value = decided(action, target)["value"];
    reply.message = {{"role", "assistant"}, {"content", canonical(reply.value)}};
    return reply;
  });
}

// One document that states `a` of the tiny profile, or the given text.
std::unique_ptr<Tools> documents(const std::string& text = "The alpha of Norland was 7.") {
  return make_tools({corpus_tool(corpora_in_memory({{"example", {document_of("docs/a.md", "# Alpha\n\n" + text)}}}))},
                    1);
}

Options with_caps(std::map<std::string, std::int64_t> caps) {
  Options options;
  options.budgets = std::move(caps);
  return options;
}

RunId run_with(PlannerRun& planner, const Json& input, Options options) {
  const RunId run = planner.start("venture_scope", input, {}, std::move(options));
  planner.work(run);
  return run;
}

void answer(PlannerRun& planner, const RunId& run, const Json& value) {
  const auto answered = planner.client().command(run, Answer{"", value, "user:ann", {}});
  ASSERT_TRUE(answered) << answered.error().message;
  planner.work(run);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count(const Words& words, const std::string& word) {
  return static_cast<std::size_t>(std::count(words.begin(), words.end(), word));
}

// Some nodes of a run's way.
Words part_of(const Words& path, std::size_t from, std::size_t count) {
  if (from + count > path.size()) return path;
  const auto begin = path.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

using Edge = std::tuple<std::string, std::string, std::string>;

std::set<Edge> edges_of(const Graph& graph) {
  std::set<Edge> edges;
  for (const Node& node : graph.nodes)
    for (const auto& [label, targets] : node.on)
      for (const NodeIndex target : targets) {
        const Node& to = graph.node(target);
        edges.emplace(node.name, label, to.verb() == Verb::end ? "END" : to.name);
      }
  return edges;
}

// --- the graph -------------------------------------------------------------------------------------------------------
// `exhausted` is the engine's word for the document's max_iters; a question's edges are `answered` and `expired`; the
// two labels of finish are the two ways a run ends.
const std::set<Edge> expected_edges = {{"tick", "aborted", "finish"},
                                       {"tick", "exhausted", "finish"},
                                       {"tick", "needs_region", "ask_region"},
                                       {"tick", "needs_currency", "ask_currency"},
                                       {"tick", "ready", "prepare"},
                                       {"ask_region", "answered", "observe_user"},
                                       {"ask_region", "expired", "observe_user"},
                                       {"ask_currency", "answered", "observe_user"},
                                       {"ask_currency", "expired", "observe_user"},
                                       {"prepare", "prepared", "calc_gate"},
                                       {"calc_gate", "finish_success", "finish"},
                                       {"calc_gate", "finish_abort", "finish"},
                                       {"calc_gate", "continue", "acquire"},
                                       {"acquire", "blocked_task", "route_direct"},
                                       {"acquire", "auto_finish", "calc_adjust"},
                                       {"acquire", "decide", "decide"},
                                       {"calc_adjust", "adjusted", "enforce_policy"},
                                       {"route_direct", "routed", "enforce_policy"},
                                       {"decide", "decided", "enforce_policy"},
                                       {"decide", "error", "enforce_policy"},
                                       {"enforce_policy", "search", "search"},
                                       {"enforce_policy", "ask_user", "ask_user"},
                                       {"enforce_policy", "reflect", "reflect"},
                                       {"enforce_policy", "calculate", "calculate"},
                                       {"enforce_policy", "finish", "finish"},
                                       {"search", "has_observation", "extract"},
                                       {"search", "no_hits", "tick"},
                                       {"observe", "observed", "tick"},
                                       {"observe_user", "observed", "tick"},
                                       {"ask_user", "answered", "observe_user"},
                                       {"ask_user", "expired", "observe_user"},
                                       {"calculate", "calculated", "tick"},
                                       {"reflect", "reflected", "tick"},
                                       {"finish", "done", "END"},
                                       {"finish", "aborted", "END"}};

// Three readers came to the document's nodes: a builder that asks a model is a node of its own (1.4 there). They stand
// between the document's nodes and decide nothing: each has one way on, and the same one if its model fails.
const std::set<std::string> readers = {"read_question", "extract", "propose_parts"};
const std::set<Edge> reading_edges = {{"tick", "unread", "read_question"},
                                      {"read_question", "read", "tick"},
                                      {"read_question", "error", "tick"},
                                      {"extract", "extracted", "observe"},
                                      {"extract", "error", "observe"},
                                      {"acquire", "needs_parts", "propose_parts"},
                                      {"enforce_policy", "needs_parts", "propose_parts"},
                                      {"propose_parts", "acquire", "acquire"},
                                      {"propose_parts", "policy", "enforce_policy"},
                                      {"propose_parts", "error", "acquire"}};

// A question whose answer was refused is asked by a node of its own, which spends no ask.
const std::set<Edge> repeating_edges = {{"observe_user", "refused", "ask_again"},
                                        {"ask_again", "answered", "observe_user"},
                                        {"ask_again", "expired", "observe_user"}};

std::set<Edge> all_edges() {
  std::set<Edge> edges = expected_edges;
  edges.insert(reading_edges.begin(), reading_edges.end());
  edges.insert(repeating_edges.begin(), repeating_edges.end());
  return edges;
}

// --- models of single nodes ------------------------------------------------------------------------------------------
TEST(VentureScope, issue_20_1_each_node_may_have_a_model_and_options_of_its_own) {
  PlannerRun planner(rules(), documents());
  Json input = tiny();
  input.erase("region");
  input["question"] = "How much is it in Norland?";
  input["profile"]["fields"]["b"] = {{"sources", {"search"}}, {"find", {{"about", {"beta"}}}}};
  input["profile"]["decompositions"].erase("b");
  input["model"] = "plain";
  input["models"] = {{"extract", "careful"}};
  input["model_options"] = {{"temperature", 0}, {"reasoning", {{"effort", "low"}}}};
  input["model_options"]["decide"] = {{"temperature", 1}, {"top_p", 0.5}};
  input["model_options"]["read_question"] = {{"seed", 7}};
  planner.run("venture_scope", input);
  const Json all = {{"temperature", 0}, {"reasoning", {{"effort", "low"}}}};
  std::map<std::string, Json> own = {{"decide", {{"temperature", 1}, {"top_p", 0.5}}},
                                     {"read_question", {{"seed", 7}}},
                                     {"extract", Json::object()},
                                     {"propose_parts", Json::object()}};
  for (const auto& [node, options] : own) {
    const std::vector<ModelRequest> requests = planner.model().of(node);
    EXPECT_FALSE(requests.empty()) << node;
    Json expected = all;
    expected.update(options);
    for (const ModelRequest& request : requests) {
      EXPECT_EQ(request.options, expected) << node;
      EXPECT_EQ(request.model, node == "extract" ? "careful" : "plain") << node;
    }
  }
}

TEST(VentureScope, issue_20_1_without_any_the_requests_have_none) {
  PlannerRun planner(rules(), documents());
  planner.run("venture_scope", tiny());
  ASSERT_FALSE(planner.model().requests.empty());
  for (const ModelRequest& request : planner.model().requests) {
    EXPECT_TRUE(request.options.is_null());
    EXPECT_EQ(request.model, "");
  }
}

TEST(VentureScope, S0_01_seventeen_nodes_and_exactly_the_edges_of_the_document) {
  PlannerRun planner(rules());
  const GraphRef graph = planner.client().graphs().current("venture_scope");
  std::set<std::string> nodes;
  for (const Node& node : graph->nodes)
    if (node.verb() != Verb::end) nodes.insert(node.name);
  for (const std::string& reader : readers) EXPECT_EQ(nodes.erase(reader), 1U) << reader;
  EXPECT_EQ(nodes.erase("ask_again"), 1U);
  EXPECT_EQ(nodes.size(), 17U);
  EXPECT_EQ(expected_edges.size(), 35U);
  EXPECT_EQ(edges_of(*graph), all_edges());
  for (const std::string& node : nodes) EXPECT_TRUE(has(mermaid(*graph), node)) << node;
}

TEST(VentureScope, S0_02_each_step_was_led_to_by_a_recorded_edge) {
  PlannerRun planner(rules());
  const RunId run = planner.run("venture_scope", bikes);
  std::string next = "tick";
  for (const Json& event : planner.events(run, "step_succeeded")) {
    EXPECT_EQ(event["node"], next);
    ASSERT_EQ(event["next"].size(), 1U);
    const std::string to = event["next"][0];
    const bool is_end = to == "done" || to == "aborted";
    const Edge edge(event["node"].get<std::string>(), event["label"].get<std::string>(), is_end ? "END" : to);
    EXPECT_TRUE(all_edges().contains(edge)) << event;
    next = to;
  }
  EXPECT_EQ(next, "done");
}

TEST(VentureScope, S0_14_prepare_always_leads_to_the_calculators_gate) {
  PlannerRun planner(rules());
  const RunId run = planner.run("venture_scope", bikes);
  int prepared = 0;
  for (const Json& event : planner.events(run, "step_succeeded")) {
    if (event["node"] != "prepare") continue;
    ++prepared;
    EXPECT_EQ(event["next"], Json{"calc_gate"});
  }
  EXPECT_GT(prepared, 1);
}

// --- iterations ------------------------------------------------------------------------------------------------------
TEST(VentureScope, S0_03_each_tick_counts_one_iteration_before_anything_is_checked) {
  PlannerRun planner(always("reflect"), documents());
  const RunId run = run_with(planner, tiny(), with_caps({{"iterations", 4}}));
  std::int64_t ticks = 0;
  for (const Json& event : planner.events(run, "step_succeeded")) {
    if (event["node"] != "tick") continue;
    const Result<RunState> then = planner.client().state(run, event["seq"].get<std::int64_t>());
    EXPECT_EQ(then->budgets.at("iterations").used, std::min<std::int64_t>(++ticks, 4));
  }
  EXPECT_EQ(ticks, 5) << "the fifth was closed at the cap";
  const Json aborted = {{"status", "aborted"}, {"reason", "stopped"}};
  const RunId first = planner.run("venture_scope", aborted);
  EXPECT_EQ(planner.state(first).budgets.at("iterations").used, 1) << "whatever it finds";
}

TEST(VentureScope, S0_04_an_aborted_run_ends_without_a_model) {
  PlannerRun planner(script({}));
  Json input = bikes;
  input["status"] = "aborted";
  input["reason"] = "stopped";
  const RunId run = planner.run("venture_scope", input);
  EXPECT_EQ(planner.path(run), (Words{"tick", "finish"}));
  EXPECT_EQ(planner.events(run, "step_succeeded")[0]["label"], "aborted");
  EXPECT_EQ(planner.state(run).status, RunStatus::aborted);
  EXPECT_EQ(planner.state(run).reason, "stopped");
  EXPECT_TRUE(planner.model().requests.empty());
}

TEST(VentureScope, S0_05_the_cap_on_iterations_aborts) {
  PlannerRun planner(always("reflect"), documents());
  const RunId run = run_with(planner, tiny(), with_caps({{"iterations", 2}}));
  EXPECT_EQ(planner.model().of("decide").size(), 2U);
  EXPECT_EQ(planner.state(run).status, RunStatus::aborted);
  EXPECT_EQ(planner.state(run).reason, "max_iters");
  const std::vector<Json> told = planner.events(run, "budget_exhausted");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0]["name"], "iterations");
  EXPECT_EQ(told[0]["cap"], 2);
  const Json last = planner.events(run, "step_succeeded")[planner.path(run).size() - 2];
  EXPECT_EQ(last["node"], "tick");
  EXPECT_EQ(last["label"], "exhausted");
}

TEST(VentureScope, S0_07_what_stops_a_run_comes_before_what_it_lacks) {
  for (int bits = 0; bits < 16; ++bits) {
    const bool aborted = (bits & 1) != 0;
    const bool capped = (bits & 2) != 0;
    Json input = unnamed();
    if (aborted) input.update({{"status", "aborted"}, {"reason", "stopped"}});
    if ((bits & 4) != 0) input.erase("region");
    if ((bits & 8) != 0) input.erase("currency");
    PlannerRun planner(rules());
    const RunId run = run_with(planner, input, with_caps({{"iterations", capped ? 0 : 25}}));
    const Json first = planner.events(run, "step_succeeded")[0];
    const std::string next = first["next"][0];
    EXPECT_EQ(next, aborted || capped ? "finish"
                    : (bits & 4) != 0 ? "ask_region"
                    : (bits & 8) != 0 ? "ask_currency"
                                      : "prepare")
        << bits;
    if (next != "finish") continue;
    EXPECT_EQ(planner.state(run).status, RunStatus::aborted);
    EXPECT_EQ(planner.state(run).reason, aborted ? "stopped" : "max_iters") << "an abort is told before the cap";
  }
}

// --- questions -------------------------------------------------------------------------------------------------------
TEST(VentureScope, S0_06_region_then_currency_are_asked_first) {
  PlannerRun planner(rules());
  Json input = unnamed();
  input.erase("region");
  input.erase("currency");
  const RunId run = planner.run("venture_scope", input);
  for (const auto& [field, value] : {std::pair{"core.region", "Norland"}, std::pair{"core.currency", "EUR"}}) {
    ASSERT_EQ(planner.state(run).questions.size(), 1U);
    EXPECT_EQ(planner.state(run).questions.begin()->second.prompt["field"], field);
    answer(planner, run, value);
  }
  EXPECT_EQ(planner.state(run).status, RunStatus::done);
  EXPECT_EQ(part_of(planner.path(run), 6, 2), (Words{"tick", "prepare"}));
}

TEST(VentureScope, S0_09_a_region_or_currency_that_was_refused_is_asked_for_again_with_the_reason) {
  PlannerRun planner(rules());
  Json input = unnamed();
  input.erase("region");
  input.erase("currency");
  const RunId run = planner.run("venture_scope", input);
  for (const char* said : {"  ", "Norland", "Euros", "EUR"}) answer(planner, run, said);
  std::vector<std::string> faults;
  for (const Json& asked : planner.events(run, "question_asked")) faults.push_back(asked["prompt"].value("fault", ""));
  ASSERT_GE(faults.size(), 4U);
  faults.resize(4);
  EXPECT_EQ(faults, (Words{"", "Expected the name of a region, but it is none.", "",
                           "Expected a currency of three letters, but it is none."}));
  EXPECT_TRUE(planner.channel(run, "refusals").empty());
}

TEST(VentureScope, S0_08_the_region_has_its_own_node_and_no_model_is_asked) {
  PlannerRun planner(script({}));
  Json input = unnamed();
  input.erase("region");
  const RunId run = planner.run("venture_scope", input);
  const std::vector<Json> asked = planner.events(run, "question_asked");
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0]["prompt"]["field"], "core.region");
  const RunState state = planner.state(run);
  EXPECT_EQ(state.graph->node(state.steps.begin()->second.node).name, "ask_region");
  EXPECT_TRUE(planner.model().requests.empty());
}

TEST(VentureScope, S0_09_an_answer_goes_to_the_region_and_on_to_tick) {
  PlannerRun planner(rules());
  Json input = unnamed();
  input.erase("region");
  const RunId run = planner.run("venture_scope", input);
  answer(planner, run, "Norland");
  EXPECT_EQ(planner.channel(run, "region"), "Norland");
  EXPECT_EQ(part_of(planner.path(run), 0, 4), (Words{"tick", "ask_region", "observe_user", "tick"}));
}

TEST(VentureScope, S0_10_what_is_asked_first_costs_an_iteration_and_no_question) {
  PlannerRun planner(rules());
  Json input = unnamed();
  input.erase("region");
  const RunId run = run_with(planner, input, with_caps({{"ask", 0}}));
  ASSERT_EQ(planner.state(run).questions.size(), 1U);
  answer(planner, run, "Norland");
  EXPECT_EQ(planner.state(run).budgets.at("ask").used, 0);
  const auto ticks = static_cast<std::int64_t>(count(planner.path(run), "tick"));
  EXPECT_EQ(planner.state(run).budgets.at("iterations").used, ticks);
}

TEST(VentureScope, S0_11_an_answer_that_is_none_is_asked_for_again) {
  PlannerRun planner(rules());
  Json input = unnamed();
  input.erase("region");
  const RunId run = planner.run("venture_scope", input);
  const std::string first = planner.state(run).questions.begin()->first;
  answer(planner, run, "");
  ASSERT_EQ(planner.state(run).questions.size(), 1U);
  EXPECT_NE(planner.state(run).questions.begin()->first, first);
  EXPECT_EQ(planner.channel(run, "region"), nullptr);
}

TEST(VentureScope, S0_42_a_question_counts_when_it_is_asked_and_its_answer_is_the_users) {
  PlannerRun planner(rules(), documents());
  const RunId run = planner.run("venture_scope", tiny());
  ASSERT_EQ(planner.state(run).questions.size(), 1U);
  const Question question = planner.state(run).questions.begin()->second;
  EXPECT_EQ(question.prompt["field"], "b");
  EXPECT_EQ(question.prompt["text"], "What is b?");
  EXPECT_EQ(planner.state(run).budgets.at("ask").used, 1);
  answer(planner, run, 6);
  EXPECT_EQ(planner.channel(run, "fields")["b"]["source"], "user");
  EXPECT_EQ(planner.output(run)["result"], 42);
  const Words path = planner.path(run);
  const auto asked = std::find(path.begin(), path.end(), "ask_user");
  EXPECT_EQ(part_of(path, static_cast<std::size_t>(asked - path.begin()), 3),
            (Words{"ask_user", "observe_user", "tick"}));
}

TEST(VentureScope, with_full_autonomy_nobody_is_waited_for) {
  PlannerRun planner(rules(), documents());
  Options options;
  options.autonomous = true;
  const RunId run = run_with(planner, tiny(), options);
  EXPECT_EQ(planner.state(run).status, RunStatus::aborted);
  EXPECT_EQ(planner.output(run)["missing"], (Json{"b.one", "b.two"})) << "b was decomposed when nobody knew it";
}

// --- caching ---------------------------------------------------------------------------------------------------------
TEST(VentureScope, S0_15_prepare_is_not_done_again_for_the_same_channels) {
  PlannerRun planner(always("reflect"), documents());
  const RunId run = run_with(planner, tiny(), with_caps({{"iterations", 4}}));
  std::vector<Json> prepared;
  for (const Json& event : planner.events(run, "step_succeeded"))
    if (event["node"] == "prepare") prepared.push_back(event);
  ASSERT_EQ(prepared.size(), 4U);
  EXPECT_FALSE(prepared[1].contains("cached_from")) << "the first one has filled the channels";
  EXPECT_EQ(prepared[2]["cached_from"], prepared[1]["step"]);
  EXPECT_EQ(prepared[2]["patch"], prepared[1]["patch"]);
  EXPECT_EQ(prepared[3]["cached_from"], prepared[1]["step"]);
}

// --- the model -------------------------------------------------------------------------------------------------------
TEST(VentureScope, S0_26_decide_asks_for_a_decision_and_records_it) {
  PlannerRun planner(script({decided("calculate"), decided("finish", "", "Enough.")}), documents());
  const RunId run = run_with(planner, tiny(), with_caps({{"calc", 0}}));
  const std::vector<Json> calls = planner.events(run, "model_called");
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0]["node"], "decide");
  EXPECT_EQ(calls[0]["ok"], true);
  EXPECT_EQ(planner.model().requests[0].schema["title"], "PlannerDecision");
  const std::vector<Json> proposed = planner.events(run, "decision_proposed");
  EXPECT_EQ(proposed[0]["source"], "model");
  EXPECT_EQ(proposed[0]["action"], "calculate");
  EXPECT_EQ(proposed[0]["step"], calls[0]["step"]);
}

// Throws for every node but decide.
std::unique_ptr<Model> only_for_decide() {
  return make_rule_model(rule_book_name, [](const ModelRequest& request) -> ModelAnswer {
    if (request.node != "decide") throw std::runtime_error("who asks?");
    return answer_by_rules(request);
  });
}

TEST(VentureScope, S0_27_nobody_but_decide_asks_the_model_for_a_decision) {
  PlannerRun planner(rules());
  const RunId run = planner.run("venture_scope", bikes);
  EXPECT_EQ(planner.state(run).status, RunStatus::done);
  std::set<std::string> planning;
  std::set<std::string> reading;
  for (const ModelRequest& request : planner.model().requests)
    (request.schema["title"] == "PlannerDecision" ? planning : reading).insert(request.node);
  EXPECT_EQ(planning, std::set<std::string>{"decide"});
  for (const std::string& node : reading) EXPECT_TRUE(readers.contains(node)) << node;
  EXPECT_EQ(planner.events(run, "model_called").size(), planner.model().requests.size());
}

TEST(VentureScope, S0_27_a_run_reaches_its_end_when_only_decide_is_answered) {
  PlannerRun planner(only_for_decide());
  const RunId run = planner.run("venture_scope", bikes);
  EXPECT_EQ(planner.state(run).status, RunStatus::done);
  EXPECT_NEAR(planner.output(run)["result"].get<double>(), 276093750, 1) << "the word rules read in the model's place";
  EXPECT_FALSE(planner.model().of("decide").empty());
}

TEST(VentureScope, S0_28_a_model_that_fails_finishes_the_run_without_failing_it) {
  Json input = tiny();
  input["profile"].erase("calculator");
  PlannerRun planner(script({fails(), fails(), decided("reflect")}), documents());
  const RunId run = planner.run("venture_scope", input);
  EXPECT_EQ(planner.state(run).status, RunStatus::aborted);
  EXPECT_EQ(planner.state(run).reason, "llm_error");
  std::vector<Json> proposed = planner.events(run, "decision_proposed");
  ASSERT_EQ(proposed.size(), 1U);
  EXPECT_EQ(proposed[0]["action"], "finish");
  EXPECT_EQ(proposed[0]["source"], "fallback");
  EXPECT_EQ(proposed[0]["reason"], "llm_error");
  EXPECT_EQ(planner.events(run, "model_called").size(), 2U);
  EXPECT_EQ(planner.events(run, "model_called")[0]["ok"], false);
  EXPECT_EQ(planner.path(run).back(), "finish");
}

TEST(VentureScope, S0_28_a_calculator_still_tries_after_a_model_failed) {
  PlannerRun planner(make_rule_model("broken",
                                     [](const ModelRequest&) -> ModelAnswer {
                                       return Failure{"refused", "The model is out.", false, {}};
                                     }),
                     documents());
  Json input = tiny();
  input["fields"] = {{"b", 6}};
  const RunId run = planner.run("venture_scope", input);
  EXPECT_EQ(planner.state(run).status, RunStatus::done) << "calculating is blocked by a, which the rules then find";
  EXPECT_EQ(planner.output(run)["result"], 42);
  EXPECT_EQ(planner.model().of("decide").size(), 1U);
}

TEST(VentureScope, S0_29_a_reply_that_is_no_decision_is_asked_for_once_more) {
  const Json bad = {{"node", "decide"}, {"value", {{"action", "dance"}}}};
  PlannerRun planner(script({bad, decided("ask_user", "b")}), documents());
  const RunId run = planner.run("venture_scope", tiny());
  EXPECT_EQ(planner.model().requests.size(), 2U);
  EXPECT_TRUE(has(planner.model().requests[1].messages.back()["content"], "last_attempt_failed"));
  EXPECT_EQ(planner.state(run).questions.size(), 1U);

  Json input = tiny();
  input["profile"].erase("calculator");
  PlannerRun twice(script({bad, decided("search"), decided("reflect")}), documents());
  const RunId ended = twice.run("venture_scope", input);
  EXPECT_EQ(twice.model().requests.size(), 2U) << "a search without a field is no decision either";
  EXPECT_EQ(twice.state(ended).reason, "llm_error");
}

// --- the policy in a run ---------------------------------------------------------------------------------------------
TEST(VentureScope, S0_34_the_search_cap_is_told_once_in_a_run) {
  PlannerRun planner(script({decided("search", "a"), decided("search", "a"), decided("search", "a")}),
                     documents("No."));
  const RunId run = run_with(planner, tiny(), with_caps({{"search", 0}}));
  answer(planner, run, "unknown");
  answer(planner, run, "unknown");
  EXPECT_EQ(planner.model().requests.size(), 3U);
  std::size_t told = 0;
  for (const Json& event : planner.events(run, "budget_exhausted")) told += event["name"] == "search" ? 1 : 0;
  EXPECT_EQ(told, 1U);
  EXPECT_EQ(planner.state(run).budgets.at("search").used, 0);
}

TEST(VentureScope, S0_39_each_pass_enforces_one_decision_also_when_every_step_has_another_worker) {
  PlannerRun planner(rules());
  const RunId run = planner.start("venture_scope", bikes);
  for (std::int64_t events = 2; !is_ended(planner.state(run).status); ++events) planner.work_until(run, events);
  const std::size_t passes = count(planner.path(run), "enforce_policy");
  std::vector<Json> enforced = planner.events(run, "decision_enforced");
  // The choice of a reading is a decision too, made by the node that reads.
  std::erase_if(enforced, [](const Json& event) { return event["action"] == "take" || event["action"] == "keep"; });
  EXPECT_EQ(enforced.size(), passes);
  std::set<Json> steps;
  for (const Json& event : enforced) steps.insert(event["step"]);
  EXPECT_EQ(steps.size(), passes);
}

TEST(VentureScope, S0_52_a_model_that_was_asked_is_not_asked_again_by_the_next_worker) {
  PlannerRun planner(rules());
  const RunId run = planner.start("venture_scope", bikes);
  for (std::int64_t events = 2; !is_ended(planner.state(run).status); ++events) {
    planner.work_until(run, events);
    EXPECT_EQ(planner.model().requests.size(), planner.events(run, "model_called").size()) << events;
  }
  EXPECT_EQ(planner.model().of("decide").size(), count(planner.path(run), "decide"));
  EXPECT_EQ(planner.model().of("extract").size(), count(planner.path(run), "extract"));
}

// --- search, calculation and the end ---------------------------------------------------------------------------------
TEST(VentureScope, S0_41_a_search_counts_whether_it_finds_something_or_not) {
  const Json reads_nothing = {{"node", "extract"}, {"value", {{"readings", Json::array()}}}};
  PlannerRun found(script({decided("search", "a"), reads_nothing, decided("ask_user", "b")}), documents());
  const RunId with_hits = found.run("venture_scope", tiny());
  EXPECT_EQ(part_of(found.path(with_hits), 6, 4), (Words{"search", "extract", "observe", "tick"}));
  EXPECT_EQ(found.state(with_hits).budgets.at("search").used, 1);
  PlannerRun none(script({decided("search", "a"), decided("ask_user", "b")}), documents("Something else entirely."));
  Json input = tiny();
  input["region"] = "Sudland";
  const RunId without = none.run("venture_scope", input);
  EXPECT_EQ(part_of(none.path(without), 6, 2), (Words{"search", "tick"}));
  EXPECT_EQ(none.state(without).budgets.at("search").used, 1);
  EXPECT_EQ(none.events(without, "tool_called").at(0)["tool"], "corpus_search");
}

TEST(VentureScope, S0_43_a_calculation_counts_and_its_success_is_seen_by_the_gate) {
  PlannerRun planner(rules(), documents());
  Json input = tiny();
  input["fields"] = {{"a", 2}, {"b", 3}};
  const RunId run = planner.run("venture_scope", input);
  EXPECT_EQ(planner.path(run), (Words{"tick", "prepare", "calc_gate", "acquire", "calc_adjust", "enforce_policy",
                                      "calculate", "tick", "prepare", "calc_gate", "finish"}));
  EXPECT_EQ(planner.state(run).budgets.at("calc").used, 1);
  EXPECT_EQ(planner.channel(run, "last_calculation")["status"], "SUCCESS");
  EXPECT_EQ(planner.output(run)["result"], 6);
  EXPECT_TRUE(planner.model().requests.empty()) << "nothing was left to decide";
}

TEST(VentureScope, S0_16_a_calculation_that_stays_blocked_aborts_at_its_cap) {
  PlannerRun planner(rules(), documents("Nothing."));
  Json input = tiny();
  input["profile"].erase("decompositions");
  input["profile"]["fields"]["a"]["sources"] = {"search"};
  input["profile"]["fields"].erase("c");
  input["fields"] = {{"b", 3}};
  const RunId run = planner.run("venture_scope", input);
  EXPECT_EQ(planner.state(run).status, RunStatus::aborted);
  EXPECT_EQ(planner.state(run).reason, "calc_cap");
  EXPECT_EQ(planner.state(run).budgets.at("calc").used, 3);
  EXPECT_EQ(planner.output(run)["missing"], Json{"a"});
  EXPECT_TRUE(has(planner.output(run)["answer"], "Expected a value for a, but there is none yet."));
}

TEST(VentureScope, S0_45_every_run_ends_by_finish_with_a_status_and_a_reason) {
  PlannerRun planner(rules());
  const RunId run = planner.run("venture_scope", bikes);
  const Json finished = planner.events(run, "run_finished").at(0);
  EXPECT_EQ(finished["status"], "done");
  EXPECT_EQ(finished["reason"], "calculated");
  EXPECT_EQ(planner.path(run).back(), "finish");
}

// Down once, then as the other.
std::unique_ptr<Tools> down_once() {
  ToolSpec spec;
  spec.name = "corpus_search";
  spec.does = NativeTool([](const ToolCall& call) -> ToolAnswer {
    if (call.attempt == 1) return Failure{"unavailable", "The corpus is away.", true, {}};
    return Json{{"hits", {{{"title", "A"}, {"source", "a.md"}, {"excerpt", "The alpha was 7."}}}}};
  });
  return make_tools({spec}, 1);
}

TEST(VentureScope, S0_46_every_step_says_who_did_it_and_when_and_only_a_search_is_tried_again) {
  PlannerRun planner(rules(), down_once());
  Json input = tiny();
  input["fields"] = {{"b", 6}};
  const RunId run = planner.run("venture_scope", input);
  EXPECT_EQ(planner.output(run)["result"], 42);
  const std::vector<Json> failed = planner.events(run, "step_failed");
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0]["node"], "search");
  EXPECT_TRUE(failed[0].contains("retry_at"));
  for (const Json& event : planner.events(run, "step_succeeded")) {
    EXPECT_TRUE(event.contains("started_at")) << event;
    EXPECT_EQ(event["attempt"], event["node"] == "search" ? 2 : 1) << event;
  }
}

TEST(VentureScope, S0_49_caps_have_defaults_and_are_the_starters_to_change) {
  PlannerRun planner(rules());
  const RunId run = planner.run("venture_scope", bikes);
  std::map<std::string, std::int64_t> caps;
  for (const auto& [name, use] : planner.state(run).budgets) caps[name] = use.cap;
  EXPECT_EQ(caps, (std::map<std::string, std::int64_t>{{"iterations", 25}, {"search", 10}, {"ask", 5}, {"calc", 3}}));
  const RunId other = run_with(planner, bikes, with_caps({{"search", 2}}));
  EXPECT_EQ(planner.events(other, "run_started").at(0)["options"]["budgets"], (Json{{"search", 2}}));
  EXPECT_EQ(planner.state(other).budgets.at("search").cap, 2);
  EXPECT_LE(planner.state(other).budgets.at("search").used, 2);
}

TEST(VentureScope, S0_50_a_gate_is_put_in_by_the_graphs_data_alone) {
  PlannerRun planner(rules());
  Json graph = Json::parse(planner.client().graphs().current("venture_scope")->text);
  graph["name"] = "venture_scope_with_gate";
  graph["nodes"]["calc_gate"]["on"]["continue"] = "cost_gate";
  graph["nodes"]["cost_gate"] = {
      {"do", "data.pick"},
      {"with", {{"value", "$cheap"}, {"labels", {{"false", "too_dear"}}}, {"default", "fine"}}},
      {"labels", {"too_dear", "fine"}},
      {"on", {{"too_dear", "finish"}, {"fine", "acquire"}}}};
  const Result<GraphRef> added = planner.client().add_graph(graph);
  ASSERT_TRUE(added) << added.error().message;
  Json input = bikes;
  input["cheap"] = true;
  const RunId cheap = planner.run("venture_scope_with_gate", input);
  EXPECT_EQ(planner.output(cheap)["result"], planner.output(planner.run("venture_scope", bikes))["result"]);
  EXPECT_GT(count(planner.path(cheap), "cost_gate"), 3U);
  input["cheap"] = false;
  const RunId dear = planner.run("venture_scope_with_gate", input);
  EXPECT_EQ(planner.path(dear), (Words{"tick", "prepare", "calc_gate", "cost_gate", "finish"}));
}

TEST(VentureScope, S0_51_an_answer_days_later_goes_on_where_it_was_asked) {
  TimeUs now = 1'700'000'000'000'000;
  PlannerRun planner(rules(), nullptr, [&now] { return now; });
  Json input = unnamed();
  input.erase("region");
  const RunId run = planner.run("venture_scope", input);
  const Words before = planner.path(run);
  const TimeUs asked_at = planner.state(run).last_at;
  now += 3LL * 24 * 3600 * 1'000'000;
  answer(planner, run, "Norland");
  const Words after = planner.path(run);
  ASSERT_GT(after.size(), before.size() + 2);
  EXPECT_EQ(part_of(after, 0, before.size()), before);
  EXPECT_EQ(after[before.size()], "ask_region") << "which closes now";
  EXPECT_EQ(after[before.size() + 1], "observe_user");
  EXPECT_GE(planner.state(run).last_at - asked_at, 3LL * 24 * 3600 * 1'000'000);
  EXPECT_EQ(planner.state(run).status, RunStatus::done);
}

// --- the example -----------------------------------------------------------------------------------------------------
TEST(VentureScope, the_example_runs_offline_from_a_question_to_a_number) {
  PlannerRun planner(rules());
  const RunId run = planner.run("venture_scope", bikes);
  const Json output = planner.output(run);
  EXPECT_NEAR(output["result"].get<double>(), 5.2e6 / 2.08 * 0.31 / 8 * 2850, 1);
  EXPECT_EQ(output["fields"]["product.price"]["evidence"]["source"], "example/bicycles.md");
  EXPECT_EQ(output["fields"]["households.total"]["source"], "derived") << "no document counts them";
  EXPECT_EQ(output["missing"], Json::array());
  EXPECT_EQ(output["decided_by"], "rules");
  const std::string text = output["answer"];
  EXPECT_TRUE(has(text, "market.size = units.replaced * product.price")) << text;
  EXPECT_TRUE(has(text, "276,093,750 EUR")) << text;
  EXPECT_TRUE(has(text, "rule book")) << text;
  EXPECT_EQ(planner.events(run, "task_decomposed").back()["target"], "households.total");
}

TEST(VentureScope, the_plan_shows_every_field_and_how_far_it_has_come) {
  PlannerRun planner(rules());
  const RunId run = planner.run("venture_scope", bikes);
  const RunState state = planner.state(run);
  for (const char* path : {"market.size", "units.replaced", "households.total", "population.total", "household.size",
                           "share.owning", "product.lifetime", "product.price", "core.product"}) {
    const SubGoal* goal = find_goal(state, root_branch, path);
    ASSERT_NE(goal, nullptr) << path;
    EXPECT_EQ(goal->status, GoalStatus::succeeded) << path;
  }
  EXPECT_EQ(find_goal(state, root_branch, "population.total")->parent, "households.total");
  EXPECT_EQ(find_goal(state, root_branch, "units.replaced")->parent, "market.size");
  EXPECT_EQ(state.goal, bikes["question"]);
}

TEST(VentureScope, a_bad_profile_fails_the_run_with_a_sentence) {
  PlannerRun planner(rules());
  Json input = bikes;
  input["profile"] = "nowhere";
  const RunId run = planner.run("venture_scope", input);
  EXPECT_EQ(planner.state(run).status, RunStatus::failed);
  EXPECT_TRUE(has(planner.state(run).reason, "Expected a profile (market_size)")) << planner.state(run).reason;
}

TEST(VentureScope, a_corpus_that_is_not_there_fails_the_run_with_a_sentence) {
  PlannerRun planner(rules());
  Json input = bikes;
  input["corpus"] = "nowhere";
  const RunId run = planner.run("venture_scope", input);
  EXPECT_EQ(planner.state(run).status, RunStatus::failed);
  EXPECT_TRUE(has(planner.state(run).reason, "Expected a corpus named nowhere")) << planner.state(run).reason;
}

}  // namespace
}  // namespace cairn
