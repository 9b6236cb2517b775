#include "workers/planners/venture_scope/rules.hpp"

#include <algorithm>
#include <string>

#include "workers/handlers/model_call.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/planners/venture_scope/parts.hpp"
#include "workers/planners/venture_scope/prompts.hpp"
#include "workers/planners/venture_scope/question.hpp"
#include "workers/planners/venture_scope/readings.hpp"

namespace cairn {
namespace {

bool has(const Json& list, const char* word) { return std::find(list.begin(), list.end(), word) != list.end(); }

Json decided(const char* action, const Json& row, const std::string& reason) {
  Json decision = {{"action", action}, {"target_path", ""}, {"query", ""}, {"question", ""}, {"reason", reason}};
  if (row.is_object()) decision["target_path"] = row.at("path");
  if (decision["action"] == "search") decision["query"] = row.at("query");
  if (decision["action"] == "ask_user") decision["question"] = row.at("question");
  return decision;
}

}  // namespace

bool is_venture_prompt(const ModelRequest& request) {
  const std::string& name = request.schema_name;
  return name == planner_decision_schema || name == extraction_schema || name == question_schema ||
         name == parts_schema;
}

ModelAnswer answer_venture_prompt(const ModelRequest& request) {
  if (request.schema_name == extraction_schema) return rule_reply(extract_by_rules(prompt_data(request)));
  if (request.schema_name == question_schema)
    return rule_reply(read_question_by_rules(text_of(prompt_data(request), "question")));
  if (request.schema_name == parts_schema)
    return rule_reply(
        {{"formula", ""}, {"parts", Json::array()}, {"reason", "By rule: only the profile knows parts."}});
  return rule_reply(decide_by_rules(prompt_data(request)));
}

Json decide_by_rules(const Json& data) {
  const Json left = data.value("left", Json::object());
  const auto has_left = [&left](const char* budget) {
    const Json count = left.value(budget, Json());
    return count.is_null() || count > 0;
  };
  for (const Json& row : data.value("missing", Json::array())) {
    const bool may_search = has(row.at("may"), "search") && row.at("searched") == 0 && has_left("search");
    const bool may_ask = has(row.at("may"), "user") && row.at("asked") == 0 && has_left("ask");
    const std::string path = row.at("path").get<std::string>();
    if (may_search && (row.at("may")[0] == "search" || !may_ask))
      return decided("search", row, "By rule: " + path + " is missing and has not been searched for.");
    if (may_ask) return decided("ask_user", row, "By rule: only a person can say " + path + ".");
  }
  const bool has_target = data.value("target", "") != "";
  if (has_target && !data.value("has_current_result", false) && has_left("calc"))
    return decided("calculate", nullptr, "By rule: nothing is left to look for.");
  return decided("finish", nullptr, "By rule: nothing is left to do.");
}

}  // namespace cairn
