// Faults that a walk over the whole graph finds: ends out of reach, fan-outs without their join.
#include <gtest/gtest.h>

#include "tests/engine/whole_graph.hpp"

namespace cairn {
namespace {

using whole_graph::Faults;
using whole_graph::handlers;

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

}  // namespace
}  // namespace cairn
