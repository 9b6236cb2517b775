#include "engine/decide.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "engine/admission.hpp"
#include "engine/bounds.hpp"
#include "engine/closing_events.hpp"
#include "engine/evolve.hpp"
#include "engine/follow.hpp"
#include "engine/graph_migration.hpp"
#include "engine/snapshot.hpp"

namespace cairn {
namespace {

Error refusal(Code code, std::string message) { return {code, std::move(message)}; }

std::string name_of(const RunState& state) { return "run " + to_string(state.id); }

// Whether the run takes commands at all. Refuses `not_found`, `closed`.
Status expect_open(const RunState& state) {
  if (state.seq == 0) return refusal(Code::not_found, "Expected a run, but " + name_of(state) + " does not exist.");
  if (!is_ended(state.status)) return Done{};
  return refusal(Code::closed, "Expected " + name_of(state) + " to be under way, but it has ended as " +
                                   std::string(to_string(state.status)) + ".");
}

// Whether the step is open and this is its open attempt (0: any). Refuses `not_found`, `closed`, `stale`.
Status expect_open(const RunState& state, StepId step, std::int32_t attempt) {
  if (Status run = expect_open(state); !run) return run;
  const Step* open = find_step(state, step);
  if (open == nullptr || open->failed_final) {
    const bool was = step > 0 && step <= state.last_step;
    return refusal(was ? Code::closed : Code::not_found, "Expected step " + std::to_string(step) + " of " +
                                                             name_of(state) + " to be open, but it " +
                                                             (was ? "has ended." : "does not exist."));
  }
  if (attempt == 0 || attempt == open->attempt) return Done{};
  return refusal(Code::stale, "Expected attempt " + std::to_string(open->attempt) + " of step " + std::to_string(step) +
                                  ", but attempt " + std::to_string(attempt) + " reports.");
}

// Only a handler's steps are reported by workers; the engine closes all others by itself.
Status expect_handled(const RunState& state, const Step& step) {
  if (step.goal >= 0 || work_of(state, step) != nullptr) return Done{};
  return refusal(Code::invalid, "Expected a step that a handler executes, but step " + std::to_string(step.id) +
                                    " stands at " + state.node(step).name + ".");
}

// min(max, backoff * factor^(n-1)) * (1 - jitter * draw), in microseconds; see Retry.
TimeUs delay_us(const Retry& retry, std::int32_t errors, double draw) {
  if (retry.backoff_ms == 0) return 0;  // the power may be infinite
  const double ms = std::min(static_cast<double>(retry.max_ms),
                             static_cast<double>(retry.backoff_ms) * std::pow(retry.factor, errors - 1));
  return static_cast<TimeUs>(std::max(0.0, ms * (1 - retry.jitter * draw)) * 1000);
}

// The delay before a lost step is tried again: 100 ms, four times as long with each loss, at most a minute, less up to
// a half by chance, so that steps that were lost together do not come together again.
TimeUs delay_after_loss_us(std::int32_t losses, double draw) {
  constexpr double first_ms = 100, factor = 4, max_ms = 60'000;
  const double ms = std::min(max_ms, first_ms * std::pow(factor, losses));
  return static_cast<TimeUs>(ms * (1 - draw / 2) * 1000);
}

bool touches_reduced(const Graph& graph, const Json& patch) {
  return std::any_of(graph.channels.begin(), graph.channels.end(), [&](const auto& channel) {
    return channel.second != Reducer::last && patch.contains(channel.first);
  });
}

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

// One command's way through the rules. Lives for one call of decide.
class Deciding {
 public:
  Deciding(RunState& state, const Context& context, const Graphs& graphs, std::size_t bytes_max)
      : state_(state), context_(context), graphs_(graphs), bytes_max_(bytes_max) {}

  Status operator()(const StartRun& start);
  Status operator()(const CompleteStep& complete);
  Status operator()(const FailStep& fail);
  Status operator()(const Due& due);
  Status operator()(const Answer& answer);
  Status operator()(const SendSignal& signal);
  Status operator()(const Cancel& cancel);
  Status operator()(const Pause& pause);
  Status operator()(const Resume& resume);
  Status operator()(const Reopen& reopen);
  Status operator()(const FinishChild& finish);
  Status operator()(const EditChannels& edit);
  Status operator()(const MoveRun& move);

  // Everything the events imply, branch by branch, until nothing follows.
  void settle() {
    while (settled_ < touched_.size()) {
      const BranchId branch = touched_[settled_++];
      while (auto implied = follow(state_, branch)) {
        if (decision_.events.size() + events_of_children_ >= events_max())
          implied = Implied{0, failed_of(std::to_string(context_.events_max) + " events of one decision")};
        else if (bytes() >= bytes_max())
          implied = Implied{0, failed_of(std::to_string(decision_bytes_max) + " bytes of values of one decision")};
        emit_implied(*std::move(implied));
      }
    }
  }

  // A circle of nodes that need no worker would go on for as long as the graph's steps allow, and each of many branches
  // may compose a large value.
  EventBody failed_of(const std::string& most) const {
    return end_of(
        state_,
        {.status = RunStatus::failed, .reason = reason_of_decision(most), .output = "{}", .closed = {}, .cause = {}});
  }
  // A cleanup has as many again.
  std::size_t events_max() const { return state_.ending ? 2 * context_.events_max : context_.events_max; }
  std::size_t bytes_max() const { return state_.ending ? bytes_max_ + decision_bytes_max : bytes_max_; }
  // The bytes of its values and its children's. References that were read and composed count for less, whether their
  // values are recorded or not: a question that cannot be asked costs as much as one that can.
  std::size_t bytes() const { return bytes_ + (state_.referred_bytes - referred_before_) / referred_share; }

  Decision decision() && {
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    decision_.touched = std::move(touched_);
    return std::move(decision_);
  }

 private:
  // A command's own event names its actor; a step's event has the step as its cause.
  void emit(StepId step, EventBody body) { emit_by(step == 0 ? context_.actor : "", step, std::move(body)); }

  void emit_by(std::string actor, StepId step, EventBody body) {
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
  void check_own(const Event& event) const {
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
  void check_attempt(StepId id, std::int32_t attempt) const {
    const Step* open = find_step(state_, id);
    CHECK(open != nullptr);  // pairs with Fold::open_step()
    CHECK(attempt == 0 || attempt == open->attempt);
  }

  void emit_implied(Implied implied) {
    if (auto* child = std::get_if<ChildStarted>(&implied.body)) return start_child(implied.step, std::move(*child));
    emit(implied.step, std::move(implied.body));
  }

  Status start_fork(const StartRun& start, RunStarted started, const Graph& graph);
  bool could_not_open() const;
  Status ask_again();
  void start_child(StepId id, ChildStarted child);
  void fail_call(StepId step, std::string error, std::string message);
  Status check_reuse(const Step& step, const CompleteStep& complete) const;
  Status check_outcome(const Step& step, const Outcome& outcome) const;
  static Status check_item(const Outcome& outcome);
  Status check_revisions(const std::vector<Fact>& facts) const;
  Status check_budgets(const std::vector<Fact>& facts) const;
  Json data_after(const Step& step, const Json& patch) const;
  void succeed(const Step& step, const CompleteStep& complete);
  void close_goal(const Step& step, const CompleteStep& complete);
  Status run_is_due();
  void fail_attempt(StepId id, const FailStep& fail);
  bool may_retry(const Step& step, const FailStep& fail) const;
  void record_use(StepId step, const std::vector<Fact>& facts);

  RunState& state_;
  const Context& context_;
  const Graphs& graphs_;
  Decision decision_;
  std::vector<BranchId> touched_;
  std::size_t settled_ = 0;
  std::size_t events_of_children_ = 0;
  std::size_t bytes_ = 0;
  const std::size_t bytes_max_;
  static constexpr std::size_t referred_share = 16;
  const std::size_t referred_before_ = state_.referred_bytes;
};

// --- start --------------------------------------------------------------------------------------------------------

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

Error cannot_move(const RunState& state, const Graph& graph, const std::vector<std::string>& hindrances) {
  std::string names;
  for (const std::string& node : missing_nodes(state, graph)) names += (names.empty() ? "" : ", ") + node;
  if (names.empty()) return refusal(Code::conflict, hindrances.front());
  return refusal(Code::conflict, "Expected graph " + graph.name + " of version " + graph.version.substr(0, 12) +
                                     " to have every node where " + name_of(state) + " stands, but it lacks " + names +
                                     ".");
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

// --- what workers report --------------------------------------------------------------------------------------------

Status Deciding::operator()(const CompleteStep& complete) {
  if (Status open = expect_open(state_, complete.step, complete.attempt); !open) return open;
  const Step& step = state_.steps.at(complete.step);
  if (Status handled = expect_handled(state_, step); !handled) return handled;
  if (Status same = check_reuse(step, complete); !same) return same;
  if (Status fits = check_outcome(step, complete.outcome); !fits) {
    const Outcome& outcome = complete.outcome;
    fail_attempt(complete.step, {complete.step,
                                 complete.attempt,
                                 {"invalid", fits.error().message, true, outcome.facts, 0, outcome.digest},
                                 complete.worker,
                                 complete.started_at});
  } else if (step.goal >= 0) {
    close_goal(step, complete);
  } else {
    succeed(step, complete);
  }
  return Done{};
}

// Whether a reused outcome is the recorded one: a worker's cache is not believed, the record is. Refuses `conflict`.
Status Deciding::check_reuse(const Step& step, const CompleteStep& complete) const {
  if (complete.cached_from == 0) return Done{};
  const Outcome& outcome = complete.outcome;
  const bool may = step.goal < 0 && state_.node(step).cache && outcome.facts.empty();
  const CachedOutcome* recorded = may ? find_cached(state_, step.branch, outcome.cache_key) : nullptr;
  if (recorded != nullptr && recorded->step == complete.cached_from && recorded->label == outcome.label &&
      parse_stored(recorded->patch) == outcome.patch)
    return Done{};
  return refusal(Code::conflict, "Expected step " + std::to_string(step.id) + " of " + name_of(state_) +
                                     " to use an outcome recorded for it, but step " +
                                     std::to_string(complete.cached_from) + " recorded no such one.");
}

// Whether an outcome may be recorded; if not, it becomes a failed attempt with this sentence. A worker that reports
// nonsense must use up its attempts instead of being refused for ever.
Status Deciding::check_outcome(const Step& step, const Outcome& outcome) const {
  if (outcome.facts.size() > facts_max)
    return refusal(Code::limit, "Expected at most " + std::to_string(facts_max) + " facts, but found " +
                                    std::to_string(outcome.facts.size()) + ".");
  if (!outcome.patch.is_object())
    return refusal(Code::invalid, "Expected an object, but the handler left " + excerpt(outcome.patch, 60) + ".");
  if (Status fits = check_value(outcome.patch, "what the handler left"); !fits) return fits;
  if (Status fits = check_facts(outcome.facts); !fits) return fits;
  if (step.goal >= 0) return Done{};
  if (step.item >= 0) return check_item(outcome);
  if (Status fits = check_revisions(outcome.facts); !fits) return fits;
  if (Status fits = check_budgets(outcome.facts); !fits) return fits;
  const Node& node = state_.node(step);
  if (outcome.label == "error" || outcome.label == "exhausted" || node.on.find(outcome.label) == node.on.end())
    return refusal(Code::invalid, "Expected node " + node.name +
                                      " to leave by one of its labels, but the handler left by " +
                                      recordable(outcome.label, name_bytes_max) + ".");
  // Composing channels costs time; a patch of plain channels always fits.
  if (!touches_reduced(*state_.graph, outcome.patch)) return Done{};
  // Only whether a sum fits depends on the value before. To read the others would cost as much as they hold, each time.
  Json before = Json::object();
  for (const auto& [channel, value] : outcome.patch.items())
    if (state_.graph->reducer(channel) == Reducer::sum) before[channel] = read_channel(state_, step.branch, channel);
  return check_patch(before, outcome.patch, *state_.graph);
}

// An item's label is not routed; its branch ends with it, and so would what it planned.
Status Deciding::check_item(const Outcome& outcome) {
  if (outcome.label == "error" || outcome.label == "exhausted")
    return refusal(Code::invalid,
                   "Expected an item to leave by a label of its handler, but it left by " + outcome.label + ".");
  const auto is_record = [](const Fact& fact) { return std::holds_alternative<Record>(fact); };
  if (std::all_of(outcome.facts.begin(), outcome.facts.end(), is_record)) return Done{};
  return refusal(Code::invalid, "Expected an item of a map to leave records alone, but its handler planned.");
}

// A revision is made for the plan as it was read (optimistic concurrency): after another revision it would change a
// plan that it never saw.
Status Deciding::check_revisions(const std::vector<Fact>& facts) const {
  std::int64_t version = state_.plan_version;
  for (const Fact& fact : facts) {
    if (const auto* created = std::get_if<PlanCreated>(&fact)) version = created->version;
    const auto* revised = std::get_if<PlanRevised>(&fact);
    if (revised == nullptr) continue;
    if (revised->version != version + 1)
      return refusal(Code::invalid, "Expected version " + std::to_string(version + 1) +
                                        " of the plan, but the handler left version " +
                                        std::to_string(revised->version) + ".");
    version = revised->version;
  }
  return Done{};
}

// A handler may report a budget of the graph as used up only when the counts say so.
Status Deciding::check_budgets(const std::vector<Fact>& facts) const {
  for (const Fact& fact : facts) {
    const auto* exhausted = std::get_if<BudgetExhausted>(&fact);
    if (exhausted == nullptr) continue;
    const auto use = state_.budgets.find(exhausted->name);
    if (use != state_.budgets.end() && use->second.used < use->second.cap)
      return refusal(Code::invalid, "Expected budget " + exhausted->name + " to be used up, but " +
                                        std::to_string(use->second.used) + " of " + std::to_string(use->second.cap) +
                                        " are used.");
  }
  return Done{};
}

Json Deciding::data_after(const Step& step, const Json& patch) const {
  Json data = read_channels(state_, step.branch);
  apply_patch(data, patch, *state_.graph);
  return data;
}

// The facts come before the step's own event: the sub-goals must be in the plan when that event moves the branch on,
// for example into a map that takes them.
void Deciding::succeed(const Step& step, const CompleteStep& complete) {
  const Node& node = state_.node(step);
  const auto& facts = complete.outcome.facts;
  const bool plans = std::any_of(facts.begin(), facts.end(),
                                 [](const Fact& fact) { return std::holds_alternative<SubGoalOpened>(fact); });
  const Json data = plans ? data_after(step, complete.outcome.patch) : Json();
  for (EventBody& fact : admit(state_, step.branch, facts, data, context_.tools)) {
    if (auto* exhausted = std::get_if<BudgetExhausted>(&fact)) {
      const auto use = state_.budgets.find(exhausted->name);
      const bool is_counted = use != state_.budgets.end();
      if (is_counted && use->second.is_reported) continue;
      if (is_counted) *exhausted = {exhausted->name, use->second.cap, use->second.used};
    }
    emit(complete.step, std::move(fact));
  }
  StepSucceeded succeeded;
  succeeded.node = node.name;
  succeeded.label = complete.outcome.label;
  succeeded.patch = canonical(complete.outcome.patch);
  if (step.item < 0) succeeded.next = state_.graph->next_names(step.node, complete.outcome.label);
  succeeded.attempt = complete.attempt;
  succeeded.worker = complete.worker;
  succeeded.started_at = complete.started_at;
  succeeded.cached_from = complete.cached_from;
  succeeded.handler_version = complete.outcome.handler_version;
  const bool is_whole =
      std::all_of(facts.begin(), facts.end(), [](const Fact& fact) { return std::holds_alternative<Record>(fact); });
  if (node.cache && is_whole && complete.cached_from == 0) succeeded.cache_key = complete.outcome.cache_key;
  emit(complete.step, std::move(succeeded));
}

void Deciding::close_goal(const Step& step, const CompleteStep& complete) {
  record_use(complete.step, complete.outcome.facts);
  const Attempt attempt{complete.attempt, complete.worker, complete.started_at};
  emit(complete.step, succeeded_goal(goal_of(state_, step), attempt, canonical(complete.outcome.patch)));
}

Status Deciding::operator()(const FailStep& fail) {
  if (Status open = expect_open(state_, fail.step, fail.attempt); !open) return open;
  const Step& step = state_.steps.at(fail.step);
  if (Status handled = expect_handled(state_, step); !handled) return handled;
  if (fail.failure.error == lost_error && runs_alone(step) && !fail.alone)
    return refusal(Code::conflict, "Expected step " + std::to_string(fail.step) + " of " + name_of(state_) +
                                       ", which runs alone, to have begun, but it had not.");
  if (fail.failure.error == lost_error && may_not_be_lost(state_, step) && !fail.begun)
    return refusal(Code::conflict, "Expected step " + std::to_string(fail.step) + " of " + name_of(state_) +
                                       ", which may not be lost, to have begun, but it had not.");
  fail_attempt(fail.step, fail);
  return Done{};
}

// A failed attempt leaves only the records of what it used, and no record that may not be one.
void Deciding::record_use(StepId step, const std::vector<Fact>& facts) {
  if (facts.size() > facts_max || !check_facts(facts)) return;
  for (const Fact& fact : facts)
    if (const auto* record = std::get_if<Record>(&fact)) emit(step, *record);
}

bool Deciding::may_retry(const Step& step, const FailStep& fail) const {
  const Retry& retry = state_.node(step).retry;
  if (fail.failure.error == lost_error) return fail.failure.retryable && may_lose_again(step, retry);
  return fail.failure.retryable && step.errors + 1 < retry.attempts;
}

// Routes a failed attempt: to another attempt, to the end of the run (`diverged`), to the sub-goal's failure, or to the
// node's edge for "error"; without an edge the step stays failed and follow ends the run.
void Deciding::fail_attempt(StepId id, const FailStep& fail) {
  record_use(id, fail.failure.facts);
  const Step& step = state_.steps.at(id);
  const Attempt attempt{step.attempt, fail.worker, fail.started_at};
  StepFailed failed = failed_step(state_, step, attempt, fail.failure.error, fail.failure.message);
  failed.refused = fail.failure.refused;
  if (may_retry(step, fail)) {
    const TimeUs now = std::max(context_.now_us, state_.last_at);
    const TimeUs asked = std::clamp<std::int64_t>(fail.failure.pause_ms, 0, pause_ms_max) * 1'000;
    const TimeUs delay = failed.error == lost_error ? delay_after_loss_us(step.losses, context_.draw)
                                                    : delay_us(state_.node(step).retry, step.errors + 1, context_.draw);
    failed.retry_at = now + std::max(asked, delay);
    return emit(id, std::move(failed));
  }
  if (failed.error == diverged_error) return emit(id, std::move(failed));  // no edge leads on from there
  if (step.goal >= 0) {
    SubGoalClosed closed =
        failed_goal(goal_of(state_, step), attempt, std::move(failed.error), std::move(failed.message));
    closed.refused = std::move(failed.refused);
    return emit(id, std::move(closed));
  }
  route_error(failed, state_, step);
  emit(id, std::move(failed));
}

// The time of the whole run.
Status Deciding::run_is_due() {
  if (Status open = expect_open(state_); !open) return open;
  const std::optional<TimeUs> at = due_of_run(state_);
  if (!at) return refusal(Code::invalid, "Expected " + name_of(state_) + " to have a limit of time, but it has none.");
  if (context_.now_us < *at)
    return refusal(Code::invalid, "Expected " + name_of(state_) + " to be due, but that is at " + time_text(*at) + ".");
  emit(0, TimerFired{});
  return Done{};
}

Status Deciding::operator()(const Due& due) {
  if (state_.status == RunStatus::paused)
    return refusal(Code::conflict, "Expected " + name_of(state_) + " to be running, but it is paused.");
  if (due.step == 0) return run_is_due();
  if (Status open = expect_open(state_, due.step, 0); !open) return open;
  const Step& step = state_.steps.at(due.step);
  if (!step.due)
    return refusal(Code::invalid, "Expected step " + std::to_string(step.id) + " to wait for a time, but it does not.");
  if (context_.now_us < *step.due)
    return refusal(Code::invalid, "Expected step " + std::to_string(step.id) + " to be due, but that is at " +
                                      time_text(*step.due) + ".");
  if (state_.node(step).verb() != Verb::ask) {
    emit(step.id, TimerFired{});
    return Done{};
  }
  const auto open = state_.questions.find(step.question);
  if (open == state_.questions.end())
    return refusal(Code::closed, "Expected step " + std::to_string(step.id) + " to ask, but its question is closed.");
  const Question question = open->second;
  if (question.fallback)
    emit(step.id, QuestionAnswered{question.id, *question.fallback, "default"});
  else
    emit(step.id, QuestionExpired{question.id});
  return Done{};
}

// --- what people and other systems ask -------------------------------------------------------------------------------

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

// --- calls ----------------------------------------------------------------------------------------------------------

Status Deciding::operator()(const FinishChild& finish) {
  if (Status open = expect_open(state_, finish.step, 0); !open) return open;
  const Step& step = state_.steps.at(finish.step);
  if (step.child != finish.child)
    return refusal(Code::conflict, "Expected step " + std::to_string(step.id) + " to wait for run " +
                                       to_string(finish.child) + ", but it waits for " + to_string(step.child) + ".");
  if (!step.closing_label.empty())
    return refusal(Code::closed, "Expected run " + to_string(finish.child) + " to end once, but it has ended.");
  emit(step.id, ChildFinished{finish.child, finish.status, finish.reason, finish.output});
  return Done{};
}

void Deciding::fail_call(StepId step, std::string error, std::string message) {
  FailStep fail;
  fail.step = step;
  fail.failure = {std::move(error), std::move(message), false, {}};
  fail.started_at = state_.steps.at(step).opened_at;
  fail_attempt(step, fail);
}

void Deciding::start_child(StepId id, ChildStarted child) {
  const Step& step = state_.steps.at(id);
  const GraphRef graph = graphs_.current(child.graph);
  if (graph == nullptr) {
    decision_.lacks_graph = child.graph;
    return fail_call(id, "not_found", "Expected a known graph to call, but there is no graph " + child.graph + ".");
  }
  if (decision_.children.size() >= context_.children_max)
    return fail_call(id, "limit",
                     "Expected one decision to start at most " + std::to_string(context_.children_max) +
                         " runs more, but it calls for another.");
  Decision::Child started;
  StartRun start;
  start.run = child.child = plus(context_.id_base, static_cast<std::uint32_t>(decision_.children.size()));
  start.graph = child.graph;
  start.version = child.version = graph->version;
  Result<Json> input = resolved(state_, step.branch, call_of(state_, step)->with);
  if (!input) return fail_call(id, std::string(to_string(input.error().code)), input.error().message);
  start.input = *std::move(input);
  start.language = state_.language;
  start.options.autonomous = state_.options.autonomous;
  start.options.priority = state_.options.priority;
  start.parent = Parent{state_.id, id, state_.parent ? state_.parent->depth + 1 : 1};
  Context context = context_;
  context.id_base = plus(start.run, 1);
  context.children_max = context_.children_max - decision_.children.size() - 1;
  context.events_max =
      context_.events_max - std::min(context_.events_max, decision_.events.size() + events_of_children_);
  context.now_us = std::max(context_.now_us, state_.last_at);
  Deciding deciding(started.state, context, graphs_, bytes_max_ - std::min(bytes_max_, bytes()));
  if (const Status may = deciding(start); !may)
    return fail_call(id, std::string(to_string(may.error().code)), may.error().message);
  deciding.settle();
  bytes_ += deciding.bytes();
  Decision decided = std::move(deciding).decision();
  if (!decided.lacks_graph.empty()) decision_.lacks_graph = decided.lacks_graph;
  emit(id, std::move(child));
  events_of_children_ += decided.events.size();
  for (const Decision::Child& inner : decided.children) events_of_children_ += inner.events.size();
  started.events = std::move(decided.events);
  started.touched = std::move(decided.touched);
  if (auto notice = parent_notice(started.state))  // it ended as it began
    emit(id,
         ChildFinished{notice->command.child, notice->command.status, notice->command.reason, notice->command.output});
  decision_.children.push_back(std::move(started));
  for (Decision::Child& inner : decided.children) decision_.children.push_back(std::move(inner));
}

}  // namespace

Result<Decision> decide(RunState& state, const Command& command, const Context& context, const Graphs& graphs) {
  Deciding deciding(state, context, graphs, decision_bytes_max);
  if (Status status = std::visit(deciding, command); !status) return status.error();
  deciding.settle();
  return std::move(deciding).decision();
}

std::optional<ParentNotice> parent_notice(const RunState& state) {
  if (!is_ended(state.status) || !state.parent) return std::nullopt;
  return ParentNotice{state.parent->run, {state.parent->step, state.id, state.status, state.reason, state.output}};
}

}  // namespace cairn
