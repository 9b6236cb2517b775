// Shared parts of the seven-node agent's tests: questions and replies by a few words. The graph is the real one, with
// scripted replies or the rule book in a model's place. For one thread.
#pragma once

#include <boost/asio.hpp>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/paths.hpp"
#include "tests/workers/planners/planner_run.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/tools.hpp"
#include "workers/rule_book.hpp"

namespace cairn::test::seven {

inline const std::string numstat = testing::source_dir() + "/tests/samples/gitlog/medusa-numstat.tsv";

inline Json question(const std::string& text) { return {{"repository", numstat}, {"question", text}}; }

inline std::unique_ptr<Model> rules() { return make_rule_model(rule_book_name, answer_by_rules); }

inline Json says(const std::string& node, Json value) { return {{"node", node}, {"value", std::move(value)}}; }
inline Json fails(const std::string& node) {
  return {{"node", node}, {"error", {{"error", "refused"}, {"message", "The model is out."}, {"retryable", false}}}};
}

inline const Json passes = says("guardrail", {{"on_topic", true}, {"reason", "It is about code."}});
inline const Json is_clear =
    says("intent_parser", {{"intent", "ownership"}, {"entities", {"pricing"}}, {"reason", "Clear."}});

inline Json calls(const std::vector<std::string>& places) {
  Json list = Json::array();
  for (const std::string& place : places) {
    list.push_back({{"tool", "owners"}, {"inputs", {{"path", place}}}, {"why", "It is asked for."}});
  }
  return says("query_planner", {{"calls", list}});
}
inline Json reflects(const std::string& verdict, const std::string& gap) {
  return says("reflector", {{"verdict", verdict}, {"gap", gap}});
}
inline Json answers(const std::string& text) { return says("response_generator", {{"answer", text}}); }

inline std::unique_ptr<Model> script(const std::vector<Json>& replies) {
  return make_scripted_model({{"replies", replies}});
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Fails always, as a tool whose database is down.
inline std::unique_ptr<Tools> broken_owners() {
  ToolSpec spec;
  spec.name = "owners";
  spec.does = NativeTool([](const ToolCall&) { return Failure{"error", "The database is down.", false, {}}; });
  return make_tools({spec}, 1);
}

}  // namespace cairn::test::seven
