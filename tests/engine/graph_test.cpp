// Graphs as they are built, read from the store and drawn.
#include "engine/graph.hpp"

#include <gtest/gtest.h>

#include "engine/corrupt_history.hpp"
#include "engine/graph_drawing.hpp"
#include "engine/graph_keep.hpp"
#include "tests/engine/whole_graph.hpp"

namespace cairn {
namespace {

using whole_graph::Faults;
using whole_graph::handlers;
using whole_graph::whole;

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
