// Faults of a graph and of its nodes, one sentence each.
#include <algorithm>
#include <gtest/gtest.h>

#include "engine/findings.hpp"
#include "engine/graph_expose.hpp"
#include "engine/graph_review.hpp"
#include "tests/engine/whole_graph.hpp"
#include "tests/thread_seconds.hpp"

namespace cairn {
namespace {

using whole_graph::Faults;
using whole_graph::faults_with;
using whole_graph::faults_without;
using whole_graph::handlers;
using whole_graph::whole;

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

// H2, H3: each fault was compared with all that is known, and named all that is allowed: minutes and gigabytes of the
// process that was given a graph of a megabyte.
TEST(GraphFaults, H2_of_very_many_the_first_are_told_and_how_many_more_there_are) {
  Json nodes = {{"z", {{"end", "done"}}}};
  for (int n = 0; n < 5'000; ++n) {
    const std::string node = "n" + std::to_string(n) + "_abcdefghij";
    nodes[node] = {{"map", "sub_goals"}, {"on", {{"joined", "x" + node}}}};
  }
  const Json graph = {
      {"name", "many"}, {"start", "n0_abcdefghij"}, {"limits", {{"steps", 9}}}, {"nodes", std::move(nodes)}};
  const double began = test::thread_seconds();
  const Faults faults = graph_faults(graph, handlers);
  EXPECT_LT(test::thread_seconds() - began, 5);
  ASSERT_EQ(faults.size(), findings_max + 1);
  EXPECT_NE(faults.front().find("did you mean n0_abcdefghij?"), std::string::npos) << faults.front();
  EXPECT_EQ(faults.back(), "Expected at most 1000 faults in a graph, but there are 4000 more.");
}

TEST(GraphFaults, H2_of_very_many_warnings_the_first_are_told_and_how_many_more_there_are) {
  Json graph = {{"name", "many"}, {"start", "n0"}, {"limits", {{"steps", 2'000}}}};
  for (int n = 0; n < 1'200; ++n)
    graph["nodes"]["n" + std::to_string(n)] = {
        {"do", "x.y"}, {"labels", {"ok"}}, {"queue", "far"}, {"on", {{"ok", "n" + std::to_string(n + 1)}}}};
  graph["nodes"]["n1200"] = {{"end", "done"}};
  Surroundings around;
  around.handler_names = Names{"x.y"};
  around.queues = Names{"default"};
  const GraphReview review = review_graph(graph, around);
  EXPECT_EQ(review.faults, Faults{});
  ASSERT_EQ(review.warnings.size(), findings_max + 1);
  EXPECT_EQ(review.warnings.back(), "Expected at most 1000 warnings in a graph, but there are 200 more.");
}

// Each branching walked the rest of the graph: fifteen seconds for three quarters of a megabyte.
TEST(GraphFaults, H2_a_graph_of_branchings_alone_is_reviewed_in_time) {
  Json graph = {{"name", "wide"}, {"start", "n0"}, {"limits", {{"steps", 100'000}}}};
  for (int n = 0; n < 9'990; ++n)
    graph["nodes"]["n" + std::to_string(n)] = {
        {"do", "x.y"},
        {"labels", {"ok"}},
        {"on", {{"ok", {"n" + std::to_string(n + 1), "n" + std::to_string(std::min(n + 2, 9'990))}}}}};
  graph["nodes"]["n9990"] = {{"end", "done"}};
  Surroundings around;
  around.handler_names = Names{"x.y"};
  const double began = test::thread_seconds();
  EXPECT_EQ(review_graph(graph, around).faults, Faults{});
  EXPECT_LT(test::thread_seconds() - began, 5 * test::slowness);
}

TEST(GraphFaults, H3_long_names_and_long_lists_are_cut) {
  Json node = {{"do", "x.y"}, {"labels", Json::array()}, {"on", Json::object()}};
  for (int n = 0; n < 2'000; ++n) {
    node["labels"].push_back("l" + std::to_string(n));
    node["on"]["m" + std::to_string(n)] = "z";
    node["key" + std::to_string(n)] = 1;
  }
  const Json graph = {{"name", "long"},
                      {"start", "z"},
                      {"limits", {{"steps", 9}}},
                      {"nodes", {{std::string(300'000, 'n'), node}, {"z", {{"end", "done"}}}}}};
  const Faults faults = graph_faults(graph, handlers);
  std::size_t bytes = 0;
  for (const std::string& says : faults) bytes += says.size();
  EXPECT_EQ(faults.size(), findings_max + 1);
  EXPECT_LT(bytes, 2'500 * faults.size());
  Json many = Json::array();
  for (int n = 0; n < 2'000; ++n) many.push_back("l" + std::to_string(n));
  Json one = {{"do", "x.y"}, {"labels", many}, {"on", {{"other", "z"}}}};
  for (const Json& label : many) one["on"][label.get<std::string>()] = "z";
  const Faults listed = graph_faults(
      {{"name", "long"}, {"start", "a"}, {"limits", {{"steps", 9}}}, {"nodes", {{"a", one}, {"z", {{"end", "done"}}}}}},
      handlers);
  ASSERT_EQ(listed.size(), 1u) << listed.front();
  EXPECT_NE(listed[0].find(", l49 and 1952 others only, but it has an edge for \"other\""), std::string::npos)
      << listed[0];
}

TEST(GraphFaults, the_address_of_a_resource) {
  const std::optional<ResourceAddress> address = resource_address("shop://{owner}/orders/{id}.txt");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->texts, (std::vector<std::string>{"shop://", "/orders/", ".txt"}));
  EXPECT_EQ(address->names, (std::vector<std::string>{"owner", "id"}));
  EXPECT_EQ(resource_address("a:b")->texts, std::vector<std::string>{"a:b"});
  EXPECT_TRUE(resource_address("a:" + std::string(498, 'x')));
  for (const std::string bad : {"", "a:", ":b", "no uri", "A:b", "1a:b", "{a}:b", "a:{x}{y}", "a:{x}-{x}", "a:{X}",
                                "a:{}", "a:{x", "a:x}", "a:b#c", "a:%20", "a:\xc3\xbc", "a:b\n"})
    EXPECT_FALSE(resource_address(bad)) << bad;
  EXPECT_FALSE(resource_address("a:" + std::string(499, 'x')));
}

TEST(GraphFaults, too_many_nodes) {
  Json graph = whole();
  for (int i = 0; i < 10'000; ++i) graph["nodes"]["n" + std::to_string(i)] = {{"end", "done"}};
  EXPECT_EQ(graph_faults(graph, handlers).front(), "Expected the graph to have at most 10000 nodes, but it has 10010.");
}

}  // namespace
}  // namespace cairn
