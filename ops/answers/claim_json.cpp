#include "ops/answers/claim_json.hpp"

namespace cairn {
namespace {

Json goal_json(const GoalView& goal) {
  Json json = {{"id", goal.id}, {"tool", goal.tool}, {"inputs", goal.inputs}, {"status", to_string(goal.status)}};
  if (goal.status == GoalStatus::succeeded) json["outputs"] = goal.outputs;
  if (!goal.error.empty()) json["error"] = goal.error;
  if (!goal.message.empty()) json["message"] = goal.message;
  if (!goal.title.empty()) json["title"] = goal.title;
  if (!goal.parent.empty()) json["parent"] = goal.parent;
  if (!goal.after.empty()) json["after"] = goal.after;
  if (!goal.context.is_null()) json["context"] = goal.context;
  return json;
}

}  // namespace

Json claim_json(const RemoteClaim& claim) {
  const StepInput& input = claim.input;
  const bool is_tool = !input.tool.empty();
  Json json = {{"claim", to_text(claim.id)}, {"run", to_string(input.run)},
               {"graph", input.graph},       {"node", input.node},
               {"step", input.step},         {"attempt", input.attempt},
               {"key", input.key},           {"input", is_tool ? input.inputs : input.with},
               {"tags", input.tags},         {"deadline_ms", claim.timeout_ms}};
  if (is_tool) {
    json["tool"] = input.tool;
    json["sub_goal"] = input.sub_goal;
  } else {
    json["handler"] = claim.handler;
    if (!input.data.empty()) json["data"] = input.data;
    if (!input.given.is_null()) json["given"] = input.given;
    for (const GoalView& goal : input.plan) json["plan"].push_back(goal_json(goal));
  }
  if (!input.fault_error.empty()) json["failed"] = {{"error", input.fault_error}, {"message", input.fault}};
  return json;
}

Json report_json(const ClaimId& claim, const ReportReply& reply) {
  Json json = {{"claim", to_text(claim)}, {"status", to_string(reply.status)}};
  if (!reply.says.empty()) json["says"] = reply.says;
  return json;
}

}  // namespace cairn
