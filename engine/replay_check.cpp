#include "engine/replay_check.hpp"

#include <algorithm>
#include <utility>

#include "engine/codec.hpp"
#include "engine/snapshot.hpp"

namespace cairn {
namespace {

// The command from outside (a user, a system, the clock) that led to an event; nothing if no such command does.
struct Spoken {
  StepId step;

  std::optional<Command> operator()(const SignalReceived& e) const { return SendSignal{e.name, e.value, e.id}; }
  std::optional<Command> operator()(const QuestionAnswered& e) const {
    if (e.by == "default") return Due{step};
    return Answer{e.question, e.value, e.by, {}};
  }
  std::optional<Command> operator()(const QuestionExpired&) const { return Due{step}; }
  std::optional<Command> operator()(const TimerFired&) const { return Due{step}; }
  std::optional<Command> operator()(const ChildFinished& e) const {
    return FinishChild{step, e.child, e.status, e.reason, e.output};
  }
  std::optional<Command> operator()(const RunPaused& e) const { return Pause{e.reason}; }
  std::optional<Command> operator()(const RunResumed& e) const { return Resume{e.reason}; }
  std::optional<Command> operator()(const RunReopened& e) const { return Reopen{e.reason, e.opens_again}; }
  std::optional<Command> operator()(const RunMoved& e) const { return MoveRun{e.to_version, e.reason}; }
  std::optional<Command> operator()(const ChannelsEdited& e) const { return EditChannels{parse_stored(e.patch)}; }
  std::optional<Command> operator()(const RunFinished& e) const {
    if (e.status != RunStatus::aborted) return std::nullopt;
    return Cancel{e.reason, true};
  }
  std::optional<Command> operator()(const RunEnding& e) const {
    if (e.status != RunStatus::aborted) return std::nullopt;
    return Cancel{e.reason};
  }
  template <class Other>
  std::optional<Command> operator()(const Other&) const {
    return std::nullopt;
  }
};

std::string text_of(const EventBody& body) { return std::string(type_of(body)) + " " + encode_payload(body); }

// The queues that the tools of admitted sub-goals had; what was not admitted is on record as rejected.
ToolTable tools_of(const std::vector<Fact>& facts) {
  ToolTable tools;
  for (const Fact& fact : facts)
    if (const auto* goal = std::get_if<SubGoalOpened>(&fact); goal != nullptr && !goal->tool.empty())
      tools[goal->tool].queue = goal->queue;
  return tools;
}

// The engine closed a call because a graph was missing, and no other call of that commit found one.
bool found_no_graph(std::span<const Event> commit) {
  const auto called = [](const Event& event) { return std::holds_alternative<ChildStarted>(event.body); };
  const auto failed = [](const Event& event) {
    const auto* body = std::get_if<StepFailed>(&event.body);
    return body != nullptr && body->worker == 0 && body->error == "not_found";
  };
  return std::any_of(commit.begin(), commit.end(), failed) && std::none_of(commit.begin(), commit.end(), called);
}

// As it is compared: without what the record does not determine.
std::string comparable(const EventBody& body, bool graph_changed) {
  if (const auto* failed = std::get_if<StepFailed>(&body); failed != nullptr && failed->retry_at) {
    StepFailed at_any_time = *failed;
    at_any_time.retry_at = 0;
    return encode_payload(at_any_time);
  }
  if (const auto* started = std::get_if<RunStarted>(&body); started != nullptr && graph_changed) {
    RunStarted under_any_graph = *started;
    under_any_graph.version.clear();
    under_any_graph.options.budgets.clear();
    return encode_payload(under_any_graph);
  }
  return encode_payload(body);
}

// The step's own handler failed: it was not lost, and not too late.
bool failed_by_itself(const FailStep& fail) {
  return fail.failure.error != lost_error && fail.failure.error != "timeout";
}

}  // namespace

ReplayCheck::ReplayCheck(const RunId& run, const Graphs& graphs, GraphRef graph, Rerun rerun)
    : graphs_(graphs), graph_(std::move(graph)), rerun_(std::move(rerun)) {
  state_.id = run;
  if (graph_ != nullptr) graphs_.add(graph_, false);
}

bool ReplayCheck::add(std::span<const Event> commit) {
  if (divergence_) return false;
  for (std::size_t at = 0; at < commit.size(); ++at) {
    const Event& recorded = commit[at];
    if (graph_ != nullptr && std::holds_alternative<RunMoved>(recorded.body) && expected_.empty())
      return diverge(recorded,
                     "Expected to decide the whole run under one graph, but it was moved to another version.");
    if (expected_.empty() && !decide_from(commit.subspan(at))) return false;
    const Event again = std::move(expected_.front());
    expected_.pop_front();
    if (!matches(recorded, again))
      return diverge(recorded,
                     "Expected " + std::string(type_of(recorded.body)) + " as recorded, but " +
                         std::string(type_of(again.body)) + " came out otherwise.",
                     text_of(again.body));
    note_graph(recorded.body);
    note_decision(recorded.body);
  }
  if (expected_.empty() || commit.empty()) return true;
  return diverge(commit.back(),
                 "Expected nothing more after event " + std::to_string(commit.back().seq) + ", but " +
                     std::string(type_of(expected_.front().body)) + " follows.",
                 text_of(expected_.front().body));
}

// The graph version in force when this was recorded; its retry limits apply.
void ReplayCheck::note_graph(const EventBody& recorded) {
  if (const auto* started = std::get_if<RunStarted>(&recorded)) recorded_graph_ = graphs_.by_version(started->version);
  if (const auto* moved = std::get_if<RunMoved>(&recorded)) recorded_graph_ = graphs_.by_version(moved->to_version);
}

void ReplayCheck::note_decision(const EventBody& recorded) {
  const auto* record = std::get_if<Record>(&recorded);
  if (record == nullptr || record->kind != RecordKind::decision_enforced) return;
  const Json action = parse_stored(record->fields).value("action", Json());
  decision_ = action.is_string() ? action.get<std::string>() : excerpt(action, 60);
}

// Derives the command that led to the next event and decides it; its events are then expected.
bool ReplayCheck::decide_from(std::span<const Event> rest) {
  const Event& first = rest.front();
  try {
    std::optional<Derived> derived = derive(rest);
    if (!derived)
      return diverge(first, "Expected the record to follow, but " + std::string(type_of(first.body)) +
                                " comes of no command here.");
    if (rerun_ && !rerun_agrees(first, derived->command)) return false;
    Context context;
    context.now_us = first.at_us;
    context.actor = first.actor;
    context.id_base = derived->id_base;
    context.tools = &derived->tools;
    call_recorded_versions(rest);
    Result<Decision> decision =
        decide(state_, derived->command, context, found_no_graph(rest) ? own_graphs(first) : graphs_);
    if (!decision) return diverge(first, decision.error().message);
    expected_.assign(std::make_move_iterator(decision->events.begin()),
                     std::make_move_iterator(decision->events.end()));
    return true;
  } catch (const std::exception& bad) {  // a record that no decision of ours left
    return diverge(first, bad.what());
  }
}

// A call starts the version that is current; then it was this one.
void ReplayCheck::call_recorded_versions(std::span<const Event> rest) {
  for (const Event& event : rest) {
    const auto* child = std::get_if<ChildStarted>(&event.body);
    if (child == nullptr) continue;
    if (GraphRef graph = graphs_.by_version(child->version); graph != nullptr) graphs_.add(std::move(graph), true);
  }
}

// The run's own versions and no names: those under which its call found no graph.
Graphs ReplayCheck::own_graphs(const Event& first) const {
  Graphs own;
  const auto add = [&own](const GraphRef& graph) {
    if (graph != nullptr) own.add(graph, false);
  };
  for (const GraphRef& graph : {graph_, state_.graph}) add(graph);
  const auto* started = std::get_if<RunStarted>(&first.body);
  if (started == nullptr) return own;
  add(graphs_.by_version(started->version));
  if (started->forked_from) add(graphs_.by_version(started->forked_from->state.value("graph", "")));
  return own;
}

std::optional<ReplayCheck::Derived> ReplayCheck::derive(std::span<const Event> rest) const {
  Derived derived;
  for (const Event& event : rest) {
    const auto* child = std::get_if<ChildStarted>(&event.body);
    if (child == nullptr) continue;
    derived.id_base = child->child;
    break;
  }
  if (std::holds_alternative<RunStarted>(rest.front().body)) {
    derived.command = start_of(rest);
    return derived;
  }
  std::optional<Command> command;
  if (std::optional<StepReport> report = step_report(rest)) {
    if (report->result) derived.tools = tools_of(report->result->facts);
    command = report_again(*std::move(report));
  } else {
    command = std::visit(Spoken{rest.front().step}, rest.front().body);
  }
  if (!command) return std::nullopt;
  derived.command = *std::move(command);
  return derived;
}

StartRun ReplayCheck::start_of(std::span<const Event> rest) const {
  const auto& started = std::get<RunStarted>(rest.front().body);
  StartRun start;
  start.run = state_.id;
  start.graph = graph_ == nullptr ? started.graph : graph_->name;
  start.version = graph_ == nullptr ? started.version : graph_->version;
  start.input = parse_stored(started.input);
  start.options = started.options;
  if (graph_ != nullptr)
    std::erase_if(start.options.budgets, [this](const auto& cap) { return !graph_->budgets.contains(cap.first); });
  start.tags = started.tags;
  start.key = started.key;
  start.reason = started.reason;
  start.parent = started.parent;
  start.continues = started.continues;
  start.language = started.language;
  if (started.history) start.history = parse_stored(*started.history);
  start.forked_from = started.forked_from;
  if (!start.forked_from) return start;
  start.opens_again = false;
  for (const Event& event : rest) {
    if (const auto* reopened = std::get_if<RunReopened>(&event.body)) start.opens_again = reopened->opens_again;
    if (const auto* edited = std::get_if<ChannelsEdited>(&event.body)) start.edit = parse_stored(edited->patch);
    const auto* asked = std::get_if<QuestionAsked>(&event.body);
    if (asked != nullptr && was_open(*start.forked_from, asked->question)) start.asks_again = true;
    const auto* answered = std::get_if<QuestionAnswered>(&event.body);
    if (answered != nullptr && answered->by != "default") start.answers.emplace(answered->question, answered->value);
  }
  return start;
}

bool ReplayCheck::was_open(const Origin& origin, const std::string& question) const {
  const Result<RunState> then = carried_state(origin.state, graphs_);
  return then && then->questions.contains(question);
}

// The command of a worker that reported a step.
Command ReplayCheck::report_again(StepReport report) const {
  if (!report.result) {
    Failure failure = std::move(report.result).error();
    failure.retryable = failure.retryable || was_last_try(report.step, failure.error);
    const bool is_lost = failure.error == lost_error;  // and counted: it is on record
    return FailStep{report.step, report.attempt, std::move(failure), report.worker, report.started_at, is_lost};
  }
  if (report.cached_from != 0) report.result->cache_key = key_of_outcome(report.step, report.cached_from);
  return CompleteStep{report.step,   report.attempt,    *std::move(report.result),
                      report.worker, report.started_at, report.cached_from};
}

// The recorded graph allowed no other attempt: whether one was worth it is not on record. (An earlier release allowed
// fewer losses than this one.)
bool ReplayCheck::was_last_try(StepId id, const std::string& error) const {
  const Step* step = find_step(state_, id);
  const GraphRef& then = recorded_graph_ == nullptr ? state_.graph : recorded_graph_;
  if (step == nullptr) return false;
  const NodeIndex node = then->find(state_.node(*step).name);
  if (node < 0) return false;
  const Retry& retry = then->node(node).retry;
  return error == lost_error ? !may_lose_again(*step, retry) : step->errors + 1 >= retry.attempts;
}

// It is on record where the outcome was recorded.
std::string ReplayCheck::key_of_outcome(StepId id, StepId recorded_by) const {
  const Step* step = find_step(state_, id);
  for (BranchId branch = step == nullptr ? 0 : step->branch; branch != 0; branch = state_.branches.at(branch).parent)
    for (const auto& [key, outcome] : state_.branches.at(branch).cache)
      if (outcome.step == recorded_by) return key;
  return "";
}

bool ReplayCheck::rerun_agrees(const Event& at, const Command& command) {
  const auto* complete = std::get_if<CompleteStep>(&command);
  const auto* fail = std::get_if<FailStep>(&command);
  if (fail != nullptr && !failed_by_itself(*fail)) return true;
  const StepId id = complete != nullptr ? complete->step : fail != nullptr ? fail->step : 0;
  const Step* step = find_step(state_, id);
  if (step == nullptr || step->goal >= 0 || (complete != nullptr && complete->cached_from != 0)) return true;
  const std::optional<Job> job = job_of(state_, step->branch);
  const auto result = job ? rerun_(state_, *job) : std::nullopt;
  if (!result) return true;
  if (complete == nullptr) {
    if (!result->ok()) return true;
    return diverge(at,
                   "Expected the handler to fail again with \"" + fail->failure.message + "\", but it left by " +
                       (**result).label + ".",
                   canonical((**result).patch));
  }
  if (!result->ok())
    return diverge(at, "Expected the handler to succeed again, but it failed: " + result->error().message);
  const Outcome& outcome = **result;
  if (outcome.label != complete->outcome.label)
    return diverge(
        at,
        "Expected the handler to leave by " + complete->outcome.label + " again, but it left by " + outcome.label + ".",
        canonical(outcome.patch));
  if (outcome.patch != complete->outcome.patch)
    return diverge(at, "Expected the handler to leave the recorded patch again, but it left another.",
                   canonical(outcome.patch));
  return true;
}

bool ReplayCheck::matches(const Event& recorded, const Event& again) const {
  return recorded.seq == again.seq && recorded.step == again.step && recorded.body.index() == again.body.index() &&
         comparable(recorded.body, graph_ != nullptr) == comparable(again.body, graph_ != nullptr);
}

bool ReplayCheck::diverge(const Event& at, std::string says, std::string again) {
  Divergence& divergence = divergence_.emplace();
  divergence.seq = at.seq;
  divergence.step = at.step;
  if (const auto* succeeded = std::get_if<StepSucceeded>(&at.body)) divergence.node = succeeded->node;
  if (const auto* failed = std::get_if<StepFailed>(&at.body)) divergence.node = failed->node;
  if (const Step* step = find_step(state_, at.step); divergence.node.empty() && step != nullptr && step->node >= 0)
    divergence.node = state_.node(*step).name;
  divergence.type = type_of(at.body);
  divergence.says = std::move(says);
  divergence.decision = decision_;
  divergence.recorded = encode_payload(at.body);
  divergence.again = std::move(again);
  return false;
}

}  // namespace cairn
