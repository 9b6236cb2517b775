#include "engine/decide.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/closing_events.hpp"
#include "engine/deciding.hpp"
#include "engine/evolve.hpp"
#include "engine/follow.hpp"

namespace cairn {
namespace {

std::size_t bytes_of_names(const std::vector<std::string>& names) {
  std::size_t bytes = 0;
  for (const std::string& name : names) bytes += name.size();
  return bytes;
}

// The text in an event that the engine composed of references, copied from what is on record, or took from the graph.
// That of a called run's end is its own, and what a worker left came with the command.
std::size_t composed_bytes_of(const EventBody& body) {
  if (const auto* asked = std::get_if<QuestionAsked>(&body))
    return canonical(asked->prompt).size() + canonical(asked->schema).size() +
           (asked->fallback ? canonical(*asked->fallback).size() : 0);
  if (const auto* started = std::get_if<RunStarted>(&body)) return started->input.size();
  if (const auto* finished = std::get_if<RunFinished>(&body)) return finished->output.size() + finished->reason.size();
  if (const auto* ending = std::get_if<RunEnding>(&body)) return ending->output.size() + ending->reason.size();
  if (const auto* goal = std::get_if<SubGoalClosed>(&body))
    return goal->message.size() + (goal->reused_from.empty() ? 0 : goal->outputs.size());
  if (const auto* closed = std::get_if<StepSucceeded>(&body))
    return closed->node.size() + closed->label.size() + bytes_of_names(closed->next) +
           (closed->attempt == 0 ? closed->patch.size() : 0);
  if (const auto* failed = std::get_if<StepFailed>(&body))
    return failed->node.size() + failed->message.size() + failed->label.size() + bytes_of_names(failed->next);
  return 0;
}

}  // namespace

// --- events ---------------------------------------------------------------------------------------------------------

void Deciding::follow_all() {
  while (followed_ < touched_.size()) {
    const BranchId branch = touched_[followed_++];
    while (auto implied = follow(state_, branch)) {
      if (decision_.events.size() + events_of_children_ >= events_max())
        implied = Implied{0, failed_of(std::to_string(context_.events_max) + " events of one decision")};
      else if (bytes() >= bytes_max())
        implied = Implied{0, failed_of(std::to_string(decision_bytes_max) + " bytes of values of one decision")};
      emit_implied(*std::move(implied));
    }
  }
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  decision_.touched = std::move(touched_);
}

// A circle of nodes that need no worker would go on for as long as the graph's steps allow, and each of many branches
// may compose a large value.
EventBody Deciding::failed_of(const std::string& most) const {
  return end_of(
      state_,
      {.status = RunStatus::failed, .reason = reason_of_decision(most), .output = "{}", .closed = {}, .cause = {}});
}

// A cleanup has as many again.
std::size_t Deciding::events_max() const { return state_.ending ? 2 * context_.events_max : context_.events_max; }
std::size_t Deciding::bytes_max() const { return state_.ending ? bytes_max_ + decision_bytes_max : bytes_max_; }

void Deciding::emit(StepId step, EventBody body) { emit_by(step == 0 ? context_.actor : "", step, std::move(body)); }

void Deciding::emit_by(std::string actor, StepId step, EventBody body) {
  Event event;
  event.seq = state_.seq + 1;
  event.at_us = std::max(context_.now_us, state_.last_at);
  event.step = step;
  event.actor = std::move(actor);
  event.body = std::move(body);
  check_own(event);
  evolve(state_, event, graphs_, touched_);
  CHECK(state_.seq == event.seq);  // numbered here, counted there
  bytes_ += composed_bytes_of(event.body);
  decision_.events.push_back(std::move(event));
}

// An event of this program says what is so, or it is a bug here. Fold has the other half of each pair: it reads
// histories that anybody may have written, so there an event that cannot follow is a CorruptHistory.
void Deciding::check_own(const Event& event) const {
  if (const auto* succeeded = std::get_if<StepSucceeded>(&event.body))
    check_attempt(event.step, succeeded->attempt);
  else if (const auto* failed = std::get_if<StepFailed>(&event.body))
    check_attempt(event.step, failed->attempt);
  else if (const auto* goal = std::get_if<SubGoalClosed>(&event.body))
    check_attempt(event.step, goal->attempt);
  else if (const auto* asked = std::get_if<QuestionAsked>(&event.body))
    CHECK(asked->question == question_id(event.step));  // pairs with Fold: it is not another step's
  else if (const auto* ending = std::get_if<RunEnding>(&event.body))
    CHECK(ending->closed == left_open(state_));  // pairs with Fold, which closes all that is open
  else if (const auto* finished = std::get_if<RunFinished>(&event.body))
    CHECK(finished->closed == left_open(state_));
}

// 0: no attempt was made.
void Deciding::check_attempt(StepId id, std::int32_t attempt) const {
  const Step* open = find_step(state_, id);
  CHECK(open != nullptr);  // pairs with Fold::open_step()
  CHECK(attempt == 0 || attempt == open->attempt);
}

void Deciding::emit_implied(Implied implied) {
  if (auto* child = std::get_if<ChildStarted>(&implied.body)) return start_child(implied.step, std::move(*child));
  emit(implied.step, std::move(implied.body));
}

// --- decisions ------------------------------------------------------------------------------------------------------

Result<Decision> decide(RunState& state, const Command& command, const Context& context, const Graphs& graphs) {
  Decision decision;
  Deciding deciding(state, context, graphs, decision, decision_bytes_max);
  if (Status status = std::visit(deciding, command); !status) return status.error();
  deciding.follow_all();
  return decision;
}

std::optional<ParentNotice> parent_notice(const RunState& state) {
  if (!is_ended(state.status) || !state.parent) return std::nullopt;
  return ParentNotice{state.parent->run, {state.parent->step, state.id, state.status, state.reason, state.output}};
}

}  // namespace cairn
