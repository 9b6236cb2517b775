#include "workers/handlers/handler.hpp"

#include <algorithm>
#include <utility>

#include "engine/graph_check.hpp"

namespace cairn {
namespace {

GoalView view_of(const SubGoal& goal) {
  return {goal.id,      goal.tool,     goal.inputs, goal.status, goal.outputs, goal.error,
          goal.message, goal.attempts, goal.title,  goal.parent, goal.after,   goal.context};
}

// The data of one step: the channels its handler reads. A `do` whose handler lives elsewhere gets all of them.
Json data_of(const RunState& state, const Step& step, const Handler* handler) {
  if (handler == nullptr || std::find(handler->reads.begin(), handler->reads.end(), "*") != handler->reads.end()) {
    return read_channels(state, step.branch);
  }
  Json data = Json::object();
  for (const std::string& channel : handler->reads) {
    Json value = read_channel(state, step.branch, channel);
    if (!value.is_null()) data[channel] = std::move(value);
  }
  return data;
}

void add_plan(StepInput& input, const RunState& state, const Step& step) {
  for (const SubGoal* goal : plan_of(state, step.branch)) input.plan.push_back(view_of(*goal));
  for (const RejectedGoal* goal : rejected_of(state, step.branch)) {
    input.rejected.push_back({goal->id, goal->tool, goal->reason});
  }
}

Status add_sub_goal(StepInput& input, const RunState& state, const Step& step) {
  const SubGoal& goal = goal_of(state, step);
  Result<Json> inputs = resolved_inputs(state, step);
  if (!inputs) return inputs.error();
  input.sub_goal = goal.id;
  input.tool = goal.tool;
  input.inputs = *std::move(inputs);
  return Done{};
}

}  // namespace

void HandlerTable::add(Handler handler) {
  std::string name = handler.name;
  const bool is_new = by_name_.emplace(std::move(name), std::move(handler)).second;
  CHECK(is_new);
}

void HandlerTable::add(const std::string& planner, std::vector<HandlerRow> rows) {
  for (HandlerRow& row : rows) {
    Handler handler;
    handler.name = planner + "." + row.node;
    handler.labels = std::move(row.labels);
    handler.reads = std::move(row.reads);
    handler.reads_plan = row.reads_plan;
    handler.run = std::move(row.run);
    add(std::move(handler));
  }
}

const Handler* HandlerTable::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &found->second;
}

Handlers HandlerTable::labels() const {
  Handlers labels;
  for (const auto& [name, handler] : by_name_) {
    labels[name] = {{handler.labels.begin(), handler.labels.end()},
                    handler.labels_from_node,
                    handler.is_pure(),
                    handler.settings,
                    handler.check,
                    Json(),
                    handler.doubts,
                    handler.parts,
                    handler.need};
  }
  return labels;
}

std::vector<std::string> HandlerTable::here() const {
  std::vector<std::string> names;
  for (const auto& [name, handler] : by_name_)
    if (handler.is_here) names.push_back(name);
  return names;
}

Result<StepInput> step_input(const RunState& state, const Step& step, const Handler* handler) {
  const Node& node = state.node(step);
  StepInput input;
  input.run = state.id;
  input.step = step.id;
  input.attempt = step.attempt;
  input.graph = state.graph->name;
  input.node = node.name;
  input.tags = state.tags;
  input.key = to_string(state.id) + "/" + std::to_string(step.id);
  input.given = step.given;
  input.budgets = step.budgets;
  for (const auto& [name, use] : state.budgets) input.caps[name] = use.cap;
  input.plan_version = state.plan_version;
  input.elapsed_ms = std::max<TimeUs>(0, step.opened_at - state.started_at) / 1000;  // a fork starts with open steps
  input.errors = step.errors;
  input.fault = step.message;
  input.fault_error = step.error;
  if (step.goal >= 0) {
    input.with = Json::object();
    input.data = Json::object();
    if (Status added = add_sub_goal(input, state, step); !added) return added.error();
    return input;
  }
  const DoNode* work = work_of(state, step);
  Result<Json> with = work == nullptr ? Result<Json>(Json::object()) : resolved(state, step.branch, work->with);
  if (!with) return with.error();
  input.with = *std::move(with);
  input.data = data_of(state, step, handler);
  if (handler == nullptr || handler->reads_plan) add_plan(input, state, step);
  return input;
}

}  // namespace cairn
