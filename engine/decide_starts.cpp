#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/bounds.hpp"
#include "engine/deciding.hpp"
#include "engine/expectations.hpp"
#include "engine/graph_migration.hpp"
#include "engine/snapshot.hpp"

namespace cairn {

Status Deciding::operator()(const StartRun& start) {
  if (state_.seq != 0) return refusal(Code::conflict, "Expected a new run, but " + name_of(state_) + " exists.");
  const GraphRef graph = start.version.empty() ? graphs_.current(start.graph) : graphs_.by_version(start.version);
  if (graph == nullptr)
    return refusal(Code::not_found, "Expected a known graph, but there is no graph " + start.graph +
                                        (start.version.empty() ? "." : " of version " + start.version + "."));
  // A fork's input is its origin's and has been checked there.
  const Status fits = start.forked_from ? Status(Done{}) : check_patch(Json::object(), start.input, *graph);
  if (!fits)
    return refusal(Code::invalid, "Expected the input to fit graph " + graph->name + ". " + fits.error().message);
  if (start.parent && start.parent->depth > call_depth_max)
    return refusal(Code::limit, "Expected calls at most " + std::to_string(call_depth_max) + " deep, but this one is " +
                                    std::to_string(start.parent->depth) + " deep.");
  for (const auto& [name, cap] : start.options.budgets)
    if (!graph->budgets.contains(name))
      return refusal(Code::invalid, "Expected a budget that graph " + graph->name + " has, but found " + name + ".");
    else if (cap < 0)
      return refusal(Code::invalid, "Expected a cap of at least 0 for a budget of graph " + graph->name +
                                        ", but found " + name + ": " + std::to_string(cap) + ".");
  if (Status named = check_tags(start.tags); !named) return named;
  if (Status named = check_name(start.key, "the key of a run"); !named) return named;
  if (Status bounded = check_reason(start.reason); !bounded) return bounded;
  if (start.options.recorded && !start.forked_from)
    return refusal(Code::invalid, "Expected a fork to take its answers from the record, but this run has no origin.");
  if (start.options.priority < 0 || start.options.priority > 9)
    return refusal(Code::invalid,
                   "Expected a priority from 0 to 9, but found " + std::to_string(start.options.priority) + ".");
  state_.id = start.run;
  RunStarted started{graph->name,     graph->version, canonical(start.input), start.options,  start.tags, start.parent,
                     start.continues, std::nullopt,   start.forked_from,      start.language, start.key,  start.reason};
  if (start.history) started.history = canonical(*start.history);
  if (start.forked_from) return start_fork(start, std::move(started), *graph);
  emit(0, std::move(started));
  return Done{};
}

// A fork continues where its origin stood: its data is edited first, a failed origin's failed steps are tried again,
// and its questions are asked again where they read what was edited, and get their answers. A refusal on the way takes
// the whole start back, so the state is left as new.
Status Deciding::start_fork(const StartRun& start, RunStarted started, const Graph& graph) {
  const Origin& from = *start.forked_from;
  const Result<RunState> origin = carried_state(from.state, graphs_);
  if (!origin) return origin.error();
  if (origin->seq == 0) return refusal(Code::corrupt, "Expected a fork to begin from a state, but there is none yet.");
  if (is_ended(origin->status) && origin->status != RunStatus::failed)
    return refusal(Code::closed, "Expected a moment before the end of " + name_of(*origin) + ", but event " +
                                     std::to_string(from.seq) + " ended it.");
  if (const auto hindrances = move_hindrances(*origin, graph); !hindrances.empty())
    return cannot_move(*origin, graph, hindrances);
  if (start.edit && !start.edit->is_object())
    return refusal(Code::invalid, "Expected an object of channels, but found " + excerpt(*start.edit, 60) + ".");
  if (start.edit)
    if (Status fits = check_patch(Json::object(), *start.edit, graph); !fits) return fits;
  Status done = Done{};
  started.language = origin->language;
  const bool is_changed = start.edit || started.version != origin->graph->version;
  emit(0, std::move(started));
  if (start.edit) emit(0, ChannelsEdited{canonical(*start.edit)});
  if (state_.status == RunStatus::failed)
    done = (*this)(Reopen{"", start.opens_again});
  else if (is_changed && start.opens_again && state_.status == RunStatus::running && could_not_open())
    emit(0, RunReopened{"", true});
  if (done && start.asks_again) done = ask_again();
  for (const auto& [question, value] : start.answers)
    if (done) done = (*this)(Answer{question, value, {}, {}});
  if (!done) state_ = RunState{};
  return done;
}

// An unfit step is open in an origin that goes on, if it was cut before the step was closed.
bool Deciding::could_not_open() const {
  return std::any_of(state_.steps.begin(), state_.steps.end(),
                     [this](const auto& entry) { return may_open_again(state_, entry.second); });
}

// An open question is asked once more if it reads something else now: an answer then fits what is asked.
Status Deciding::ask_again() {
  std::vector<StepId> asking;
  for (const auto& [id, question] : state_.questions) asking.push_back(question.step);
  for (const StepId id : asking) {
    const Step& step = state_.steps.at(id);
    if (state_.node(step).as<AskNode>() == nullptr) continue;
    Result<QuestionAsked> now = question_of(state_, step);
    if (!now)
      return refusal(now.error().code,
                     "Expected question " + step.question + " to be asked again in the fork. " + now.error().message);
    const Question& then = state_.questions.at(step.question);
    const bool is_same = now->kind == then.kind && now->prompt == then.prompt && now->schema == then.schema &&
                         now->fallback == then.fallback;
    if (!is_same) emit(id, *std::move(now));
  }
  return Done{};
}

}  // namespace cairn
