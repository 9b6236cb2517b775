#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/bounds.hpp"
#include "engine/closing_events.hpp"
#include "engine/deciding.hpp"
#include "engine/expectations.hpp"
#include "engine/graph_migration.hpp"

namespace cairn {

Status Deciding::operator()(const Answer& answer) {
  if (Status open = expect_open(state_); !open) return open;
  if (answer.question.empty() && state_.questions.size() != 1)
    return state_.questions.empty()
               ? refusal(Code::not_found, "Expected an open question in " + name_of(state_) + ", but it asks none.")
               : refusal(Code::invalid, "Expected the id of a question, since " + name_of(state_) + " asks " +
                                            std::to_string(state_.questions.size()) + ".");
  const auto found = answer.question.empty() ? state_.questions.begin() : state_.questions.find(answer.question);
  if (found == state_.questions.end()) {
    const std::optional<StepId> asked_by = step_of_question(answer.question);
    const bool was = asked_by && *asked_by <= state_.last_step;
    return refusal(was ? Code::closed : Code::not_found,
                   "Expected question " + answer.question + " of " + name_of(state_) + " to be open, but " +
                       (was ? "it is not any more." : "there is none of that id."));
  }
  if (Status fits = check_name(answer.by, "who answers"); !fits) return fits;
  if (Status fits = check_value(answer.value, "the answer"); !fits) return fits;
  if (answer.fault)
    return refusal(Code::invalid,
                   "Expected an answer that fits question " + found->first + ", but it does not: " + *answer.fault);
  emit_by(context_.actor, found->second.step,
          QuestionAnswered{found->first, answer.value, answer.by.empty() ? context_.actor : answer.by});
  return Done{};
}

Status Deciding::operator()(const SendSignal& signal) {
  if (Status open = expect_open(state_); !open) return open;
  if (signal.name.empty()) return refusal(Code::invalid, "Expected a signal to have a name, but it has none.");
  if (Status fits = check_name(signal.name, "the name of a signal"); !fits) return fits;
  if (Status fits = check_name(signal.id, "the id of a signal"); !fits) return fits;
  if (Status fits = check_value(signal.value, "the value of a signal"); !fits) return fits;
  if (!signal.id.empty() && state_.signal_ids.contains(signal.id))
    return refusal(Code::conflict,
                   "Expected a new signal, but " + name_of(state_) + " has received " + signal.id + " already.");
  if (!signal.id.empty() && state_.signal_ids.size() >= context_.signal_ids_max)
    return refusal(Code::limit, "Expected at most " + std::to_string(context_.signal_ids_max) +
                                    " signals with an id, but " + name_of(state_) + " has received as many.");
  emit(0, SignalReceived{signal.name, signal.value, signal.id});
  return Done{};
}

Status Deciding::operator()(const Cancel& cancel) {
  if (Status open = expect_open(state_); !open) return open;
  if (state_.ending && cancel.spares_cleanup)
    return refusal(Code::conflict, "Expected " + name_of(state_) + " to be at work, but it cleans up already.");
  RunFinished finished;
  finished.status = RunStatus::aborted;
  finished.reason = recordable(cancel.reason, message_bytes_max);
  if (!cancel.now && !state_.ending) {
    emit(0, end_of(state_, std::move(finished)));
    return Done{};
  }
  finished.closed = left_open(state_);
  if (state_.ending) finished.cause = state_.ending->cause;
  emit(0, std::move(finished));
  return Done{};
}

Status Deciding::operator()(const Pause& pause) {
  if (Status open = expect_open(state_); !open) return open;
  if (state_.status == RunStatus::paused)
    return refusal(Code::conflict, "Expected " + name_of(state_) + " to be running, but it is paused already.");
  if (Status fits = check_reason(pause.reason); !fits) return fits;
  emit(0, RunPaused{pause.reason});
  return Done{};
}

Status Deciding::operator()(const Resume& resume) {
  if (Status open = expect_open(state_); !open) return open;
  if (state_.status != RunStatus::paused)
    return refusal(Code::conflict, "Expected " + name_of(state_) + " to be paused, but it is running.");
  if (Status fits = check_reason(resume.reason); !fits) return fits;
  emit(0, RunResumed{resume.reason});
  return Done{};
}

Status Deciding::operator()(const Reopen& reopen) {
  if (Status open = expect_open(state_); state_.seq == 0) return open;
  if (Status fits = check_reason(reopen.reason); !fits) return fits;
  if (state_.status != RunStatus::failed)
    return refusal(Code::conflict,
                   "Expected " + name_of(state_) + " to have failed, but it " +
                       (is_ended(state_.status) ? "is " + std::string(to_string(state_.status)) : "has not ended") +
                       ".");
  const bool has_failed = state_.is_overdue || std::any_of(state_.steps.begin(), state_.steps.end(),
                                                           [](const auto& entry) { return entry.second.failed_final; });
  if (!has_failed)
    return refusal(Code::conflict, "Expected a failed step to try again, but " + name_of(state_) +
                                       " failed without one: " + state_.reason);
  emit(0, RunReopened{reopen.reason, reopen.opens_again && could_not_open()});
  return Done{};
}

Status Deciding::operator()(const EditChannels& edit) {
  if (Status open = expect_open(state_); !open) return open;
  if (!edit.patch.is_object())
    return refusal(Code::invalid, "Expected an object of channels, but found " + excerpt(edit.patch, 60) + ".");
  if (!state_.branches.at(root_branch).fan.empty())
    return refusal(Code::conflict, "Expected " + name_of(state_) + " to be outside every fan-out, but it has forked.");
  if (Status fits = check_value(edit.patch, "the edit"); !fits) return fits;
  if (Status fits = check_patch(Json::object(), edit.patch, *state_.graph); !fits) return fits;
  emit(0, ChannelsEdited{canonical(edit.patch)});
  return Done{};
}

Status Deciding::operator()(const MoveRun& move) {
  if (Status open = expect_open(state_); !open) return open;
  const GraphRef graph = graphs_.by_version(move.version);
  if (graph == nullptr)
    return refusal(Code::not_found, "Expected a known graph, but there is none of version " + move.version + ".");
  if (graph->name != state_.graph->name)
    return refusal(Code::invalid, "Expected a version of graph " + state_.graph->name + ", but found one of graph " +
                                      graph->name + ".");
  if (graph->version == state_.graph->version)
    return refusal(Code::conflict, "Expected " + name_of(state_) + " to be of another version of graph " + graph->name +
                                       ", but it is of this one already.");
  if (const auto hindrances = move_hindrances(state_, *graph); !hindrances.empty())
    return cannot_move(state_, *graph, hindrances);
  if (Status fits = check_reason(move.reason); !fits) return fits;
  emit(0, RunMoved{graph->version, move.reason});
  return Done{};
}

}  // namespace cairn
