#include "engine/follow.hpp"

#include <utility>

#include "engine/bounds.hpp"
#include "engine/closing_events.hpp"

namespace cairn {
namespace {

// The event that one branch implies, by the first rule that applies. Lives for one call of follow.
class Following {
 public:
  Following(const RunState& state, const Branch& branch) : state_(state), branch_(branch) {}

  // The order of the rules is part of the contract: an end before all, then what ends the run, then what closes the
  // step as a failure, and only then its verb. Another order would give recorded histories other events when replayed.
  std::optional<EventBody> next() const {
    if (branch_.at_end >= 0) return ended_by(std::get<EndNode>(state_.graph->node(branch_.at_end).settings));
    if (branch_.step == 0) return std::nullopt;
    CHECK(step().branch == branch_.id);  // pairs with new_step(); a carried state is held to it by state_check
    if (step().id - steps_before_cleanup() > state_.graph->steps_max)
      return failed(reason_of_steps(state_.graph->steps_max));
    if (step().failed_final) return failed_by_step();
    if (step().goal >= 0) return sub_goal();
    if (step().exhausted) return exhausted();
    if (step().unfit) return closed_by_error();
    if (step().item >= 0) return call_of(state_, step()) == nullptr ? std::nullopt : call();
    switch (node().verb()) {
      case Verb::ask:
        return ask();
      case Verb::wait:
        return wait();
      case Verb::map:
        return map();
      case Verb::call:
        return call();
      case Verb::do_:
      case Verb::end:
        return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  const Step& step() const { return state_.steps.at(branch_.step); }
  const Node& node() const { return state_.node(step()); }
  template <class Settings>
  const Settings& settings() const {
    return std::get<Settings>(node().settings);
  }
  StepId steps_before_cleanup() const { return state_.ending ? state_.ending->last_step : 0; }
  std::string failure() const {
    return "Step " + std::to_string(step().id) + " (" + node().name + ") failed: " + step().error + ": " +
           step().message;
  }

  Result<Json> data(const Json& value) const { return resolved(state_, branch_.id, value); }

  // An item's branch ends with its step.
  std::vector<std::string> next_nodes(std::string_view label) const {
    if (step().item >= 0) return {};
    return state_.graph->next_names(step().node, label);
  }

  EventBody ended_by(const EndNode& end) const {
    const Result<Json> reason = data(end.reason);
    if (!reason) return failed(unreadable(reason.error()));
    const Result<Json> output = output_of(end);
    if (!output) return failed(unreadable(output.error()));
    RunFinished finished{
        .status = end.status,
        .reason = recordable(reason->is_string() ? reason->get<std::string>() : canonical(*reason), message_bytes_max),
        .output = canonical(*output),
        .closed = {},
        .cause = {}};
    if (const CauseOfFailure* cause = find_cause(state_, branch_.id); cause != nullptr && is_reported(end.status))
      finished.cause = *cause;
    return finished;
  }
  // An end that says nothing of it gives all channels, and after a cleanup what the run was to give.
  Result<Json> output_of(const EndNode& end) const {
    if (end.output) return data(*end.output);
    if (state_.ending) return state_.ending->output;
    return read_channels(state_, branch_.id);
  }
  static std::string unreadable(const Error& error) {
    return recordable(std::string(to_string(error.code)) + ": " + error.message, message_bytes_max);
  }
  bool is_reported(RunStatus status) const { return state_.language > 1 && status != RunStatus::done; }

  EventBody failed(std::string reason, std::optional<CauseOfFailure> cause = {}) const {
    return RunFinished{.status = RunStatus::failed,
                       .reason = std::move(reason),
                       .output = "{}",
                       .closed = {},
                       .cause = std::move(cause)};
  }

  EventBody failed_by_step() const {
    std::optional<CauseOfFailure> cause;
    if (is_reported(RunStatus::failed))
      cause = CauseOfFailure{step().error, step().message, node().name, step().id, step().attempt};
    return failed(failure(), std::move(cause));
  }

  // The engine's own closing of a step. No graph that was checked lacks the edge, but a run may have been moved to it.
  EventBody closed_by(std::string_view label, JsonText patch, std::string took) const {
    StepSucceeded closed;
    closed.node = node().name;
    closed.label = label;
    closed.patch = std::move(patch);
    closed.next = next_nodes(label);
    if (closed.next.empty() && step().item < 0)
      return closed_by_fault("invalid", "Expected node " + node().name + " to have an edge for \"" +
                                            std::string(label) + "\", but it has none.");
    closed.started_at = step().opened_at;
    closed.took = std::move(took);
    return closed;
  }

  EventBody closed_by_error() const { return closed_by_fault(step().error, step().message); }
  EventBody closed_by_limit(const Error& error) const {
    return closed_by_fault(std::string(to_string(error.code)), error.message);
  }
  EventBody closed_by_fault(const std::string& error, const std::string& message) const {
    StepFailed closed = failed_step(state_, step(), closed_by_engine(step()), error, message);
    route_error(closed, state_, step());
    return closed;
  }

  // A sub-goal that cannot be run is closed without an attempt; every other waits for a worker.
  std::optional<EventBody> sub_goal() const {
    if (!step().unfit) return reused();
    return failed_goal(goal_of(state_, step()), not_attempted(), step().error, step().message);
  }
  Attempt not_attempted() const { return {0, 0, step().opened_at}; }

  // A map that caches does no work twice.
  std::optional<EventBody> reused() const {
    const bool is_new = step().attempt == 1 && step().errors == 0 && step().losses == 0;
    const SubGoal* same = node().cache && is_new ? find_same_success(state_, step()) : nullptr;
    if (same == nullptr) return std::nullopt;
    SubGoalClosed closed = succeeded_goal(goal_of(state_, step()), not_attempted(), canonical(same->outputs));
    closed.reused_from = same->id;
    return closed;
  }

  EventBody exhausted() const {
    const auto found = state_.budgets.find(node().spends);  // a run that was moved since may have none of that name
    const BudgetUse use = found == state_.budgets.end() ? BudgetUse{0, 0, true} : found->second;
    if (!use.is_reported) return BudgetExhausted{node().spends, use.cap, use.used};
    if (!next_nodes("exhausted").empty()) return closed_by("exhausted", "{}", "");
    StepFailed closed = failed_step(state_, step(), closed_by_engine(step()), "exhausted",
                                    "Budget " + node().spends + " is used up: " + std::to_string(use.used) + " of " +
                                        std::to_string(use.cap) + ".");
    if (step().item >= 0) route_error(closed, state_, step());
    return closed;
  }

  // A node's `into` also stores the value that arrived under that channel.
  JsonText into() const {
    if (node().into.empty() || !step().brought || step().item >= 0) return "{}";
    return canonical(Json{{node().into, *step().brought}});
  }

  std::optional<EventBody> ask() const {
    if (!step().closing_label.empty()) return closed_by(step().closing_label, into(), step().question);
    if (step().question.empty()) return asked();
    if (!state_.options.autonomous) return std::nullopt;
    const Question& question = state_.questions.find(step().question)->second;
    if (question.fallback) return QuestionAnswered{question.id, *question.fallback, "default"};
    return QuestionExpired{question.id};
  }

  EventBody asked() const {
    Result<QuestionAsked> asked = question_of(state_, step());
    if (!asked) return closed_by_limit(asked.error());
    return *std::move(asked);
  }

  std::optional<EventBody> wait() const {
    if (!step().closing_label.empty()) return closed_by(step().closing_label, "{}", "");
    const auto queue = state_.signals.find(settings<WaitNode>().signal.value_or(""));
    if (queue == state_.signals.end()) return std::nullopt;
    const Signal& signal = queue->second.front();
    JsonText patch = "{}";
    if (!node().into.empty()) patch = canonical(Json{{node().into, signal.value}});
    return closed_by("fired", std::move(patch), signal.id.empty() ? "event " + std::to_string(signal.seq) : signal.id);
  }

  std::optional<EventBody> map() const {
    if (step().map.open_items > 0) return std::nullopt;
    if (!step().map.items.is_null()) return closed_by(step().map.failed.empty() ? "joined" : "partial", "{}", "");
    if (!step().map.doomed.empty())
      return skipped(branch_.plan.goals[static_cast<std::size_t>(*step().map.doomed.begin())]);
    if (step().map.open_goals > 0) return std::nullopt;
    return closed_by(step().map.partial ? "partial" : "joined", "{}", "");
  }

  EventBody skipped(const SubGoal& goal) const {
    std::string message = "It comes after a sub-goal that did not succeed.";
    for (const std::string& id : goal.after) {
      const SubGoal* before = find_goal(state_, branch_.id, id);
      if (before != nullptr && (before->status == GoalStatus::failed || before->status == GoalStatus::skipped))
        message = "It comes after sub-goal " + id + ", which " +
                  (before->status == GoalStatus::failed ? "failed." : "was skipped.");
    }
    return skipped_goal(goal, std::move(message));
  }

  std::optional<EventBody> call() const {
    if (!step().closing_label.empty()) return closed_by(step().closing_label, into(), "");
    if (!step().child.is_nil()) return std::nullopt;
    return ChildStarted{RunId{}, call_of(state_, step())->graph, ""};  // decide names the child and its version
  }

  const RunState& state_;
  const Branch& branch_;
};

// A run whose time is over fails, wherever it stands.
std::optional<Implied> of_run(const RunState& state) {
  if (!state.is_overdue) return std::nullopt;
  RunFinished finished;
  finished.status = RunStatus::failed;
  finished.reason = reason_of_time(state.graph->ms_max);
  return Implied{0, end_of(state, std::move(finished))};
}

}  // namespace

Result<QuestionAsked> question_of(const RunState& state, const Step& step) {
  const auto& ask = std::get<AskNode>(state.node(step).settings);
  QuestionAsked asked;
  asked.question = question_id(step.id);
  asked.kind = ask.kind;
  Result<Json> prompt = resolved(state, step.branch, ask.prompt);
  if (!prompt) return prompt.error();
  asked.prompt = *std::move(prompt);
  Result<Json> schema = resolved(state, step.branch, ask.schema);
  if (!schema) return schema.error();
  asked.schema = *std::move(schema);
  Result<Json> fallback = ask.fallback ? resolved(state, step.branch, *ask.fallback) : Result<Json>(Json());
  if (!fallback) return fallback.error();
  if (ask.fallback) asked.fallback = *std::move(fallback);
  asked.expires_at = step.due;
  return asked;
}

std::optional<Implied> follow(const RunState& state, BranchId branch) {
  if (is_ended(state.status)) return std::nullopt;
  if (branch == whole_run) return of_run(state);
  const auto found = state.branches.find(branch);
  if (found == state.branches.end()) return std::nullopt;
  std::optional<EventBody> body = Following(state, found->second).next();
  if (!body) return std::nullopt;
  if (auto* finished = std::get_if<RunFinished>(&*body)) body = end_of(state, std::move(*finished));
  return Implied{found->second.step, *std::move(body)};
}

}  // namespace cairn
