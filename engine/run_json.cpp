#include "engine/run_json.hpp"

#include "engine/codec.hpp"
#include "engine/event_types.hpp"

namespace cairn {
namespace {

// An open step's obstacle as far as the state alone shows it: the words of `cairn explain`, and "worker".
std::string_view waits_for(const RunState& state, const Step& step) {
  const Node& node = state.node(step);
  if (step.item >= 0) {
    if (call_of(state, step) != nullptr) return "child";
  } else if (step.goal < 0) {
    if (node.verb() == Verb::ask) return "question";
    if (const auto* wait = node.as<WaitNode>()) return wait->signal ? "signal" : "timer";
    if (node.verb() == Verb::map) return "map";
    if (node.verb() == Verb::call) return "child";
  }
  return step.run_at > state.last_at ? "retry" : "worker";
}

Json step_json(const RunState& state, const Step& step) {
  Json shown = {{"step", step.id},
                {"branch", step.branch},
                {"node", state.node(step).name},
                {"attempt", step.attempt},
                {"waits_for", waits_for(state, step)},
                {"opened_at", time_text(step.opened_at)}};
  if (step.goal >= 0) shown["sub_goal"] = goal_of(state, step).id;
  if (step.run_at > step.opened_at) shown["run_at"] = time_text(step.run_at);
  if (step.due) shown["due"] = time_text(*step.due);
  if (!step.error.empty()) shown["error"] = Json{{"error", step.error}, {"message", step.message}};
  if (!step.question.empty()) shown["question"] = step.question;
  if (!step.child.is_nil()) shown["child"] = to_string(step.child);
  if (step.map.open_goals > 0) shown["open_sub_goals"] = step.map.open_goals;
  if (step.item >= 0) shown["item"] = step.item;
  if (!step.map.items.is_null())
    shown["items"] = Json{{"of", step.map.items.size()},
                          {"opened", step.map.next_item},
                          {"open", step.map.open_items},
                          {"failed", step.map.failed.size()}};
  return shown;
}

Json goal_json(const SubGoal& goal) {
  Json shown = {{"id", goal.id}, {"status", to_string(goal.status)}};
  if (!goal.tool.empty()) {
    shown["tool"] = goal.tool;
    shown["inputs"] = goal.inputs;
  }
  if (!goal.title.empty()) shown["title"] = goal.title;
  if (!goal.parent.empty()) shown["parent"] = goal.parent;
  if (!goal.after.empty()) shown["after"] = goal.after;
  if (!goal.outputs.is_null()) shown["outputs"] = goal.outputs;
  if (!goal.error.empty()) shown["error"] = Json{{"error", goal.error}, {"message", goal.message}};
  if (goal.step != 0) shown["step"] = goal.step;
  return shown;
}

Json rejected_json(const RejectedGoal& goal) {
  return {{"id", goal.id}, {"tool", goal.tool}, {"status", "rejected"}, {"reason", goal.reason}};
}

Json question_json(const Question& question) {
  Json shown = {{"id", question.id}, {"step", question.step}, {"kind", question.kind}, {"prompt", question.prompt}};
  if (!question.schema.is_null()) shown["schema"] = question.schema;
  if (question.fallback) shown["default"] = *question.fallback;
  if (question.expires_at) shown["expires_at"] = time_text(*question.expires_at);
  return shown;
}

// In lists as in a state: always there, and null where there is none.
Json reason_json(const std::string& reason) { return reason.empty() ? Json(nullptr) : Json(reason); }

}  // namespace

void each_plan_line(const RunState& state, std::size_t after, const std::function<bool(Json line)>& take) {
  std::size_t place = 0;
  for (const auto& [id, branch] : state.branches) {
    for (const SubGoal& goal : branch.plan.goals)
      if (place++ >= after && !take(goal_json(goal))) return;
    for (const RejectedGoal& goal : branch.plan.rejected)
      if (place++ >= after && !take(rejected_json(goal))) return;
  }
}

Json plan_json(const RunState& state) {
  Json plan = Json::array();
  each_plan_line(state, 0, [&plan](Json line) {
    plan.push_back(std::move(line));
    return true;
  });
  return plan;
}

Json state_json(const RunState& state) {
  Json shown = {{"run", to_string(state.id)},        {"graph", state.graph->name}, {"version", state.graph->version},
                {"status", to_string(state.status)}, {"seq", state.seq},           {"steps", Json::array()},
                {"plan", plan_json(state)},          {"budgets", Json::object()},  {"questions", Json::array()}};
  if (is_waiting(state)) shown["status"] = "waiting";
  shown["input"] = parse_stored(state.input);
  shown["key"] = state.key.empty() ? Json(nullptr) : Json(state.key);
  shown["tags"] = state.tags;
  shown["started_at"] = time_text(state.started_at);
  shown["updated_at"] = time_text(state.last_at);
  if (const std::optional<TimeUs> due = due_of_run(state)) shown["due"] = time_text(*due);
  shown["parent"] = state.parent ? Json(to_string(state.parent->run)) : Json(nullptr);
  shown["continues"] = state.continues ? Json(to_string(*state.continues)) : Json(nullptr);
  if (state.forked_from)
    shown["forked_from"] = Json{{"run", to_string(state.forked_from->run)}, {"seq", state.forked_from->seq}};
  shown["channels"] = read_channels(state, root_branch);
  for (const auto& [id, step] : state.steps) shown["steps"].push_back(step_json(state, step));
  for (const auto& [name, use] : state.budgets) shown["budgets"][name] = Json{{"cap", use.cap}, {"used", use.used}};
  for (const auto& [id, question] : state.questions) shown["questions"].push_back(question_json(question));
  shown["reason"] = is_ended(state.status) ? reason_json(state.reason) : reason_json(state.pause_reason);
  if (state.ending && !is_ended(state.status)) {
    shown["ending"] = Json{{"status", to_string(state.ending->status)}, {"reason", reason_json(state.ending->reason)}};
    if (state.ending->cause) shown["ending"]["cause"] = cause_json(*state.ending->cause);
  }
  if (is_ended(state.status)) {
    shown["output"] = state.output;
    if (state.cause) shown["cause"] = cause_json(*state.cause);
  }
  return shown;
}

namespace {

// `line` is the payload in today's version.
Json with_envelope(Json line, const RunId& run, const StoredEvent& event, std::string_view type) {
  for (const char* time : {"started_at", "retry_at", "expires_at"})
    if (line.contains(time) && line[time].is_number_integer()) line[time] = time_text(line[time].get<TimeUs>());
  if (type == event_type_of<PlanCreated>.name || type == event_type_of<PlanRevised>.name)
    line["plan_version"] = line["version"];
  line["run"] = to_string(run);
  line["seq"] = event.seq;
  line["type"] = type;
  line["at"] = time_text(event.at_us);
  line["step"] = event.step;
  line["actor"] = event.actor;
  return line;
}

}  // namespace

Json event_json(const RunId& run, const Event& event) {
  return with_envelope(parse_stored(encode_payload(event.body)), run,
                       {.seq = event.seq, .at_us = event.at_us, .step = event.step, .actor = event.actor},
                       type_of(event.body));
}

Result<Json> event_json(const RunId& run, const StoredEvent& event) {
  const std::optional<EventType> type = event_type_numbered(event.type);
  if (type && type->version == event.version) return with_envelope(parse_stored(event.payload), run, event, type->name);
  const Result<EventBody> body = decode_payload(event.type, event.version, event.payload);
  if (!body) return body.error();
  return with_envelope(parse_stored(encode_payload(*body)), run, event, type_of(*body));
}

}  // namespace cairn
