#include "engine/evolve.hpp"

#include <algorithm>

#include "engine/corrupt_history.hpp"
#include "engine/fold.hpp"
#include "engine/graph_migration.hpp"
#include "engine/snapshot.hpp"

namespace cairn {
namespace {

[[noreturn]] void corrupt(const RunState& state, const Event& event, const std::string& says) {
  throw CorruptHistory("Expected event " + std::to_string(event.seq) + " of run " + to_string(state.id) +
                       " to follow, but " + says + ".");
}

// The setting for how long a step at the node may stay open; null if it has none.
const DueSetting* due_of(const Node& node) {
  const auto* ask = node.as<AskNode>();
  if (ask != nullptr && ask->expires) return &*ask->expires;
  const auto* wait = node.as<WaitNode>();
  return wait != nullptr && wait->due ? &*wait->due : nullptr;
}

}  // namespace

void Fold::corrupt(const std::string& says) const { cairn::corrupt(state_, event_, says); }

// --- run ----------------------------------------------------------------------------------------------------------

void Fold::operator()(const RunStarted& started) {
  if (event_.seq != 1) corrupt("run_started stands first or nowhere");
  if (started.language < 1 || started.language > language_now)
    corrupt("language " + std::to_string(started.language) + " is unknown");
  const GraphRef graph = graphs_.by_version(started.version);
  if (graph == nullptr) corrupt("graph version " + started.version + " is unknown");
  if (started.forked_from) {
    Result<RunState> origin = carried_state(started.forked_from->state, graphs_);
    if (!origin) corrupt("its origin's state cannot be read: " + origin.error().message);
    if (origin->seq == 0) corrupt("its origin has no state yet");
    begin_as_fork(*std::move(origin), *started.forked_from);
    if (state_.graph != graph) move_to(state_, graph);
  } else {
    state_.graph = graph;
    state_.started_at = event_.at_us;
    state_.language = started.language;
    state_.input = started.input;
    state_.parent = started.parent;
    state_.continues = started.continues;
    for (const auto& [name, budget] : graph->budgets) {
      const auto asked = started.options.budgets.find(name);
      state_.budgets[name].cap = asked == started.options.budgets.end() ? budget.cap : asked->second;
    }
    state_.last_branch = root_branch;
    Branch& root = state_.branches[root_branch];
    root.id = root_branch;
    root.data.add(started.input, *graph);
    if (started.history) root.data.add(R"({"history":)" + *started.history + "}", *graph);
  }
  state_.counted_from = event_.at_us;
  if (!is_ended(state_.status)) state_.is_overdue = false;
  state_.key = started.key;
  state_.options = started.options;
  state_.tags = started.tags;
  state_.seq = 1;
  if (!started.forked_from) enter(root_branch, graph->start, nullptr);
  touch_all();
}

// The origin's state without its ties: its parent, and the children that still run, belong to the origin alone. A step
// whose child has ended keeps it, because its result is already here.
void Fold::begin_as_fork(RunState origin, const Origin& from) {
  const RunId id = state_.id;
  state_ = std::move(origin);
  state_.id = id;
  state_.parent.reset();
  state_.forked_from = {from.run, from.seq};
  state_.started_at = event_.at_us;
  for (auto& [number, step] : state_.steps)
    if (step.closing_label.empty()) step.child = RunId{};
}

void Fold::go_on_as(RunStatus status, const std::string& pause_reason) {
  if (is_ended(state_.status)) corrupt("the run has ended");
  state_.status = status;
  state_.pause_reason = pause_reason;
  touch_all();
}

void Fold::operator()(const RunReopened& reopened) {
  if (is_ended(state_.status) && state_.status != RunStatus::failed) corrupt("the run has ended, and has not failed");
  state_.status = RunStatus::running;
  state_.reason = state_.ending ? state_.ending->reason : "";
  state_.cause.reset();
  state_.output = nullptr;
  state_.counted_from = event_.at_us;
  state_.is_overdue = false;
  std::vector<StepId> to_open;
  for (auto& [id, step] : state_.steps) {
    step.child = RunId{};  // an open call starts a new child
    if (reopened.opens_again && may_open_again(state_, step)) to_open.push_back(id);
    if (!step.failed_final) continue;
    step.failed_final = false;
    step.attempt = 1;
    step.errors = step.losses = 0;
    step.run_at = event_.at_us;
    step.closing_label.clear();
    step.brought.reset();
    if (!state_.questions.contains(step.question)) step.question.clear();  // it asks again
  }
  touch_all();
  for (const StepId id : to_open) {
    Step& step = state_.steps.at(id);
    step.unfit = false;
    step.error.clear();
    step.message.clear();
    if (std::exchange(step.exhausted, false)) charge_opening(step);
    if (!step.exhausted) read_settings(step);
  }
}

void Fold::operator()(const RunMoved& moved) {
  const GraphRef graph = graphs_.by_version(moved.to_version);
  if (graph == nullptr) corrupt("graph version " + moved.to_version + " is unknown");
  move_to(state_, graph);
  touch_all();
}

// The branches become one as at a join, so that the cleanup sees what each of them had written.
void Fold::operator()(const RunEnding& ending) {
  if (state_.ending || is_ended(state_.status)) corrupt("the run has ended, or its cleanup has begun");
  touch_all();
  state_.status = RunStatus::running;
  state_.pause_reason.clear();
  state_.reason = ending.reason;
  state_.ending = Ending{ending.status, ending.reason, ending.cause, parse_stored(ending.output), state_.last_step};
  CauseOfFailure cause = {state_.is_overdue ? "timeout" : std::string(to_string(ending.status)), ending.reason, "", 0,
                          0};
  if (ending.cause) cause = *ending.cause;
  state_.counted_from = event_.at_us;
  state_.is_overdue = false;
  gather(root_branch);
  state_.steps.clear();
  state_.questions.clear();
  Branch root = std::move(branch(root_branch));
  state_.branches.clear();
  give_up_goals(root.plan);
  root.step = 0;
  root.at_join = root.at_end = -1;
  const Json given = {{"node", cause.node}, {"error", cause.error}, {"message", cause.message}};
  root.cause = std::move(cause);
  state_.branches.emplace(root_branch, std::move(root));
  enter(root_branch, node_named(ending.next), given);
}

// The results that an open map over items has so far count as well.
void Fold::gather(BranchId into) {
  Branch& whole = branch(into);
  if (const Step* open = find_step(state_, whole.step); open != nullptr && !open->map.items.is_null())
    whole.data.add(mapped_patch(*open), *state_.graph);
  for (const BranchId id : std::exchange(whole.fan, {})) {
    gather(id);
    merge(whole, branch(id));
  }
  whole.arrived = 0;
}

void Fold::operator()(const RunFinished& finished) {
  if (!is_ended(finished.status)) corrupt("the run ends as one that goes on");
  touch_all();
  state_.status = finished.status;
  state_.pause_reason.clear();
  state_.reason = finished.reason;
  state_.cause = finished.cause;
  state_.output = parse_stored(finished.output);
  if (finished.status == RunStatus::failed) return;  // its steps stay, for a retry
  state_.steps.clear();
  state_.questions.clear();
  for (auto& [id, part] : state_.branches) part.step = 0;
}

// --- opening ------------------------------------------------------------------------------------------------------

Step& Fold::new_step(Branch& in, NodeIndex node) {
  Step& step = state_.steps[++state_.last_step];
  step.id = in.step = state_.last_step;
  step.branch = in.id;
  step.node = node;
  step.opened_at = step.run_at = event_.at_us;
  touch(in.id);
  return step;
}

// `fits`: that the step can be run, or why it cannot.
void Fold::open(BranchId in, NodeIndex node, const Json& given, const Status& fits) {
  Step& step = new_step(branch(in), node);
  step.given = given;
  charge_opening(step);
  if (step.exhausted) return;
  if (!fits) return make_unfit(step, fits.error().message);
  read_settings(step);
}

// Reads the run's data for a step that opens: a time, a list, the sub-goals that it takes.
void Fold::read_settings(Step& step) {
  const Node& at = state_.node(step);
  if (const DueSetting* due = due_of(at)) set_due(step, *due);
  if (const MapNode::Items* items = at.items()) return take_items(step, *items);
  if (at.verb() == Verb::map) take_goals(step.branch, step.id);
}

// The step sees the counts with its own use. A map over items is charged for each of them instead.
void Fold::charge_opening(Step& step) {
  const Node& at = state_.node(step);
  if (at.items() == nullptr) charge(step, at);
  for (const auto& [name, use] : state_.budgets) step.budgets[name] = use.used;
}

void Fold::charge(Step& step, const Node& node) {
  if (node.spends.empty()) return;
  BudgetUse& use = state_.budgets[node.spends];
  if (use.used < use.cap)
    ++use.used;
  else
    step.exhausted = true;
}

// The moment is fixed when the step opens: a later change of the channel does not move it. A value that is no time
// makes the step unfit instead of failing the fold, because folding is total; follow closes it by its error.
void Fold::set_due(Step& step, const DueSetting& setting) {
  const bool is_moment = setting.kind == DueSetting::Kind::at_time;
  const Result<Json> found = resolved(state_, step.branch, setting.value);
  if (!found && state_.language > 1) return make_unfit(step, found.error().message);
  const Json value = found ? *found : Json();
  const std::int64_t ms_max = (never_us - event_.at_us) / 1000 - 1;
  if (is_moment && value.is_string()) step.due = parse_time(value.get_ref<const std::string&>());
  if (!is_moment && value.is_number_integer() && value >= 0 && value <= ms_max)
    step.due = event_.at_us + value.get<std::int64_t>() * 1000;
  if (step.due) return;
  make_unfit(step, std::string("Expected ") + (is_moment ? "a time" : "a number of milliseconds") +
                       " to wait for, but found " + excerpt(value, 60) + ".");
}

void Fold::make_unfit(Step& step, std::string message) {
  step.unfit = true;
  step.error = "invalid";
  step.message = std::move(message);
}

// --- routing ------------------------------------------------------------------------------------------------------

void Fold::go_on(BranchId from, const std::vector<std::string>& next, const Json& given) {
  if (next.size() == 1) return enter(from, node_named(next.front()), given);
  std::vector<BranchId> fan;
  for (std::size_t place = 0; place < next.size(); ++place) {
    const BranchId id = ++state_.last_branch;
    fan.push_back(id);
    Branch& part = state_.branches[id];
    part.id = id;
    part.parent = from;
    part.place = static_cast<std::int32_t>(place);
  }
  branch(from).fan = fan;
  for (std::size_t place = 0; place < next.size(); ++place) enter(fan[place], node_named(next[place]), given);
}

void Fold::enter(BranchId in, NodeIndex node, const Json& given) {
  const Node& to = state_.graph->node(node);
  if (to.verb() == Verb::end) {
    branch(in).at_end = node;
    return touch(in);
  }
  if (to.join) return arrive(in, node);
  open(in, node, given);
}

// The last branch to arrive joins all of them, merged in edge order: the result does not depend on which was last. Sums
// that fit in each branch may be too much together: then the step at the join cannot be run.
void Fold::arrive(BranchId in, NodeIndex join) {
  Branch& part = branch(in);
  part.at_join = join;
  Branch& parent = branch(part.parent);
  if (parent.fan.empty()) corrupt("branch " + std::to_string(in) + " reached a join outside a fan-out");
  touch(in);
  if (static_cast<std::size_t>(++parent.arrived) < parent.fan.size()) return;
  const std::vector<BranchId> fan = std::exchange(parent.fan, {});
  parent.arrived = 0;
  Status all_fit = Done{};
  for (const BranchId id : fan) {
    if (Status fits = check_sums(state_, parent.id, branch(id).data); !fits && all_fit) all_fit = std::move(fits);
    if (branch(id).cause) parent.cause = std::move(branch(id).cause);
    merge(parent, branch(id));
    state_.branches.erase(id);
  }
  open(parent.id, join, nullptr, all_fit);
}

// The parts' untaken sub-goals come after the parent's: `next_untaken` stays at or before the first of them.
void Fold::merge(Branch& parent, Branch& part) {
  parent.data.absorb(std::move(part.data), *state_.graph);
  parent.plan.next_untaken = std::min(parent.plan.next_untaken, static_cast<std::int32_t>(parent.plan.goals.size()));
  for (SubGoal& goal : part.plan.goals) add_goal(parent.plan, std::move(goal));
  for (RejectedGoal& goal : part.plan.rejected) parent.plan.rejected.push_back(std::move(goal));
  parent.cache.merge(part.cache);  // of two with one key the first in edge order stays
}

// --- step ---------------------------------------------------------------------------------------------------------

// A sub-goal's step is closed with its sub-goal, a map after its sub-goals, an ask after its question.
void Fold::must_be_closable(const Step& step) const {
  const auto refuse = [&](const char* why) { corrupt("step " + std::to_string(step.id) + why); };
  if (step.goal >= 0) refuse(" is a sub-goal's");
  if (step.map.open_goals > 0) refuse(" has open sub-goals");
  if (step.map.open_items > 0) refuse(" has open items");
  if (!step.question.empty() && state_.questions.contains(step.question)) refuse(" has an open question");
}

// An edge that stands for a failure, though the step itself did what it is there for.
std::optional<CauseOfFailure> Fold::cause_of(const Step& step, const StepSucceeded& closed) const {
  const Node& node = state_.node(step);
  std::string message;
  if (node.verb() == Verb::call && (closed.label == "failed" || closed.label == "aborted"))
    message = step.message;
  else if (node.verb() == Verb::map && closed.label == "partial")
    message = step.map.items.is_null() ? unsuccessful_goals(step) : failed_items(step);
  else if (closed.label == "exhausted" && step.exhausted)
    message = "Budget " + node.spends + " is used up.";
  else
    return std::nullopt;
  return CauseOfFailure{closed.label, std::move(message), node.name, step.id, step.attempt};
}

void Fold::operator()(const StepSucceeded& succeeded) {
  must_be_closable(open_step());
  if (open_step().item >= 0) return item_succeeded(succeeded);
  Step step = std::move(open_step());
  state_.steps.erase(event_.step);
  Branch& in = branch(step.branch);
  in.step = 0;
  if (auto cause = cause_of(step, succeeded)) in.cause = std::move(cause);
  in.data.add(succeeded.patch, *state_.graph);
  if (!step.map.items.is_null()) in.data.add(mapped_patch(step), *state_.graph);
  if (!succeeded.cache_key.empty())
    in.cache.emplace(succeeded.cache_key, CachedOutcome{step.id, succeeded.label, succeeded.patch});
  Json given;
  if (step.brought) given = *std::move(step.brought);
  if (const auto* wait = state_.node(step).as<WaitNode>(); wait != nullptr && !succeeded.took.empty()) {
    const auto queue = state_.signals.find(wait->signal.value_or(""));
    if (queue == state_.signals.end()) corrupt("no signal was there to take");
    given = std::move(queue->second.front().value);
    queue->second.pop_front();
    if (queue->second.empty()) state_.signals.erase(queue);
  }
  touch(step.branch);
  go_on(step.branch, succeeded.next, given);
}

void Fold::operator()(const StepFailed& failed) {
  Step& step = open_step();
  touch(step.branch);
  step.error = failed.error;
  step.message = failed.message;
  // A retry keeps the step, its branch and its number open; only the attempt is another (fenced by its number).
  if (failed.retry_at) {
    ++step.attempt;
    ++(failed.error == lost_error ? step.losses : step.errors);
    step.run_at = *failed.retry_at;
    return;
  }
  if (failed.label.empty()) {
    step.failed_final = true;
    return;
  }
  must_be_closable(step);
  if (step.item >= 0) return close_item(Step(step), std::nullopt, failed.error, failed.message);
  const BranchId in = step.branch;
  const Json given = {{"node", failed.node}, {"error", failed.error}, {"message", failed.message}};
  branch(in).cause = CauseOfFailure{failed.error, failed.message, failed.node, step.id, failed.attempt};
  state_.steps.erase(event_.step);
  branch(in).step = 0;
  go_on(in, failed.next, given);
}

void Fold::operator()(const SignalReceived& received) {
  if (!received.id.empty()) state_.signal_ids.insert(received.id);
  state_.signals[received.name].push_back({received.id, received.value, event_.seq});
  for (const auto& [id, step] : state_.steps)
    if (const auto* wait = state_.node(step).as<WaitNode>(); wait != nullptr && wait->signal == received.name)
      touch(step.branch);
}

// --- question -----------------------------------------------------------------------------------------------------

void Fold::operator()(const QuestionAsked& asked) {
  Step& step = open_step();
  if (asked.question.empty()) corrupt("the question has no id");  // a step without one has no open question
  const auto open = state_.questions.find(asked.question);
  const bool is_asked_again =
      open != state_.questions.end() && open->second.step == step.id && step.question == open->first;
  if (!is_asked_again && (open != state_.questions.end() || state_.questions.contains(step.question)))
    corrupt("the question is another step's, or another one of its step is open");
  step.question = asked.question;
  state_.questions[asked.question] = {asked.question, step.id,        asked.kind,      asked.prompt,
                                      asked.schema,   asked.fallback, asked.expires_at};
  touch(step.branch);
}

void Fold::close_question(const std::string& id, std::string label) {
  const auto question = state_.questions.find(id);
  if (question == state_.questions.end()) corrupt("question " + id + " is not open");
  if (question->second.step != event_.step) corrupt("question " + id + " is another step's");
  state_.questions.erase(question);
  Step& step = open_step();
  step.closing_label = std::move(label);
  touch(step.branch);
}

void evolve(RunState& state, const Event& event, const Graphs& graphs, std::vector<BranchId>& touched) {
  if (event.seq != state.seq + 1) corrupt(state, event, "the last one was " + std::to_string(state.seq));
  if (event.seq == 1 && !std::holds_alternative<RunStarted>(event.body))
    corrupt(state, event, "a run begins with run_started");
  if (event.at_us < state.last_at) corrupt(state, event, "it is earlier than the one before it");
  try {
    std::visit(Fold(state, event, graphs, touched), event.body);
  } catch (const Json::exception& bad) {  // a value inside the event that is not of its kind
    corrupt(state, event, bad.what());
  }
  state.seq = event.seq;
  state.last_at = event.at_us;
}

}  // namespace cairn
