// Reports to the gateway: what became of claims, written once.
#include <algorithm>
#include <utility>

#include "engine/state.hpp"
#include "workers/gateway/gateway.hpp"

namespace cairn {
namespace {

constexpr const char* no_label = "ok";

// Adds to an outcome, as the worker has declared the handler: its version, and its label if it has only one.
void complete(StepResult& result, const RunState& state, const Step& step, const HandlerTable& handlers) {
  if (!result || step.goal >= 0) return;
  const Handler* handler = handlers.find(state.node(step).handler());
  if (result->label.empty())
    result->label = handler != nullptr && handler->labels.size() == 1 ? handler->labels.front() : no_label;
  if (handler != nullptr) result = Executor::made_by(*handler, std::move(result));
}

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

bool is_lost(const EventBody& end) {
  const auto* failed = std::get_if<StepFailed>(&end);
  return failed != nullptr && failed->error == lost_error;
}

}  // namespace

// `state` null: the run has ended. The command is made even where it comes too late, to be compared with what became of
// the step.
void Gateway::report(Ticket ticket, const RunState* state) {
  Task& task = tasks_.at(ticket);
  const Asked& asked = asks_.at(task.ask);
  const ClaimId& claim = task.claim;
  const Step* step = state == nullptr ? nullptr : find_step(*state, claim.fence.step);
  const bool is_open = step != nullptr && step->attempt == claim.attempt && !is_ended(state->status);
  if (step != nullptr) complete(*task.result, *state, *step, asked.worker->handlers());
  Job job;
  job.branch = claim.fence.branch;
  job.step = claim.fence.step;
  job.attempt = claim.attempt;
  std::vector<Blob> blobs;
  const GraphRef graph = state == nullptr ? nullptr : state->graph;
  static const Graph no_graph{};
  const TimeUs began = std::clamp(claim.claimed_at, std::min(is_open ? step->opened_at : now_, now_), now_);
  const Executor executor = asked.worker->executor(claim.fence.session);
  task.command =
      executor.report(job, began, *std::exchange(task.result, std::nullopt), graph ? *graph : no_graph, blobs);
  if (!is_open || claim.fence.session != asked.answer.session) {
    task.stage = Stage::judged;
    return call(FindEnd{ticket, claim});
  }
  if (const std::optional<Job> open = job_of(*state, claim.fence.branch)) task.queue = open->queue;
  if (blobs.empty()) return submit(ticket);
  call(KeepBlobs{ticket, shard_of(claim.run, options_.shards), std::move(blobs), *task.command});
}

void Gateway::on_answer(KeepBlobs& keep) {
  const auto found = tasks_.find(keep.slot);
  if (found == tasks_.end()) return;
  found->second.command = std::move(keep.command);
  submit(keep.slot);
}

void Gateway::on_answer(LetGo& let_go) {
  const auto found = tasks_.find(let_go.report);
  if (found == tasks_.end()) return;
  set_result(found->second, ReportStatus::committed, "");
  drop(let_go.report);
}

void Gateway::submit(Ticket ticket) {
  Task& task = tasks_.at(ticket);
  task.stage = Stage::writes;
  Submission submission{.ticket = ticket, .run = task.claim.run, .command = *task.command, .fence = task.claim.fence};
  const auto asked = asks_.find(task.ask);
  const bool takes_more = asked != asks_.end() && room_of(asked->second) > 0;
  if (task.is_report && takes_more && !task.queue.empty()) submission.keep_in = task.queue;
  committer_.submit(std::move(submission));
}

void Gateway::refused(Ticket ticket, const Error& error) {
  Task& task = tasks_.at(ticket);
  if (!task.is_report) return cannot_give(ticket, error);
  const bool is_late = error.code == Code::stale || error.code == Code::closed || error.code == Code::conflict ||
                       error.code == Code::not_found;
  if (is_late && task.command) {
    task.stage = Stage::judged;
    return call(FindEnd{ticket, task.claim});
  }
  set_result(task, is_late ? ReportStatus::stale : ReportStatus::invalid, error.message);
  drop(ticket);
}

// The same report may be on its way in another request.
bool Gateway::is_being_written(const Task& judged) const {
  return std::any_of(tasks_.begin(), tasks_.end(), [&judged](const auto& entry) {
    const Task& other = entry.second;
    return other.is_report && other.stage == Stage::writes && other.claim == judged.claim;
  });
}

// A report that was not written: the history says what became of its attempt.
void Gateway::judge(const FindEnd& found) {
  const auto entry = tasks_.find(found.ticket);
  if (entry == tasks_.end()) return;
  const Task& task = entry->second;
  const std::optional<EventBody>& end = found.answer;
  if (!end && is_being_written(task)) return later(found);
  if (!end || is_lost(*end) || worker_of(*end) != task.claim.fence.session) {
    set_result(
        task, ReportStatus::stale,
        end ? "The hold was lost, and another attempt counts." : "The hold was lost, or the step was cancelled.");
  } else if (is_same(*task.command, *end)) {
    set_result(task, ReportStatus::already, "");
  } else {
    set_result(task, ReportStatus::conflict, "The attempt has ended by another report of this claim.");
  }
  drop(found.ticket);
}

void Gateway::replied(Reply reply) {
  if (Sweeping::is_internal(reply.ticket)) {
    sweeping_.replied(reply);
    return dispatch_sweeps();
  }
  const auto found = tasks_.find(reply.ticket);
  if (found == tasks_.end()) return;
  Task& task = found->second;
  if (!reply.status) return refused(reply.ticket, reply.status.error());
  if (task.stage == Stage::reads_run) {
    const RunState* state = committer_.state(task.claim.run);
    return task.is_report ? report(reply.ticket, state) : prepare(reply.ticket, state);
  }
  if (task.is_report) set_result(task, ReportStatus::committed, "");
  if (reply.next) take(task.ask, *std::move(reply.next));
  drop(reply.ticket);
}

}  // namespace cairn
