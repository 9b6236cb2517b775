#include "workers/gateway/report_rules.hpp"

#include <new>
#include <set>
#include <utility>

#include "engine/bounds.hpp"
#include "storage/digest.hpp"
#include "workers/runs/executor.hpp"

namespace cairn {
namespace {

constexpr const char* no_label = "ok";

// An outcome that its node, or its sub-goal, did not take is recorded as a failed attempt, with its digest.
bool is_refused(const Outcome& outcome, const std::string& refused) {
  return !refused.empty() && refused == outcome.digest;
}

// The step has ended, and its handler is not at hand: a report without a label has "ok", or the only one of a handler.
bool is_same_label(const std::string& label, const std::string& recorded, const HandlerTable* declared) {
  if (!label.empty()) return label == recorded;
  if (declared == nullptr || recorded == no_label) return true;
  for (const auto& [name, one] : declared->labels())
    if (one.labels == std::set<std::string>{recorded}) return true;
  return false;
}

bool is_same_outcome(const Outcome& outcome, const FoundEnd& end, const HandlerTable* declared) {
  if (const auto* succeeded = std::get_if<StepSucceeded>(&*end.event))
    return is_same_label(outcome.label, succeeded->label, declared) && end.has_same_values;
  if (const auto* failed = std::get_if<StepFailed>(&*end.event)) return is_refused(outcome, failed->refused);
  const auto* closed = std::get_if<SubGoalClosed>(&*end.event);
  if (closed == nullptr) return false;
  return closed->status == GoalStatus::succeeded ? end.has_same_values : is_refused(outcome, closed->refused);
}

// Long texts are cut when they are recorded. An attempt that was tried again had been reported as worth it; whether one
// that was not had been, is not on record.
bool is_same_failure(const Failure& failure, const EventBody& end) {
  const std::string error = recordable(failure.error, name_bytes_max);
  const std::string message = recordable(failure.message, message_bytes_max);
  if (const auto* failed = std::get_if<StepFailed>(&end))
    return failed->error == error && failed->message == message && failed->refused.empty() &&
           (failure.retryable || !failed->retry_at);
  const auto* closed = std::get_if<SubGoalClosed>(&end);
  return closed != nullptr && closed->error == error && closed->message == message && closed->refused.empty();
}

bool is_same(const Command& report, const FoundEnd& end, const HandlerTable* declared) {
  if (const auto* complete = std::get_if<CompleteStep>(&report))
    return is_same_outcome(complete->outcome, end, declared);
  return is_same_failure(std::get<FailStep>(report).failure, *end.event);
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

void add_digest(StepResult& result) {
  if (!result) return;
  try {
    result->digest = hex(sha256(canonical(Json(result->label)) + canonical(result->patch)));
  } catch (const std::bad_alloc&) {
    result->digest.clear();
  }
}

void complete_report(StepResult& result, const RunState& state, const Step& step, const HandlerTable& handlers) {
  if (!result || step.goal >= 0) return;
  const Handler* handler = handlers.find(state.node(step).handler());
  if (result->label.empty())
    result->label = handler != nullptr && handler->labels.size() == 1 ? handler->labels.front() : no_label;
  if (handler != nullptr) result = Executor::made_by(*handler, std::move(result));
}

ReportReply judge_report(const Command& report, const FoundEnd& end, SessionId session, const HandlerTable* declared) {
  if (!end.event) return {ReportStatus::stale, "The hold was lost, or the step was cancelled."};
  if (is_with_run(*end.event)) return {ReportStatus::closed, "The run has ended, or its end has begun."};
  if (is_lost(*end.event) || worker_of(*end.event) != session)
    return {ReportStatus::stale, "The hold was lost, and another attempt counts."};
  if (is_same(report, end, declared)) return {ReportStatus::already, ""};
  return {ReportStatus::conflict, "The attempt has ended by another report of this claim."};
}

}  // namespace cairn
