#include "engine/closing_events.hpp"

#include <utility>

#include "engine/bounds.hpp"
#include "engine/command.hpp"

namespace cairn {
namespace {

// A cleanup that did not end well fails the run, however that was to end, so that it is seen and can be tried again.
RunFinished end_of_cleanup(const Ending& ending, RunFinished finished) {
  const bool is_clean = finished.status == RunStatus::done;
  finished.reason = is_clean ? ending.reason
                             : recordable(ending.reason + " The cleanup failed: " + finished.reason, message_bytes_max);
  finished.status = is_clean ? ending.status : RunStatus::failed;
  if (!is_clean) finished.output = canonical(ending.output);
  finished.cause = ending.cause;
  return finished;
}

// The text before and after the number that was exceeded.
struct LimitReason {
  std::string_view before;
  std::string_view after;

  std::string of(const std::string& most) const { return std::string(before) + most + std::string(after); }
  bool is(std::string_view reason) const {
    return reason.starts_with(before) && reason.find(after, before.size()) != std::string_view::npos;
  }
};

constexpr LimitReason limit_of_steps{"Expected at most ", " steps, but another opened."};
constexpr LimitReason limit_of_time{"timeout: Expected the run to end within ", " ms, but it has not."};
constexpr LimitReason limit_of_decision{"limit: Expected at most ", ", but more would follow."};

}  // namespace

std::string reason_of_steps(std::int64_t most) { return limit_of_steps.of(std::to_string(most)); }
std::string reason_of_time(std::int64_t most_ms) { return limit_of_time.of(std::to_string(most_ms)); }
std::string reason_of_decision(const std::string& most) { return limit_of_decision.of(most); }

bool is_limit_reason(std::string_view reason) {
  return limit_of_steps.is(reason) || limit_of_time.is(reason) || limit_of_decision.is(reason);
}

Closed left_open(const RunState& state) {
  Closed closed;
  for (const auto& [id, step] : state.steps) {
    if (!step.failed_final) closed.steps.push_back(id);
    if (!step.child.is_nil() && step.closing_label.empty()) closed.children.push_back(step.child);
  }
  for (const auto& [id, question] : state.questions) closed.questions.push_back(id);
  return closed;
}

EventBody end_of(const RunState& state, RunFinished finished) {
  finished.closed = left_open(state);
  if (state.ending) return end_of_cleanup(*state.ending, std::move(finished));
  const bool has_diverged = finished.cause && finished.cause->error == diverged_error;
  if (finished.status == RunStatus::done || state.graph->finally < 0 || has_diverged) return finished;
  if (finished.reason.empty()) finished.reason = "Ended as " + std::string(to_string(finished.status)) + ".";
  return RunEnding{finished.status,
                   std::move(finished.reason),
                   std::move(finished.output),
                   std::move(finished.closed),
                   std::move(finished.cause),
                   state.graph->node(state.graph->finally).name};
}

Attempt closed_by_engine(const Step& step) { return {step.attempt, 0, step.opened_at}; }

StepFailed failed_step(const RunState& state, const Step& step, const Attempt& attempt, std::string error,
                       std::string message) {
  StepFailed failed;
  failed.node = state.node(step).name;
  failed.attempt = attempt.number;
  failed.error = recordable(std::move(error), name_bytes_max);
  failed.message = recordable(std::move(message), message_bytes_max);
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
  closed.error = recordable(std::move(error), name_bytes_max);
  closed.message = recordable(std::move(message), message_bytes_max);
  return closed;
}

SubGoalClosed skipped_goal(const SubGoal& goal, std::string message) {
  SubGoalClosed closed = failed_goal(goal, {}, "skipped", std::move(message));
  closed.status = GoalStatus::skipped;
  return closed;
}

}  // namespace cairn
