// The models in a planner's input: names of its nodes, each with a model or fields of its requests. Anything else
// is refused at the start, and not left aside.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/workers/planners/planner_run.hpp"
#include "workers/models/models.hpp"
#include "workers/rule_book.hpp"

namespace cairn::test {
namespace {

// Each planner whose nodes may have models of their own, with one of them.
const std::map<std::string, std::string> nodes_with_models = {
    {"page_agent", "replanning"}, {"plan_and_do", "bind"}, {"round_planner", "plan_round"},
    {"seven_node", "reflector"},  {"tool_agent", "turn"},  {"venture_scope", "extract"}};

// The sentence of a refused start; "" if it was not refused.
std::string refusal_of_start(PlannerRun& planner, const std::string& graph, const char* name, Json value) {
  StartRun start;
  start.graph = graph;
  start.input = {{"question", "How much?"}};
  if (graph == "plan_and_do") start.input = {{"goal", "Get it done"}};
  start.input[name] = std::move(value);
  const Result<Started> started = planner.client().start(std::move(start), "");
  return started ? "" : started.error().message;
}

TEST(PlannerInputs, issue_20_1_models_and_options_of_nodes_that_there_are_not_are_refused) {
  PlannerRun planner(make_rule_model(rule_book_name, answer_by_rules));
  for (const auto& [graph, node] : nodes_with_models) {
    SCOPED_TRACE(graph);
    const std::string says = "In the input of graph " + graph + ": Expected the value";
    for (const Json& models : {Json("m"), Json{{node, 7}}, Json{{node + "s", "m"}}})
      EXPECT_TRUE(refusal_of_start(planner, graph, "models", models).starts_with(says)) << models;
    EXPECT_EQ(refusal_of_start(planner, graph, "models", {{node, "m"}}), "");
    EXPECT_TRUE(refusal_of_start(planner, graph, "model_options", "hot").starts_with(says));
    EXPECT_EQ(refusal_of_start(planner, graph, "model_options", {{node, {{"temperature", 0}}}}), "");
    if (graph == "venture_scope") continue;  // its options may be those of all nodes, too
    for (const Json& options : {Json{{node, 7}}, Json{{node + "s", Json::object()}}})
      EXPECT_TRUE(refusal_of_start(planner, graph, "model_options", options).starts_with(says)) << options;
  }
}

// A new node that asks a model is to be named there, too.
TEST(PlannerInputs, issue_20_1_the_names_are_those_that_the_graphs_read) {
  PlannerRun planner(make_rule_model(rule_book_name, answer_by_rules));
  for (const auto& [graph, known] : nodes_with_models) {
    SCOPED_TRACE(graph);
    const std::string text = planner.client().graphs().current(graph)->text;
    const Json properties = Json::parse(text)["input"]["properties"];
    for (const std::string name : {"models", "model_options"}) {
      if (graph == "venture_scope" && name == "model_options") continue;  // any, as they may be those of all nodes
      const Json names = properties[name]["propertyNames"]["enum"];
      EXPECT_NE(std::find(names.begin(), names.end(), known), names.end()) << name;
      const std::string begins = "\"" + name + "/";
      std::set<std::string> read;
      for (std::size_t at = text.find(begins); at != std::string::npos; at = text.find(begins, at + 1)) {
        const std::size_t from = at + begins.size();
        read.insert(text.substr(from, text.find('"', from) - from));
      }
      EXPECT_EQ(Json(read), names) << name;
    }
  }
}

}  // namespace
}  // namespace cairn::test
