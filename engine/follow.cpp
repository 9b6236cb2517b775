#include "engine/decide.hpp"

namespace cairn {
namespace {

// What one open branch implies. Lives for one call of follow.
class Following {
 public:
  Following(const RunState& state, const Branch& branch) : state_(state), branch_(branch) {}

  std::optional<EventBody> next() const {
    if (branch_.at_end >= 0) return ended_by(state_.graph->nodes[static_cast<std::size_t>(branch_.at_end)]);
    if (branch_.step == 0) return std::nullopt;
    if (step().id > state_.graph->steps_max)
      return failed("Expected at most " + limit() + " steps, but another opened.");
    if (step().failed_final) return failed(failure());
    if (step().goal >= 0) return sub_goal();
    if (step().exhausted) return exhausted();
    if (step().unfit) return closed_by_error();
    switch (node().verb) {
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
  const Node& node() const { return state_.graph->nodes[static_cast<std::size_t>(step().node)]; }
  std::string limit() const { return std::to_string(state_.graph->steps_max); }
  std::string failure() const {
    return "Step " + std::to_string(step().id) + " (" + node().name + ") failed: " + step().error + ": " +
           step().message;
  }

  Json data(const Json& value) const {
    return resolve_channels(value, [&](std::string_view channel) { return read_channel(state_, branch_.id, channel); });
  }

  std::vector<std::string> next_nodes(std::string_view label) const {
    std::vector<std::string> names;
    if (const auto* nodes = state_.graph->next(step().node, label))
      for (const NodeIndex index : *nodes) names.push_back(state_.graph->nodes[static_cast<std::size_t>(index)].name);
    return names;
  }

  EventBody ended_by(const Node& end) const {
    const std::string status = end.spec.value("status", "done");
    const Json reason = data(end.spec.value("reason", Json("")));
    const Json output = end.spec.contains("output") ? data(end.spec["output"]) : read_channels(state_, branch_.id);
    return RunFinished{.status = parse_run_status(status).value_or(RunStatus::failed),
                       .reason = reason.is_string() ? reason.get<std::string>() : canonical(reason),
                       .output = canonical(output),
                       .closed = {}};
  }

  EventBody failed(std::string reason) const {
    return RunFinished{.status = RunStatus::failed, .reason = std::move(reason), .output = "{}", .closed = {}};
  }

  // The engine's own closing of a step: by an edge if the label has one, else for good.
  EventBody closed_by(std::string_view label, JsonText patch, std::string took) const {
    StepSucceeded closed;
    closed.node = node().name;
    closed.label = label;
    closed.patch = std::move(patch);
    closed.next = next_nodes(label);
    closed.started_at = step().opened_at;
    closed.took = std::move(took);
    return closed;
  }

  EventBody closed_by_error() const {
    StepFailed closed;
    closed.node = node().name;
    closed.attempt = step().attempt;
    closed.error = step().error;
    closed.message = step().message;
    closed.started_at = step().opened_at;
    closed.next = next_nodes("error");
    if (!closed.next.empty()) closed.label = "error";
    return closed;
  }

  std::optional<EventBody> sub_goal() const {
    if (!step().unfit) return reused();
    SubGoalClosed closed;
    closed.sub_goal = goal_of(state_, step()).id;
    closed.status = GoalStatus::failed;
    closed.error = step().error;
    closed.message = step().message;
    closed.started_at = step().opened_at;
    return closed;
  }

  // A map that caches does no work twice.
  std::optional<EventBody> reused() const {
    const bool is_new = step().attempt == 1 && step().errors == 0 && step().losses == 0;
    const SubGoal* same = node().cache && is_new ? find_same_success(state_, step()) : nullptr;
    if (same == nullptr) return std::nullopt;
    SubGoalClosed closed;
    closed.sub_goal = goal_of(state_, step()).id;
    closed.outputs = canonical(same->outputs);
    closed.started_at = step().opened_at;
    closed.reused_from = same->id;
    return closed;
  }

  EventBody exhausted() const {
    const BudgetUse& use = state_.budgets.find(node().spends)->second;
    if (!use.told) return BudgetExhausted{node().spends, use.cap, use.used};
    if (!next_nodes("exhausted").empty()) return closed_by("exhausted", "{}", "");
    StepFailed closed;
    closed.node = node().name;
    closed.attempt = step().attempt;
    closed.error = "exhausted";
    closed.message =
        "Budget " + node().spends + " is used up: " + std::to_string(use.used) + " of " + std::to_string(use.cap) + ".";
    closed.started_at = step().opened_at;
    return closed;
  }

  // `into` stores what came under a channel as well.
  JsonText into() const {
    if (node().into.empty() || !step().brought) return "{}";
    return canonical(Json{{node().into, *step().brought}});
  }

  std::optional<EventBody> ask() const {
    if (!step().came.empty()) return closed_by(step().came, into(), step().question);
    if (step().question.empty()) return asked();
    if (!state_.options.autonomous) return std::nullopt;
    const Question& question = state_.questions.find(step().question)->second;
    if (question.fallback) return QuestionAnswered{question.id, *question.fallback, "default"};
    return QuestionExpired{question.id};
  }

  EventBody asked() const {
    const Json& spec = node().spec;
    QuestionAsked asked;
    asked.question = "q" + std::to_string(step().id);
    asked.kind = spec.value("kind", "question");
    asked.prompt = data(spec.value("prompt", Json()));
    asked.schema = data(spec.value("schema", Json()));
    if (spec.contains("default")) asked.fallback = data(spec["default"]);
    asked.expires_at = step().due;
    return asked;
  }

  std::optional<EventBody> wait() const {
    if (!step().came.empty()) return closed_by(step().came, "{}", "");
    const auto queue = state_.signals.find(node().spec.value("signal", ""));
    if (queue == state_.signals.end()) return std::nullopt;
    const Signal& signal = queue->second.front();
    JsonText patch = "{}";
    if (!node().into.empty()) patch = canonical(Json{{node().into, signal.value}});
    return closed_by("fired", std::move(patch), signal.id.empty() ? "event " + std::to_string(signal.seq) : signal.id);
  }

  std::optional<EventBody> map() const {
    if (!step().doomed.empty()) return skipped(branch_.plan.goals[static_cast<std::size_t>(*step().doomed.begin())]);
    if (step().open_goals > 0) return std::nullopt;
    return closed_by(step().partial ? "partial" : "joined", "{}", "");
  }

  EventBody skipped(const SubGoal& goal) const {
    SubGoalClosed closed;
    closed.sub_goal = goal.id;
    closed.status = GoalStatus::skipped;
    closed.error = "skipped";
    closed.message = "It comes after a sub-goal that did not succeed.";
    for (const std::string& id : goal.after) {
      const SubGoal* before = find_goal(state_, branch_.id, id);
      if (before != nullptr && (before->status == GoalStatus::failed || before->status == GoalStatus::skipped))
        closed.message = "It comes after sub-goal " + id + ", which " +
                         (before->status == GoalStatus::failed ? "failed." : "was skipped.");
    }
    return closed;
  }

  std::optional<EventBody> call() const {
    if (!step().came.empty()) return closed_by(step().came, into(), "");
    if (!step().child.is_nil()) return std::nullopt;
    return ChildStarted{RunId{}, node().target, ""};  // decide names the child and its version
  }

  const RunState& state_;
  const Branch& branch_;
};

// The steps, questions and children that a run leaves open when it ends.
Closed left_open(const RunState& state) {
  Closed closed;
  for (const auto& [id, step] : state.steps) {
    if (!step.failed_final) closed.steps.push_back(id);
    if (!step.child.is_nil() && step.came.empty()) closed.children.push_back(step.child);
  }
  for (const auto& [id, question] : state.questions) closed.questions.push_back(id);
  return closed;
}

}  // namespace

std::optional<Implied> follow(const RunState& state, BranchId branch) {
  if (is_ended(state.status)) return std::nullopt;
  const auto found = state.branches.find(branch);
  if (found == state.branches.end()) return std::nullopt;
  std::optional<EventBody> body = Following(state, found->second).next();
  if (!body) return std::nullopt;
  if (auto* finished = std::get_if<RunFinished>(&*body)) finished->closed = left_open(state);
  return Implied{found->second.step, *std::move(body)};
}

}  // namespace cairn
