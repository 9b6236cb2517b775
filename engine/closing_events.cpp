#include "engine/closing_events.hpp"

#include <utility>

namespace cairn {

Attempt closed_by_engine(const Step& step) { return {step.attempt, 0, step.opened_at}; }

StepFailed failed_step(const RunState& state, const Step& step, const Attempt& attempt, std::string error,
                       std::string message) {
  StepFailed failed;
  failed.node = state.node(step).name;
  failed.attempt = attempt.number;
  failed.error = std::move(error);
  failed.message = std::move(message);
  failed.worker = attempt.worker;
  failed.started_at = attempt.started_at;
  return failed;
}

void route_error(StepFailed& failed, const RunState& state, const Step& step) {
  if (step.item >= 0) {  // its map goes on
    failed.label = "error";
    return;
  }
  failed.next = state.graph->next_names(step.node, "error");
  if (!failed.next.empty()) failed.label = "error";
}

SubGoalClosed succeeded_goal(const SubGoal& goal, const Attempt& attempt, JsonText outputs) {
  SubGoalClosed closed;
  closed.sub_goal = goal.id;
  closed.outputs = std::move(outputs);
  closed.attempt = attempt.number;
  closed.worker = attempt.worker;
  closed.started_at = attempt.started_at;
  return closed;
}

SubGoalClosed failed_goal(const SubGoal& goal, const Attempt& attempt, std::string error, std::string message) {
  SubGoalClosed closed = succeeded_goal(goal, attempt, "{}");
  closed.status = GoalStatus::failed;
  closed.error = std::move(error);
  closed.message = std::move(message);
  return closed;
}

SubGoalClosed skipped_goal(const SubGoal& goal, std::string message) {
  SubGoalClosed closed = failed_goal(goal, {}, "skipped", std::move(message));
  closed.status = GoalStatus::skipped;
  return closed;
}

}  // namespace cairn
