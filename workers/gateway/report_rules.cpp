#include "workers/gateway/report_rules.hpp"

#include <utility>

#include "workers/runs/executor.hpp"

namespace cairn {
namespace {

constexpr const char* no_label = "ok";

bool is_same(const Command& report, const EventBody& end) {
  if (const auto* complete = std::get_if<CompleteStep>(&report)) {
    if (const auto* succeeded = std::get_if<StepSucceeded>(&end))
      return (complete->outcome.label.empty() || succeeded->label == complete->outcome.label) &&
             parse_stored(succeeded->patch) == complete->outcome.patch;
    // An outcome that its node does not take is recorded as a failed attempt.
    const auto* failed = std::get_if<StepFailed>(&end);
    if (failed != nullptr) return failed->error == "invalid";
    const auto* closed = std::get_if<SubGoalClosed>(&end);
    return closed != nullptr && closed->status == GoalStatus::succeeded &&
           parse_stored(closed->outputs) == complete->outcome.patch;
  }
  const Failure& failure = std::get<FailStep>(report).failure;
  if (const auto* failed = std::get_if<StepFailed>(&end))
    return failed->error == failure.error && failed->message == failure.message;
  const auto* closed = std::get_if<SubGoalClosed>(&end);
  return closed != nullptr && closed->error == failure.error && closed->message == failure.message;
}

SessionId worker_of(const EventBody& end) {
  if (const auto* succeeded = std::get_if<StepSucceeded>(&end)) return succeeded->worker;
  if (const auto* failed = std::get_if<StepFailed>(&end)) return failed->worker;
  return std::get<SubGoalClosed>(end).worker;
}

// The run's end, or its cleaning up before it, has closed the step.
bool is_with_run(const EventBody& end) {
  return std::holds_alternative<RunFinished>(end) || std::holds_alternative<RunEnding>(end);
}

bool is_lost(const EventBody& end) {
  const auto* failed = std::get_if<StepFailed>(&end);
  return failed != nullptr && failed->error == lost_error;
}

}  // namespace

void complete_report(StepResult& result, const RunState& state, const Step& step, const HandlerTable& handlers) {
  if (!result || step.goal >= 0) return;
  const Handler* handler = handlers.find(state.node(step).handler());
  if (result->label.empty())
    result->label = handler != nullptr && handler->labels.size() == 1 ? handler->labels.front() : no_label;
  if (handler != nullptr) result = Executor::made_by(*handler, std::move(result));
}

ReportReply judge_report(const Command& report, const std::optional<EventBody>& end, SessionId session) {
  if (!end) return {ReportStatus::stale, "The hold was lost, or the step was cancelled."};
  if (is_with_run(*end)) return {ReportStatus::closed, "The run has ended, or its end has begun."};
  if (is_lost(*end) || worker_of(*end) != session)
    return {ReportStatus::stale, "The hold was lost, and another attempt counts."};
  if (is_same(report, *end)) return {ReportStatus::already, ""};
  return {ReportStatus::conflict, "The attempt has ended by another report of this claim."};
}

}  // namespace cairn
