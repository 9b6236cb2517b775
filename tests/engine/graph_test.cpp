#include "engine/graph.hpp"

#include <gtest/gtest.h>

#include "engine/corrupt_history.hpp"
#include "engine/graph_drawing.hpp"
#include "engine/graph_keep.hpp"
#include "engine/graph_parsing.hpp"

namespace cairn {
namespace {

using Faults = std::vector<std::string>;

const Handlers handlers{{"planner.work", {{"ok", "no"}, false}}, {"model.decide", {{}, true}}};

// A graph with every verb, to be spoiled part by part.
Json whole() {
  return Json::parse(R"({
    "name": "sound", "start": "work", "description": "One of each.",
    "channels": {"sum": {"reducer": "sum"}, "plain": {}},
    "limits": {"steps": 100}, "budgets": {"tries": {"cap": 3}}, "context": {"keep_last": 5},
    "nodes": {
      "work": {"do": "planner.work", "cache": true, "queue": "model", "timeout_ms": 1000, "spends": "tries",
               "retry": {"attempts": 3, "lost": 2, "backoff_ms": 10, "factor": 1.5, "max_ms": 100, "jitter": 0.1},
               "with": {"a": "$plain"}, "on": {"ok": "question", "no": "far", "exhausted": "over", "error": "over"}},
      "far": {"do": "elsewhere.far", "labels": ["ok"], "on": {"ok": "goals"}},
      "goals": {"map": "sub_goals", "retry": {"attempts": 2}, "on": {"joined": "pause", "partial": "over"}},
      "pause": {"wait": {"ms": 10}, "on": {"fired": "signal"}},
      "signal": {"wait": {"signal": "go", "timeout_ms": 5}, "into": "plain", "on": {"fired": "until", "timeout": "over"}},
      "until": {"wait": {"until": "$plain"}, "on": {"fired": "child"}},
      "child": {"call": "other", "with": {"x": "$plain"}, "on": {"done": "over", "failed": "failed", "aborted": "over"}},
      "question": {"ask": {"kind": "question", "prompt": "Go on?", "schema": {"type": "boolean"}}, "expires_ms": 1000,
                   "into": "plain", "on": {"answered": "over", "expired": "over"}},
      "over": {"end": {"status": "done", "reason": "It is over.", "output": "$plain"}},
      "failed": {"end": "failed"}}})");
}

Faults faults_with(std::string_view pointer, const Json& value) {
  Json graph = whole();
  graph[Json::json_pointer(std::string(pointer))] = value;
  return graph_faults(graph, handlers);
}

Faults faults_without(std::string_view parent, const char* key) {
  Json graph = whole();
  graph[Json::json_pointer(std::string(parent))].erase(key);
  return graph_faults(graph, handlers);
}

// Nodes given as {"name": {"label": "target" or ["a", "b"]}}; a name with + is a join; "end" is the end.
Faults walk(std::string_view edges, const std::string& start = "start") {
  Json graph = {
      {"name", "walk"}, {"start", start}, {"limits", {{"steps", 10}}}, {"nodes", {{"end", {{"end", "done"}}}}}};
  const Json shape = Json::parse(edges);
  for (const auto& [name, on] : shape.items()) {
    const bool join = name.back() == '+';
    Json labels = Json::array();
    for (const auto& [label, target] : on.items()) labels.push_back(label);
    graph["nodes"][join ? name.substr(0, name.size() - 1) : name] = {
        {"do", "some.where"}, {"labels", labels}, {"on", on}, {"join", join}};
  }
  return graph_faults(graph, handlers);
}

GraphRef parsed(const Json& json) {
  auto graph = parse_graph(json, "v1", handlers);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return *graph;
}

TEST(Graph, a_whole_one_has_no_faults) { EXPECT_EQ(graph_faults(whole(), handlers), Faults{}); }

TEST(Graph, is_built_as_it_is_written) {
  const GraphRef graph = parsed(whole());
  EXPECT_EQ(graph->name, "sound");
  EXPECT_EQ(graph->version, "v1");
  EXPECT_EQ(graph->text, canonical(whole()));
  EXPECT_EQ(graph->steps_max, 100);
  EXPECT_EQ(graph->start, graph->find("work"));
  EXPECT_EQ(graph->find("nowhere"), -1);
  EXPECT_EQ(graph->reducer("sum"), Reducer::sum);
  EXPECT_EQ(graph->reducer("plain"), Reducer::last);
  EXPECT_EQ(graph->reducer("undeclared"), Reducer::last);
  EXPECT_EQ(graph->budgets.at("tries").cap, 3);
  EXPECT_EQ(graph->context, Json({{"keep_last", 5}}));

  const Node& work = graph->node(graph->start);
  EXPECT_EQ(work.verb(), Verb::do_);
  EXPECT_EQ(work.handler(), "planner.work");
  EXPECT_EQ(work.as<DoNode>()->queue, "model");
  EXPECT_EQ(work.timeout_ms, 1000);
  EXPECT_EQ(work.spends, "tries");
  EXPECT_TRUE(work.cache);
  EXPECT_FALSE(work.join);
  EXPECT_EQ(work.retry, (Retry{3, 2, 10, 1.5, 100, 0.1}));
  EXPECT_EQ(work.as<DoNode>()->with, Json({{"a", "$plain"}}));
}

TEST(Graph, verbs_are_normalized) {
  const GraphRef graph = parsed(whole());
  const auto node = [&](const char* name) { return graph->node(graph->find(name)); };
  const auto end = [&](const char* name) { return std::get<EndNode>(node(name).settings); };
  EXPECT_EQ(end("failed").status, RunStatus::failed);
  EXPECT_EQ(end("failed").output, std::nullopt);
  EXPECT_EQ(end("over").output, "$plain");
  const auto ask = std::get<AskNode>(node("question").settings);
  EXPECT_EQ(ask.kind, "question");
  EXPECT_EQ(ask.prompt, "Go on?");
  EXPECT_EQ(ask.schema, Json::parse(R"({"type":"boolean"})"));
  EXPECT_EQ(ask.fallback, std::nullopt);
  EXPECT_EQ(ask.expires->kind, DueSetting::Kind::after_ms);
  EXPECT_EQ(ask.expires->value, 1000);
  const auto wait = std::get<WaitNode>(node("signal").settings);
  EXPECT_EQ(wait.signal, "go");
  EXPECT_EQ(wait.due->value, 5);
  EXPECT_EQ(node("signal").into, "plain");
  EXPECT_EQ(std::get<CallNode>(node("child").settings).graph, "other");
  EXPECT_EQ(node("child").handler(), "");
  const auto far = std::get<DoNode>(node("far").settings);
  EXPECT_EQ(far.labels, (std::vector<std::string>{"ok"}));
  EXPECT_EQ(far.queue, "default");
  EXPECT_EQ(node("far").retry, Retry{});
}

TEST(Graph, edges_fall_back_as_the_engine_labels_do) {
  Json json = whole();
  json["nodes"]["goals"]["on"].erase("partial");
  json["nodes"]["child"]["on"].erase("aborted");
  const GraphRef graph = parsed(json);
  const auto target = [&](const char* node, const char* label) -> std::string {
    const auto* edge = graph->next(graph->find(node), label);
    return edge == nullptr ? "" : graph->node(edge->front()).name;
  };
  EXPECT_EQ(target("goals", "partial"), "pause");
  EXPECT_EQ(target("child", "aborted"), "failed");
  EXPECT_EQ(target("child", "error"), "");
  EXPECT_EQ(target("work", "error"), "over");
  EXPECT_EQ(target("far", "partial"), "");
}

TEST(Graph, the_example_of_the_design_completed) {
  const Json json = Json::parse(R"({ "name": "seven_node", "start": "orchestrate",
  "channels": { "iterations": {"reducer": "sum"}, "results": {"reducer": "append"} },
  "limits": { "steps": 200 }, "budgets": { "iterations": { "cap": 5 } },
  "nodes": {
    "orchestrate": { "do": "seven_node.orchestrate", "on": { "next": "guard" } },
    "guard":      { "do": "seven_node.guard", "on": { "on_topic": "parse_intent", "off_topic": "blocked" } },
    "parse_intent": { "do": "seven_node.parse_intent", "on": { "clear": "plan_query", "unclear": "ask_region" } },
    "plan_query": { "do": "seven_node.plan_query", "queue": "model", "timeout_ms": 60000, "spends": "iterations",
                    "retry": { "attempts": 3, "backoff_ms": 500, "factor": 2, "max_ms": 30000, "jitter": 0.2 },
                    "on": { "tools": "run_tools", "none": "respond", "exhausted": "respond", "error": "apologise" } },
    "run_tools":  { "map": "sub_goals", "on": { "joined": "reflect" } },
    "reflect":    { "do": "seven_node.reflect", "on": { "again": "plan_query", "enough": "cool_down" } },
    "ask_region": { "ask": { "kind": "question", "prompt": "Which region?", "schema": { "type": "string" } }, "expires_ms": 604800000,
                    "on": { "answered": "observe_user", "expired": "finish" } },
    "observe_user": { "do": "seven_node.observe_user", "on": { "next": "plan_query" } },
    "cool_down":  { "wait": { "ms": 60000 }, "on": { "fired": "tick" } },
    "tick":       { "do": "seven_node.tick", "on": { "next": "sub_plan" } },
    "sub_plan":   { "call": "plan_decomposer", "with": { "plan": "$plan" }, "on": { "done": "next", "failed": "finish" } },
    "next":       { "do": "seven_node.next", "on": { "more": "orchestrate", "none": "respond" } },
    "respond":    { "do": "seven_node.respond", "on": { "done": "finish" } },
    "apologise":  { "do": "seven_node.apologise", "on": { "done": "finish" } },
    "finish":     { "end": {"status": "done", "output": "$answer"} },
    "blocked":    { "end": "done" } } })");
  const Handlers known{{"seven_node.orchestrate", {{"next"}, false}},
                       {"seven_node.guard", {{"on_topic", "off_topic"}, false}},
                       {"seven_node.parse_intent", {{"clear", "unclear"}, false}},
                       {"seven_node.plan_query", {{"tools", "none"}, false}},
                       {"seven_node.reflect", {{"again", "enough"}, false}},
                       {"seven_node.observe_user", {{"next"}, false}},
                       {"seven_node.tick", {{"next"}, false}},
                       {"seven_node.next", {{"more", "none"}, false}},
                       {"seven_node.respond", {{"done"}, false}},
                       {"seven_node.apologise", {{"done"}, false}}};
  EXPECT_EQ(graph_faults(json, known), Faults{});
  EXPECT_TRUE(parse_graph(json, "v", known).ok());
}

// --- faults of the graph itself -----------------------------------------------------------------------------------

TEST(GraphFaults, the_graph_is_no_object) {
  EXPECT_EQ(graph_faults(Json::array(), handlers), Faults{"Expected the graph to be an object, but it is []."});
}

TEST(GraphFaults, an_unknown_key) {
  EXPECT_EQ(faults_with("/edges", 1),
            Faults{"Expected the graph to have only the keys name, start, finally, input, "
                   "output, channels, limits, budgets, context, keep, expose, nodes, "
                   "description, $schema, singleton, debounce and batch, but it has \"edges\"."});
}

TEST(GraphFaults, the_name) {
  EXPECT_EQ(faults_without("", "name"),
            Faults{"Expected the graph's name to be lower-case letters, digits and _, but it is missing."});
  EXPECT_EQ(faults_with("/name", "My Graph"),
            Faults{"Expected the graph's name to be lower-case letters, digits and _, but it is \"My Graph\"."});
  EXPECT_EQ(faults_with("/description", 3), Faults{"Expected the graph's description to be a text, but it is 3."});
}

TEST(GraphFaults, the_start) {
  EXPECT_EQ(faults_with("/start", "nowhere"),
            Faults{"Expected the graph's start to be a node, but there is no \"nowhere\"."});
  EXPECT_EQ(faults_without("", "start"), Faults{"Expected the graph's start to be a node, but it is missing."});
}

TEST(GraphFaults, limits) {
  EXPECT_EQ(faults_without("", "limits"), Faults{"Expected the graph's limits to be an object, but it is missing."});
  EXPECT_EQ(faults_without("/limits", "steps"),
            Faults{"Expected the limit of steps to be an integer from 1 to 1000000000, but it is missing."});
  for (const Json& steps :
       {Json(0), Json(-1), Json(1'000'000'001), Json(1.5), Json("9"), Json(18446744073709551615u)}) {
    EXPECT_EQ(
        faults_with("/limits/steps", steps),
        Faults{"Expected the limit of steps to be an integer from 1 to 1000000000, but it is " + steps.dump() + "."});
  }
  EXPECT_EQ(faults_with("/limits/tokens", 5),
            Faults{"Expected the graph's limits to have only the keys steps and ms, but it has \"tokens\"."});
}

TEST(GraphFaults, channels) {
  EXPECT_EQ(
      faults_with("/channels/sum/reducer", "mean"),
      Faults{"Expected the reducer of channel \"sum\" to be last, append, merge, sum or max, but it is \"mean\"."});
  EXPECT_EQ(faults_with("/channels/sum", "sum"),
            Faults{"Expected channel \"sum\" to be an object, but it is \"sum\"."});
  EXPECT_EQ(faults_with("/channels/sum/default", 1),
            Faults{"Expected channel \"sum\" to have only the keys reducer, but it has \"default\"."});
  EXPECT_EQ(faults_with("/channels/a~1b", Json::object()),
            Faults{"Expected channel \"a/b\" to have a name without / and without $ in front, but it has not."});
  EXPECT_EQ(faults_with("/channels", 1), Faults{"Expected the graph's channels to be an object, but it is 1."});
}

TEST(GraphFaults, budgets) {
  EXPECT_EQ(
      faults_with("/budgets/tries/cap", -1),
      Faults{"Expected the cap of budget \"tries\" to be an integer from 0 to 9223372036854775807, but it is -1."});
  EXPECT_EQ(
      faults_with("/budgets/tries", Json::object()),
      Faults{
          "Expected the cap of budget \"tries\" to be an integer from 0 to 9223372036854775807, but it is missing."});
  EXPECT_EQ(faults_with("/nodes/work/spends", "money"),
            Faults{"Expected node \"work\" to spend a budget of the graph, but there is no \"money\"."});
}

TEST(GraphFaults, context) {
  EXPECT_EQ(faults_with("/context/keep_last", "five"),
            Faults{"Expected context \"keep_last\" to be an integer from 0 to 1000000000, but it is \"five\"."});
  EXPECT_EQ(
      faults_with("/context/forget", 1),
      Faults{"Expected the graph's context to have only the keys keep_last, max_bytes and summary_template, but it has "
             "\"forget\"."});
}

TEST(GraphFaults, keep) {
  for (const char* keep : {"90d", "12h", "30m", "10s", "1d", "99999d"})
    EXPECT_EQ(faults_with("/keep", keep), Faults{}) << keep;
  for (const char* keep : {"", "d", "90", "0d", "090d", "-1d", "1.5d", " 1d", "1d ", "100000d", "90days", "2026-11-21"})
    EXPECT_EQ(faults_with("/keep", keep),
              Faults{"Expected the graph's \"keep\" to be a duration like 90d, 12h, 30m or 10s, but it is \"" +
                     std::string(keep) + "\"."});
  EXPECT_EQ(faults_with("/keep", 90),
            Faults{"Expected the graph's \"keep\" to be a duration like 90d, 12h, 30m or 10s, but it is 90."});
}

TEST(Graph, keep_is_read_from_the_text) {
  Graph graph;
  graph.text = R"({"name":"g"})";
  EXPECT_EQ(keep_us(graph), std::nullopt);
  graph.text = R"({"keep":"90d","name":"g"})";
  EXPECT_EQ(keep_us(graph), std::int64_t{90} * 86'400 * 1'000'000);
  graph.text = R"({"description":"we \"keep\" nothing","name":"g"})";
  EXPECT_EQ(keep_us(graph), std::nullopt);
  graph.text = R"({"keep":"soon","name":"g"})";
  EXPECT_THROW(keep_us(graph), CorruptHistory);
}

// --- faults of a node ---------------------------------------------------------------------------------------------

TEST(GraphFaults, a_node_without_a_verb_or_with_two) {
  EXPECT_EQ(faults_without("/nodes/pause", "wait"),
            Faults{"Expected node \"pause\" to have one of do, ask, map, wait, call and end, but it has none."});
  EXPECT_EQ(
      faults_with("/nodes/pause/call", "other"),
      Faults{"Expected node \"pause\" to have one of do, ask, map, wait, call and end, but it has wait and call."});
  EXPECT_EQ(faults_with("/nodes/pause", 7), Faults{"Expected node \"pause\" to be an object, but it is 7."});
  EXPECT_EQ(faults_with("/nodes", Json::array()).front(), "Expected the graph's nodes to be an object, but it is [].");
}

TEST(GraphFaults, a_node_is_named_badly) {
  Json graph = whole();
  graph["nodes"]["Upper"] = {{"end", "done"}};
  graph["nodes"]["work"]["on"]["error"] = "Upper";
  EXPECT_EQ(graph_faults(graph, handlers),
            Faults{"Expected node \"Upper\" to be named by lower-case letters, digits and _, but it is not."});
}

TEST(GraphFaults, an_edge_leads_nowhere) {
  EXPECT_EQ(faults_with("/nodes/work/on/ok", "nowhere"),
            Faults{"Expected edge \"ok\" of node \"work\" to lead to a node, but there is no \"nowhere\"."});
  EXPECT_EQ(faults_with("/nodes/work/on/ok", Json::array()),
            Faults{"Expected edge \"ok\" of node \"work\" to lead to a node or to a list of nodes, but it is []."});
  EXPECT_EQ(
      faults_with("/nodes/work/on/ok", {"over", 5}),
      Faults{"Expected edge \"ok\" of node \"work\" to lead to a node or to a list of nodes, but it is [\"over\",5]."});
  EXPECT_EQ(faults_with("/nodes/pause/on", "over").front(),
            "Expected the edges (\"on\") of node \"pause\" to be an object, but it is \"over\".");
}

TEST(GraphFaults, an_unknown_handler) {
  EXPECT_EQ(faults_with("/nodes/work/do", "planner.other"),
            Faults{"Expected node \"work\" to have a known handler or to declare its labels, but there is no handler "
                   "planner.other."});
  EXPECT_EQ(
      faults_with("/nodes/work/do", "model.decide"),
      Faults{"Expected node \"work\" to declare the labels that model.decide leaves by, but it has no \"labels\"."});
  EXPECT_EQ(faults_with("/nodes/work/do", "other"),
            Faults{"Expected the handler of node \"work\" to be a name like planner.node, but it is \"other\"."});
}

TEST(GraphFaults, labels_and_edges_differ) {
  EXPECT_EQ(faults_without("/nodes/work/on", "ok"),
            (Faults{"Expected node \"work\" to have an edge for \"ok\", but it has none.",
                    "Expected node \"question\" to be reachable from \"work\", but no edge leads there."}));
  EXPECT_EQ(
      faults_with("/nodes/work/on/maybe", "over"),
      Faults{"Expected node \"work\" to leave by no, ok, error and exhausted only, but it has an edge for \"maybe\"."});
  EXPECT_EQ(faults_with("/nodes/far/labels", {"ok", "odd"}),
            Faults{"Expected node \"far\" to have an edge for \"odd\", but it has none."});
  EXPECT_EQ(faults_with("/nodes/far/labels", "ok"),
            Faults{"Expected the labels of node \"far\" to be a list of names, but it is \"ok\"."});
  EXPECT_EQ(
      faults_with("/nodes/work/labels", {"ok"}),
      Faults{"Expected the labels of node \"work\" to be those of planner.work (no and ok), but it is [\"ok\"]."});
  EXPECT_EQ(faults_with("/nodes/far/on/Odd", "over").front(),
            "Expected edge \"Odd\" of node \"far\" to be labelled by lower-case letters, digits and _, but it is not.");
}

TEST(GraphFaults, an_engine_label_without_an_edge) {
  EXPECT_EQ(faults_without("/nodes/question/on", "answered"),
            Faults{"Expected node \"question\" to have an edge for \"answered\", but it has none."});
  EXPECT_EQ(faults_without("/nodes/question/on", "expired"),
            Faults{"Expected node \"question\" to have an edge for \"expired\", but it has none."});
  EXPECT_EQ(faults_without("/nodes/goals/on", "joined").front(),
            "Expected node \"goals\" to have an edge for \"joined\", but it has none.");
  EXPECT_EQ(faults_without("/nodes/pause/on", "fired").front(),
            "Expected node \"pause\" to have an edge for \"fired\", but it has none.");
  EXPECT_EQ(faults_without("/nodes/signal/on", "timeout"),
            Faults{"Expected node \"signal\" to have an edge for \"timeout\", but it has none."});
  EXPECT_EQ(faults_without("/nodes/child/on", "failed").front(),
            "Expected node \"child\" to have an edge for \"failed\", but it has none.");
  EXPECT_EQ(faults_without("/nodes/child", "on").front(),
            "Expected node \"child\" to have an edge for \"done\", but it has none.");
}

TEST(GraphFaults, an_ask_with_a_default_needs_no_edge_for_expired) {
  Json graph = whole();
  graph["nodes"]["question"]["ask"]["default"] = nullptr;
  graph["nodes"]["question"]["on"].erase("expired");
  EXPECT_EQ(graph_faults(graph, handlers), Faults{});
}

TEST(GraphFaults, an_edge_that_can_never_be_taken) {
  EXPECT_EQ(faults_with("/nodes/far/on/exhausted", "over"),
            Faults{"Expected node \"far\" to spend a budget, but it has an edge for \"exhausted\" and no \"spends\"."});
  EXPECT_EQ(
      faults_with("/nodes/pause/on/timeout", "over"),
      Faults{
          "Expected node \"pause\" to leave by fired, error and exhausted only, but it has an edge for \"timeout\"."});
}

TEST(GraphFaults, a_key_that_the_verb_does_not_know) {
  EXPECT_EQ(
      faults_with("/nodes/work/into", "plain"),
      Faults{"Expected node \"work\" to have only the keys do, on, join, cache, queue, timeout_ms, spends, retry, "
             "labels and with, but it has \"into\"."});
  EXPECT_EQ(
      faults_with("/nodes/question/cache", true),
      Faults{"Expected node \"question\" to have only the keys ask, on, join, expires_ms, spends and into, but it has "
             "\"cache\"."});
  EXPECT_EQ(faults_with("/nodes/goals/queue", "q"), Faults{"Expected node \"goals\" to have only the keys map, on, "
                                                           "join, cache, timeout_ms, spends and retry, but it has "
                                                           "\"queue\"."});
  EXPECT_EQ(
      faults_with("/nodes/pause/retry", Json::object()),
      Faults{"Expected node \"pause\" to have only the keys wait, on, join, spends and into, but it has \"retry\"."});
  EXPECT_EQ(faults_with("/nodes/child/cache", true),
            Faults{"Expected node \"child\" to have only the keys call, on, join, spends, with and into, but it has "
                   "\"cache\"."});
  EXPECT_EQ(faults_with("/nodes/failed/join", true),
            Faults{"Expected node \"failed\" to have only the keys end, but it has \"join\"."});
}

TEST(GraphFaults, settings_of_another_kind) {
  EXPECT_EQ(faults_with("/nodes/work/join", "yes"),
            Faults{"Expected \"join\" of node \"work\" to be a boolean, but it is \"yes\"."});
  EXPECT_EQ(faults_with("/nodes/work/cache", 1),
            Faults{"Expected \"cache\" of node \"work\" to be a boolean, but it is 1."});
  EXPECT_EQ(faults_with("/nodes/work/timeout_ms", 0),
            Faults{"Expected \"timeout_ms\" of node \"work\" to be an integer from 1 to 1000000000000, but it is 0."});
  EXPECT_EQ(faults_with("/nodes/work/queue", "cairn.timer"),
            Faults{"Expected the queue of node \"work\" to be a name that does not begin with cairn., but it is "
                   "\"cairn.timer\"."});
  EXPECT_EQ(faults_with("/nodes/work/with", "$plain"),
            Faults{"Expected \"with\" of node \"work\" to be an object, but it is \"$plain\"."});
  EXPECT_EQ(faults_with("/nodes/signal/into", "a/b"),
            Faults{"Expected \"into\" of node \"signal\" to be a channel, but it is \"a/b\"."});
}

TEST(GraphFaults, a_handler_has_no_label_of_the_engine) {
  for (const char* label : {"error", "exhausted"}) {
    const Faults faults = faults_with("/nodes/far/labels", Json::array({"ok", label}));
    ASSERT_FALSE(faults.empty()) << label;
    EXPECT_EQ(faults.front(), "Expected the labels of node \"far\" to be a handler's own, but it has \"" +
                                  std::string(label) + "\", which is the engine's.");
  }
}

TEST(GraphFaults, retry) {
  EXPECT_EQ(faults_with("/nodes/work/retry", 3),
            Faults{"Expected the retry of node \"work\" to be an object, but it is 3."});
  EXPECT_EQ(
      faults_with("/nodes/work/retry/attempts", 0),
      Faults{
          "Expected \"attempts\" in the retry of node \"work\" to be an integer from 1 to 1000000000, but it is 0."});
  EXPECT_EQ(
      faults_with("/nodes/work/retry/lost", -1),
      Faults{"Expected \"lost\" in the retry of node \"work\" to be an integer from 0 to 1000000000, but it is -1."});
  EXPECT_EQ(faults_with("/nodes/work/retry/factor", 0.5),
            Faults{"Expected \"factor\" in the retry of node \"work\" to be a number from 1 to 1000, but it is 0.5."});
  EXPECT_EQ(faults_with("/nodes/work/retry/jitter", 2),
            Faults{"Expected \"jitter\" in the retry of node \"work\" to be a number from 0 to 1, but it is 2."});
  EXPECT_EQ(
      faults_with("/nodes/work/retry/times", 2),
      Faults{"Expected the retry of node \"work\" to have only the keys attempts, lost, backoff_ms, factor, max_ms and "
             "jitter, but it has \"times\"."});
}

TEST(GraphFaults, ask) {
  EXPECT_EQ(faults_with("/nodes/question/ask", "Go on?"),
            Faults{"Expected the question of node \"question\" to be an object, but it is \"Go on?\"."});
  EXPECT_EQ(
      faults_with("/nodes/question/ask/options", 1),
      Faults{
          "Expected the question of node \"question\" to have only the keys kind, prompt, schema and default, but it "
          "has \"options\"."});
  EXPECT_EQ(faults_with("/nodes/question/ask/kind", 1),
            Faults{"Expected the kind of the question of node \"question\" to be a text, but it is 1."});
  EXPECT_EQ(faults_with("/nodes/question/ask/schema", "string"),
            Faults{"Expected the schema of the question of node \"question\" to be an object, but it is \"string\"."});
  EXPECT_EQ(
      faults_with("/nodes/question/expires_ms", "1 day"),
      Faults{"Expected \"expires_ms\" of node \"question\" to be an integer from 0 to 1000000000000, but it is \"1 "
             "day\"."});
}

TEST(GraphFaults, map_and_call) {
  EXPECT_EQ(faults_with("/nodes/goals/map", "items"),
            Faults{"Expected node \"goals\" to map \"sub_goals\" or the items of a list, but it is \"items\"."});
  EXPECT_EQ(
      faults_with("/nodes/child/call", 1),
      Faults{"Expected the graph that node \"child\" calls to be lower-case letters, digits and _, but it is 1."});
}

TEST(GraphFaults, wait) {
  EXPECT_EQ(faults_with("/nodes/pause/wait", 10),
            Faults{"Expected the wait of node \"pause\" to be an object, but it is 10."});
  EXPECT_EQ(faults_with("/nodes/pause/wait", Json::object()),
            Faults{"Expected the wait of node \"pause\" to have one of ms, until and signal, but it is {}."});
  EXPECT_EQ(faults_with("/nodes/pause/wait/signal", "go"),
            Faults{"Expected the wait of node \"pause\" to have one of ms, until and signal, but it is "
                   "{\"ms\":10,\"signal\":\"go\"}."});
  EXPECT_EQ(
      faults_with("/nodes/pause/wait/ms", -1),
      Faults{"Expected \"ms\" in the wait of node \"pause\" to be an integer from 0 to 1000000000000, but it is -1."});
  EXPECT_EQ(faults_with("/nodes/pause/wait/ms", "$plain/delay"), Faults{});
  EXPECT_EQ(faults_with("/nodes/until/wait/until", "tomorrow"),
            Faults{"Expected \"until\" in the wait of node \"until\" to be a time like 2026-11-21T22:23:47Z, but it is "
                   "\"tomorrow\"."});
  EXPECT_EQ(faults_with("/nodes/signal/wait/signal", ""),
            Faults{"Expected the signal of node \"signal\" to be a text, but it is \"\"."});
  EXPECT_EQ(faults_with("/nodes/pause/wait/timeout_ms", 5).front(),
            "Expected node \"pause\" to wait for a signal, but it has a \"timeout_ms\" without one.");
  EXPECT_EQ(
      faults_with("/nodes/pause/wait/day", 5),
      Faults{"Expected the wait of node \"pause\" to have only the keys ms, until, signal and timeout_ms, but it has "
             "\"day\"."});
}

TEST(GraphFaults, end) {
  EXPECT_EQ(faults_with("/nodes/failed/end", "late"),
            Faults{"Expected the status of node \"failed\" to be done, failed or aborted, but it is \"late\"."});
  EXPECT_EQ(faults_without("/nodes/over/end", "status"),
            Faults{"Expected the status of node \"over\" to be done, failed or aborted, but it is missing."});
  EXPECT_EQ(faults_with("/nodes/over/end/reason", 1),
            Faults{"Expected the reason of node \"over\" to be a text, but it is 1."});
  EXPECT_EQ(
      faults_with("/nodes/over/end/why", 1),
      Faults{"Expected the end of node \"over\" to have only the keys status, reason and output, but it has \"why\"."});
  EXPECT_EQ(faults_with("/nodes/failed/on", {{"ok", "over"}}).front(),
            "Expected node \"failed\" to have only the keys end, but it has \"on\".");
}

TEST(GraphFaults, a_misspelt_word_is_told_with_the_one_that_was_meant) {
  const auto ends = [](const Faults& faults, const std::string& with) {
    return !faults.empty() && faults.front().ends_with(with);
  };
  EXPECT_TRUE(ends(faults_with("/finaly", "work"), "but it has \"finaly\" (did you mean finally?)."));
  EXPECT_TRUE(ends(faults_with("/start", "wrok"), "but there is no \"wrok\" (did you mean work?)."));
  EXPECT_TRUE(ends(faults_with("/nodes/work/on/ok", "wrok"), "but there is no \"wrok\" (did you mean work?)."));
  EXPECT_TRUE(ends(faults_with("/nodes/work/timeuot_ms", 1), "(did you mean timeout_ms?)."));
  EXPECT_TRUE(ends(faults_with("/nodes/work/retry/atempts", 1), "(did you mean attempts?)."));
  EXPECT_TRUE(ends(faults_with("/nodes/work/on/exhasted", "over"), "(did you mean exhausted?)."));
  EXPECT_TRUE(ends(faults_with("/nodes/pause/wait/untill", 1), "(did you mean until?)."));
  EXPECT_TRUE(ends(faults_with("/nodes/goals/map", "sub_gaols"), "but it is \"sub_gaols\" (did you mean sub_goals?)."));
  EXPECT_TRUE(ends(faults_with("/channels/sum/reducer", "apend"), "but it is \"apend\" (did you mean append?)."));
  EXPECT_TRUE(ends(faults_with("/nodes/failed/end", "faild"), "but it is \"faild\" (did you mean failed?)."));
  EXPECT_EQ(faults_with("/nodes/asks", {{"aks", Json::object()}, {"on", {{"answered", "over"}}}}).front(),
            "Expected node \"asks\" to have one of do, ask, map, wait, call and end, but it has none, but \"aks\" (did "
            "you mean ask?).");
}

TEST(GraphFaults, several_are_told_at_once) {
  Json graph = whole();
  graph["limits"] = Json::object();
  graph["nodes"]["goals"]["map"] = "items";
  graph["nodes"]["lonely"] = {{"end", "done"}};
  EXPECT_EQ(graph_faults(graph, handlers),
            (Faults{"Expected the limit of steps to be an integer from 1 to 1000000000, but it is missing.",
                    "Expected node \"goals\" to map \"sub_goals\" or the items of a list, but it is \"items\".",
                    "Expected node \"lonely\" to be reachable from \"work\", but no edge leads there."}));
}

TEST(GraphFaults, parsing_refuses_with_the_first_of_them) {
  Json graph = {{"name", "bad"}, {"start", "a"}, {"nodes", Json::object()}};
  for (const char* name : {"b", "c", "d", "e", "f"}) graph["nodes"][name] = 1;
  const auto refused = parse_graph(graph, "v", handlers);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid);
  EXPECT_EQ(refused.error().message,
            "Expected the graph's limits to be an object, but it is missing. Expected node \"b\" to be an object, but "
            "it is 1. "
            "Expected node \"c\" to be an object, but it is 1. Expected node \"d\" to be an object, but it is 1. "
            "Expected node \"e\" to be an object, but it is 1. (2 more faults.)");
}

// --- faults of the whole: what a walk finds -----------------------------------------------------------------------

TEST(GraphWalk, an_unreachable_node) {
  EXPECT_EQ(walk(R"({"start": {"ok": "end"}, "island": {"ok": "end"}})"),
            Faults{"Expected node \"island\" to be reachable from \"start\", but no edge leads there."});
}

TEST(GraphWalk, a_node_from_which_no_end_can_be_reached) {
  EXPECT_EQ(walk(R"({"start": {"ok": "end", "no": "round"}, "round": {"ok": "again"}, "again": {"ok": "round"}})"),
            (Faults{"Expected an end to be reachable from node \"again\", but there is none.",
                    "Expected an end to be reachable from node \"round\", but there is none."}));
}

TEST(GraphWalk, a_fan_out_and_its_join) {
  EXPECT_EQ(walk(R"({"start": {"ok": ["a", "b"]}, "a": {"ok": "join"}, "b": {"ok": "join"}, "join+": {"ok": "end"}})"),
            Faults{});
}

TEST(GraphWalk, a_branch_may_end_or_arrive_at_once_or_loop) {
  EXPECT_EQ(
      walk(R"({"start": {"ok": ["a", "join", "c"]}, "a": {"ok": "join", "again": "a", "no": "end"}, "c": {"ok": "end"},
                     "join+": {"ok": "end"}})"),
      Faults{});
}

TEST(GraphWalk, one_branch_in_a_list_is_no_fan_out) {
  EXPECT_EQ(walk(R"({"start": {"ok": ["a"]}, "a": {"ok": "end"}})"), Faults{});
  EXPECT_EQ(
      walk(R"({"start": {"ok": ["a"]}, "a": {"ok": "join"}, "join+": {"ok": "end"}})"),
      Faults{
          "Expected join \"join\" to be reached by branches of a fan-out only, but it can be reached outside of one."});
}

TEST(GraphWalk, nested_fan_outs) {
  EXPECT_EQ(walk(R"({"start": {"ok": ["a", "b"]}, "a": {"ok": ["c", "d"]}, "c": {"ok": "inner"}, "d": {"ok": "inner"},
                     "inner+": {"ok": "outer"}, "b": {"ok": "outer"}, "outer+": {"ok": "end"}})"),
            Faults{});
}

TEST(GraphWalk, a_fan_out_in_a_loop_that_joins_first) {
  EXPECT_EQ(walk(R"({"start": {"ok": ["a", "b"]}, "a": {"ok": "join"}, "b": {"ok": "join"},
                     "join+": {"ok": "end", "again": "start"}})"),
            Faults{});
}

TEST(GraphWalk, a_join_outside_of_a_fan_out) {
  EXPECT_EQ(
      walk(R"({"start": {"ok": "join"}, "join+": {"ok": "end"}})"),
      Faults{
          "Expected join \"join\" to be reached by branches of a fan-out only, but it can be reached outside of one."});
  EXPECT_EQ(walk(R"({"start+": {"ok": "end"}})"), Faults{"Expected join \"start\" to be reached by branches of a "
                                                         "fan-out only, but it can be reached outside of one."});
  EXPECT_EQ(
      walk(R"({"start": {"ok": ["a", "b"], "no": "join"}, "a": {"ok": "join"}, "b": {"ok": "join"},
                     "join+": {"ok": "end"}})"),
      Faults{
          "Expected join \"join\" to be reached by branches of a fan-out only, but it can be reached outside of one."});
}

TEST(GraphWalk, a_second_join_after_the_first_is_outside) {
  EXPECT_EQ(
      walk(R"({"start": {"ok": ["a", "b"]}, "a": {"ok": "join"}, "b": {"ok": "join"}, "join+": {"ok": "more"},
                     "more+": {"ok": "end"}})"),
      Faults{
          "Expected join \"more\" to be reached by branches of a fan-out only, but it can be reached outside of one."});
}

TEST(GraphWalk, branches_that_reach_two_joins) {
  EXPECT_EQ(
      walk(R"({"start": {"ok": ["a", "b"]}, "a": {"ok": "left"}, "b": {"ok": "right"}, "left+": {"ok": "end"},
                     "right+": {"ok": "end"}})"),
      Faults{"Expected all branches of fan-out \"ok\" of node \"start\" to reach one join, but they reach \"left\" and "
             "\"right\"."});
}

TEST(GraphWalk, one_branch_that_may_reach_two_joins) {
  EXPECT_EQ(
      walk(R"({"start": {"ok": ["a", "b"]}, "a": {"ok": "left", "no": "right"}, "b": {"ok": "left"},
                     "left+": {"ok": "end"}, "right+": {"ok": "end"}})"),
      Faults{"Expected all branches of fan-out \"ok\" of node \"start\" to reach one join, but they reach \"left\" and "
             "\"right\"."});
}

TEST(GraphWalk, a_fan_out_that_opens_inside_itself) {
  EXPECT_EQ(
      walk(R"({"start": {"ok": ["a", "b"]}, "a": {"ok": "join", "again": "start"}, "b": {"ok": "join"},
                     "join+": {"ok": "end"}})"),
      Faults{"Expected fan-out \"ok\" of node \"start\" to be joined before it opens again, but it can open inside "
             "itself."});
}

TEST(GraphWalk, two_fan_outs_that_open_inside_each_other) {
  EXPECT_EQ(
      walk(R"({"start": {"ok": ["a", "b"]}, "a": {"ok": "join", "more": "second"}, "b": {"ok": "join"},
                     "second": {"ok": ["c", "d"]}, "c": {"ok": "join", "back": "start"}, "d": {"ok": "join"},
                     "join+": {"ok": "end"}})"),
      (Faults{"Expected fan-out \"ok\" of node \"second\" to be joined before it opens again, but it can open inside "
              "itself.",
              "Expected fan-out \"ok\" of node \"start\" to be joined before it opens again, but it can open inside "
              "itself."}));
}

TEST(GraphWalk, one_join_cannot_serve_a_fan_out_and_the_one_inside_it) {
  EXPECT_EQ(
      walk(R"({"start": {"ok": ["a", "b"]}, "a": {"ok": ["c", "d"]}, "c": {"ok": "join"}, "d": {"ok": "join"},
                     "b": {"ok": "join"}, "join+": {"ok": "more"}, "more+": {"ok": "end"}})"),
      (Faults{
          "Expected join \"more\" to be reached by branches of a fan-out only, but it can be reached outside of one.",
          "Expected all branches of fan-out \"ok\" of node \"start\" to reach one join, but they reach \"join\" and "
          "\"more\"."}));
}

TEST(GraphFaults, too_many_nodes) {
  Json graph = whole();
  for (int i = 0; i < 10'000; ++i) graph["nodes"]["n" + std::to_string(i)] = {{"end", "done"}};
  EXPECT_EQ(graph_faults(graph, handlers).front(), "Expected the graph to have at most 10000 nodes, but it has 10010.");
}

TEST(GraphWalk, hundreds_of_fan_outs_in_any_order_are_walked_quickly) {
  Json shape;
  const int width = 200;
  shape["start"] = Json::object();
  for (int i = 0; i < width; ++i) {
    const std::string n = std::to_string(i);
    shape["start"]["to" + n] = "fork" + n;
    shape["fork" + n] = {{"ok", {"left" + n, "right" + n}}};
    shape["left" + n] = {{"ok", "join" + n}};
    shape["right" + n] = {{"ok", "join" + n}};
    for (int j = i + 1; j < width; j += 7) shape["left" + n]["in" + std::to_string(j)] = "fork" + std::to_string(j);
    shape["join" + n + "+"] = {{"ok", i + 1 == width ? "end" : "start"}};
  }
  const Faults faults = walk(shape.dump());
  EXPECT_FALSE(faults.empty());  // what is joined inside another fan-out leads back to the start
}

// --- stored graphs, drawings, the registry ------------------------------------------------------------------------

TEST(Graph, a_stored_one_is_built_without_its_handlers) {
  EXPECT_EQ(stored_graph(whole(), "v2")->version, "v2");
  EXPECT_EQ(stored_graph(whole(), "v2")->text, parsed(whole())->text);
}

TEST(Graph, a_stored_one_that_is_none_is_a_corrupt_history) {
  for (
      const char* text :
      {"[]", "{}", "1", R"({"name":"x","start":"y","limits":{"steps":1},"nodes":{}})",
       R"({"name":"x","start":"y","limits":{"steps":1},"nodes":{"y":{}}})",
       R"({"name":"x","start":"y","limits":{"steps":1},"nodes":{"y":{"do":"a.b","on":{"ok":"z"}}}})",
       R"({"name":"x","start":"y","limits":{"steps":1},"channels":{"c":{"reducer":"mean"}},"nodes":{"y":{"end":"done"}}})"}) {
    EXPECT_THROW(stored_graph(Json::parse(text), "v"), CorruptHistory) << text;
  }
}

// Each fault was once found only when a run reached it.
TEST(Graph, a_stored_one_with_a_setting_of_another_kind_is_found_out_when_it_is_loaded) {
  const auto with_node = [](const char* node) {
    Json graph = whole();
    graph["nodes"]["signal"] = Json::parse(node);
    return graph;
  };
  EXPECT_NO_THROW(stored_graph(with_node(R"({"wait":{"signal":"go"},"on":{"fired":"over"}})"), "v"));
  for (const char* node : {R"({"wait":{"signal":7},"on":{"fired":"over"}})",
                           R"({"ask":{"kind":7},"on":{"answered":"over"}})", R"({"call":7,"on":{"done":"over"}})",
                           R"({"map":"files","on":{"joined":"over"}})", R"({"do":"x.y","queue":7,"on":{"ok":"over"}})",
                           R"({"do":"x.y","labels":[7],"on":{"ok":"over"}})", R"({"end":7})", R"({"end":"running"})",
                           R"({"end":"over"})", R"({"end":{"status":7}})", R"({"end":{"status":"done","reason":7}})"}) {
    EXPECT_THROW(stored_graph(with_node(node), "v"), CorruptHistory) << node;
    EXPECT_FALSE(graph_faults(with_node(node), handlers).empty()) << node;
  }
}

TEST(Graph, a_wait_and_an_ask_know_until_when) {
  const auto due_of = [](const char* node) {
    Json graph = whole();
    graph["nodes"]["signal"] = Json::parse(node);
    const GraphRef built = stored_graph(graph, "v");
    const Node& found = built->node(built->find("signal"));
    return found.as<AskNode>() != nullptr ? found.as<AskNode>()->expires : found.as<WaitNode>()->due;
  };
  const auto until = due_of(R"({"wait":{"until":"2026-11-21T22:23:47Z"},"on":{"fired":"over"}})");
  EXPECT_EQ(until->kind, DueSetting::Kind::at_time);
  EXPECT_EQ(until->value, "2026-11-21T22:23:47Z");
  EXPECT_EQ(due_of(R"({"wait":{"ms":"$plain"},"on":{"fired":"over"}})")->value, "$plain");
  EXPECT_EQ(due_of(R"({"ask":{"prompt":"?"},"expires_ms":8,"on":{"answered":"over"}})")->value, 8);
  EXPECT_EQ(due_of(R"({"wait":{"signal":"go"},"on":{"fired":"over"}})"), std::nullopt);
  EXPECT_EQ(due_of(R"({"ask":{"prompt":"?"},"on":{"answered":"over"}})"), std::nullopt);
}

const Json small = Json::parse(R"({"name": "small", "start": "fork", "limits": {"steps": 9}, "nodes": {
  "fork": {"do": "some.fork", "labels": ["ok"], "on": {"ok": ["ask", "goals"]}},
  "ask": {"ask": {"kind": "say \"x\"", "prompt": "?"}, "on": {"answered": "join", "expired": "over"}},
  "goals": {"map": "sub_goals", "on": {"joined": "join"}},
  "join": {"wait": {"ms": 5}, "join": true, "on": {"fired": "child"}},
  "child": {"call": "small", "on": {"done": "over", "failed": "over"}},
  "over": {"end": "done"}}})");

TEST(Graph, drawn_for_mermaid) {
  EXPECT_EQ(mermaid(*parsed(small)), R"(flowchart TD
  start((start)) --> n2
  n0[/"ask<br/>ask #quot;say #92;#quot;x#92;#quot;#quot;"/]
  n1[("child<br/>call small")]
  n2["fork<br/>do some.fork"]
  n3[["goals<br/>map sub_goals"]]
  n4{{"join<br/>wait {#quot;ms#quot;:5}"}}
  n5(["over<br/>end #quot;done#quot;"])
  n0 -->|answered| n4
  n0 -->|expired| n5
  n1 -->|done| n5
  n1 -->|failed| n5
  n2 ==>|ok| n0
  n2 ==>|ok| n3
  n3 -->|joined| n4
  n4 -->|fired| n1
)");
}

TEST(Graph, drawn_for_dot) {
  EXPECT_EQ(dot(*parsed(small)), R"(digraph "small" {
  rankdir=TB;
  "." [shape=circle, label=""];
  "ask" [shape=parallelogram, label="ask\nask \"say \\\"x\\\"\""];
  "child" [shape=component, label="child\ncall small"];
  "fork" [shape=box, label="fork\ndo some.fork"];
  "goals" [shape=box3d, label="goals\nmap sub_goals"];
  "join" [shape=hexagon, label="join\nwait {\"ms\":5}"];
  "over" [shape=oval, label="over\nend \"done\""];
  "." -> "fork";
  "ask" -> "join" [label="answered"];
  "ask" -> "over" [label="expired"];
  "child" -> "over" [label="done"];
  "child" -> "over" [label="failed"];
  "fork" -> "ask" [label="ok", style=bold];
  "fork" -> "goals" [label="ok", style=bold];
  "goals" -> "join" [label="joined"];
  "join" -> "child" [label="fired"];
}
)");
}

TEST(Graphs, finds_versions_and_the_current_one_of_a_name) {
  Graphs graphs;
  EXPECT_EQ(graphs.current("small"), nullptr);
  EXPECT_EQ(graphs.by_version("v1"), nullptr);
  const GraphRef first = stored_graph(small, "v1");
  const GraphRef second = stored_graph(small, "v2");
  const GraphRef third = stored_graph(small, "v3");
  graphs.add(first, true);
  graphs.add(second, true);
  graphs.add(third, false);
  EXPECT_EQ(graphs.by_version("v1"), first);
  EXPECT_EQ(graphs.by_version("v3"), third);
  EXPECT_EQ(graphs.current("small"), second);
}

}  // namespace
}  // namespace cairn
