#include "workers/planners/plan_decomposer/rules.hpp"

#include <algorithm>
#include <utility>

#include "workers/models/models.hpp"
#include "workers/planners/plan_decomposer/outline.hpp"
#include "workers/planners/plan_decomposer/prompts.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

// A name that stands for a task elsewhere in the plan is its id; any other is left for the plan to refuse.
std::string resolved(const std::string& name, const Json& shown) {
  const auto found =
      std::find_if(shown.begin(), shown.end(), [&name](const Json& row) { return row.at("name") == name; });
  return found == shown.end() ? name : found->at("id").get<std::string>();
}

// More items than ids are left, too: the plan's limit is not the rule book's to hold.
std::vector<std::string> ids_for(const std::vector<OutlineItem>& items, const Json& child_ids) {
  std::vector<std::string> ids = child_ids.get<std::vector<std::string>>();
  while (ids.size() < items.size()) ids.push_back(items[ids.size()].name);
  return ids;
}

Json reply_to(const Json& data) {
  const Json& target = data.at("target_task");
  const std::vector<OutlineItem> items = split_outline(target.at("instruction").get<std::string>());
  const std::vector<std::string> ids = ids_for(items, data.at("constraints").at("child_ids"));
  Json children = Json::array();
  for (PlanNode& task : tasks_of(items, target.at("id"), ids)) {
    Json dependencies = Json::array();
    for (const std::string& id : task.dependencies)
      dependencies.push_back(resolved(id, data.at("plan_outline").at("shown")));
    children.push_back({{"name", task.name},
                        {"instruction", task.instruction},
                        {"dependencies", std::move(dependencies)},
                        {"context", task.context},
                        {"leaf", task.leaf}});
  }
  const std::string reason = items.empty() ? "The text of the task has neither headings nor a list."
                                           : "The text of the task has " + std::to_string(items.size()) + " parts.";
  return {{"target_node_id", target.at("id")},
          {"mode", data.at("mode_hint")},
          {"should_stop", false},
          {"reason", reason},
          {"children", std::move(children)}};
}

}  // namespace

bool is_decomposition_prompt(const ModelRequest& request) { return request.schema_name == decomposition_schema; }

ModelAnswer answer_decomposition_prompt(const ModelRequest& request) {
  if (!is_decomposition_prompt(request) || !request.messages.is_array() || request.messages.empty()) {
    return failure("refused", "Expected a prompt of plan_decomposer, but node " + request.node + " asks otherwise.",
                   false);
  }
  const Result<Json> data = parse_json(request.messages.back().value("content", ""), "the last message of the prompt");
  if (!data) return failure("refused", data.error().message, false);
  return rule_reply(reply_to(*data));
}

}  // namespace cairn
