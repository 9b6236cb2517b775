#include <algorithm>
#include <utility>

#include "engine/blame_record.hpp"
#include "engine/bounds.hpp"
#include "engine/evolve.hpp"
#include "engine/json_scan.hpp"

namespace cairn {
namespace {

// A member's text, cut to what is shown; "" if there is none.
std::string shown_member(const JsonText& object, std::string_view key) {
  const auto members = members_of(object);
  if (!members) return "";
  for (const JsonMember& member : *members) {
    if (member.key != key) continue;
    if (member.scalar.is_string()) return recordable(member.scalar.get<std::string>(), Blame::name_shown_max);
    return recordable(std::string(member.text.substr(0, 2 * Blame::name_shown_max)), Blame::name_shown_max);
  }
  return "";
}

}  // namespace

void BlameRecord::add(const Event& event) {
  const StepId last_step = state.last_step;
  const BranchId last_branch = state.last_branch;
  const bool grows = !is_too_large;
  if (state.seq > 0 && grows) std::visit([&](const auto& body) { before(event, body); }, event.body);
  touched_.clear();
  evolve(state, event, graphs_, touched_);
  if (!grows) return;
  step_at_.push_back(event.step);
  if (const auto* started = std::get_if<RunStarted>(&event.body)) begin(event, *started);
  if (const auto* reopened = std::get_if<RunReopened>(&event.body)) reopen(*reopened);
  follow_branches(event.step, last_branch);
  open_steps(last_step);
  const auto closed = steps_.find(event.step);
  if (closed != steps_.end() && !state.branches.contains(closed->second.branch)) branches_.erase(closed->second.branch);
}

// --- before an event is folded ---------------------------------------------------------------------------------------

void BlameRecord::before(const Event& event, const StepSucceeded& succeeded) {
  const Step* step = find_step(state, event.step);
  if (step == nullptr || step->goal >= 0) return;
  const bool plans = notes_[step->id].plans;
  const BlamePointId point =
      succeeded.attempt == 0 ? engine_point(event, *step, succeeded) : attempt_point(event, *step);
  notes_.erase(step->id);
  if (succeeded.cached_from != 0) {
    points[static_cast<std::size_t>(point)].is_shown = false;
    depend(point, {.point = closed_point(succeeded.cached_from)});
  }
  if (step->item >= 0) return close_item(*step, point, call_of(state, *step) != nullptr && succeeded.label != "done");
  write_patch(step->branch, succeeded.patch, point);
  if (!step->map.items.is_null()) write_results(*step, trace_of(*step));
  if (plans) write_plan(step->branch, point);
  close(*step, point, succeeded.label, succeeded.next);
}

// The engine closes a step by what came for it, which is an outcome of its own.
BlamePointId BlameRecord::engine_point(const Event& event, const Step& step, const StepSucceeded& succeeded) {
  const BlamePointId point = new_point(event.seq, step.id, BlameKind::engine, step.exhausted);
  StepTrace& trace = trace_of(step);
  depend(point, {.point = std::exchange(trace.brought, -1)});
  depend(point, {.point = trace.opened});
  if (!succeeded.took.empty()) depend(point, {.point = take_signal(step)});
  if (step.exhausted) depend_on_budget(point, step);
  if (succeeded.label == "partial") depend(point, {.version = trace.failures, .way = BlameWay::failure});
  return point;
}

BlamePointId BlameRecord::take_signal(const Step& step) {
  const auto* wait = state.node(step).as<WaitNode>();
  const auto queue = wait == nullptr ? signals_.end() : signals_.find(wait->signal.value_or(""));
  if (queue == signals_.end() || queue->second.empty()) return -1;
  const BlamePointId taken = queue->second.front();
  queue->second.pop_front();
  return taken;
}

void BlameRecord::depend_on_budget(BlamePointId point, const Step& step) {
  const std::string& budget = state.node(step).spends;
  if (const auto used = budgets_.find(budget); used != budgets_.end())
    depend(point, {.version = used->second, .way = BlameWay::budget, .name = named(budget)});
}

// The outcome of an attempt, whether it succeeded or failed.
BlamePointId BlameRecord::attempt_point(const Event& event, const Step& step) {
  AttemptNotes notes = std::exchange(notes_[step.id], {});
  const DoNode* work = work_of(state, step);
  if (step.unfit || step.exhausted || work == nullptr) {
    notes = {};
    notes.kind = BlameKind::engine;
  } else if (notes.kind == BlameKind::work) {
    notes.kind = reads_(work->handler).is_pure ? BlameKind::rule : BlameKind::work;
    notes.who = work->handler;
  }
  const BlamePointId point = new_point(event.seq, step.id, notes.kind, true);
  points[static_cast<std::size_t>(point)].who = named(notes.who);
  points[static_cast<std::size_t>(point)].decision = named(notes.decision);
  const StepTrace& trace = trace_of(step);
  depend(point, {.point = trace.opened});
  depend_on_all(point, work == nullptr ? trace.reads : reads_of_work(step));
  if (step.exhausted) depend_on_budget(point, step);
  return point;
}

void BlameRecord::before(const Event& event, const StepFailed& failed) {
  const Step* step = find_step(state, event.step);
  if (step == nullptr || step->goal >= 0) return;
  if (failed.retry_at) {
    notes_.erase(step->id);
    return;
  }
  const BlamePointId point = attempt_point(event, *step);
  notes_.erase(step->id);
  if (step->item >= 0 && !failed.label.empty()) return close_item(*step, point, true);
  close(*step, point, failed.label, failed.next);
}

void BlameRecord::before(const Event& event, const SubGoalClosed& closed) {
  const Step* step = find_step(state, event.step);
  if (step == nullptr) return;
  const BranchId branch = step->goal >= 0 ? state.branches.at(step->branch).parent : step->branch;
  const SubGoal* goal = step->goal >= 0 ? &goal_of(state, *step) : find_goal(state, branch, closed.sub_goal);
  if (goal == nullptr) return;
  const BlamePointId point = goal_point(event, *goal, closed, branch);
  notes_.erase(step->id);
  goals_[{goal->map, goal->id}] = point;
  write_plan(branch, point);
  if (step->goal >= 0) trace_of(*step).closed = point;
  if (closed.status == GoalStatus::succeeded) return;
  StepTrace& map = steps_[goal->map];
  map.failures = version_of(point, map.failures);
}

BlamePointId BlameRecord::goal_point(const Event& event, const SubGoal& goal, const SubGoalClosed& closed,
                                     BranchId branch) {
  const Step& step = state.steps.at(event.step);
  const AttemptNotes notes = std::exchange(notes_[step.id], {});
  const bool is_worked = step.goal >= 0 && !step.unfit && closed.reused_from.empty();
  BlameKind kind = notes.kind == BlameKind::model ? BlameKind::model : BlameKind::tool;
  if (!is_worked) kind = BlameKind::engine;
  const BlamePointId id = new_point(event.seq, step.id, kind, closed.reused_from.empty());
  BlamePoint& point = points[static_cast<std::size_t>(id)];
  point.who = named(kind == BlameKind::model ? notes.who : is_worked ? goal.tool : "");
  point.sub_goal = named(goal.id);
  depend(id, {.point = trace_of(step).opened});
  depend(id, {.point = planner_of(goal, branch), .way = BlameWay::plan});
  depend_on_slots(id, goal.inputs, branch);
  if (!closed.reused_from.empty()) depend(id, {.point = point_of_goal(find_goal(state, branch, closed.reused_from))});
  if (closed.status == GoalStatus::skipped)
    for (const std::string& before_id : goal.after)
      if (const SubGoal* one = find_goal(state, branch, before_id);
          one != nullptr && (one->status == GoalStatus::failed || one->status == GoalStatus::skipped))
        depend(id, {.point = point_of_goal(one), .way = BlameWay::failure});
  return id;
}

// The sub-goals whose outputs the inputs name.
void BlameRecord::depend_on_slots(BlamePointId point, const Json& inputs, BranchId branch) {
  if (!inputs.is_structured()) return;
  if (inputs.is_object() && inputs.contains("from_sub_goal") && inputs["from_sub_goal"].is_string()) {
    const auto& id = inputs["from_sub_goal"].get_ref<const std::string&>();
    return depend(point,
                  {.point = point_of_goal(find_goal(state, branch, id)), .way = BlameWay::slot, .name = named(id)});
  }
  for (const Json& part : inputs) depend_on_slots(point, part, branch);
}

BlamePointId BlameRecord::point_of_goal(const SubGoal* goal) const {
  if (goal == nullptr) return -1;
  const auto closed = goals_.find({goal->map, goal->id});
  return closed != goals_.end() ? closed->second : state.forked_from ? closed_point(0) : -1;
}

// Two branches may plan one id, each for itself: then the one that planned it on this branch.
BlamePointId BlameRecord::planner_of(const SubGoal& goal, BranchId branch) const {
  const auto planned = planned_.find(goal.id);
  if (planned == planned_.end()) return state.forked_from ? closed_point(0) : -1;
  for (auto step = planned->second.rbegin(); step != planned->second.rend(); ++step)
    if (const auto trace = steps_.find(*step); trace != steps_.end() && trace->second.branch == branch)
      return trace->second.closed;
  return closed_point(planned->second.back());
}

void BlameRecord::before(const Event& event, const Record& record) {
  AttemptNotes& notes = notes_[event.step];
  if (record.kind == RecordKind::decision_enforced) notes.decision = shown_member(record.fields, "action");
  if (record.kind == RecordKind::model_called) {
    notes.kind = BlameKind::model;
    notes.who = shown_member(record.fields, "model");
  }
  if (record.kind == RecordKind::tool_called && notes.kind != BlameKind::model) {
    notes.kind = BlameKind::tool;
    notes.who = shown_member(record.fields, "tool");
  }
}

void BlameRecord::before(const Event& event, const SubGoalOpened& opened) {
  note_plan(event.step);
  planned_[opened.sub_goal].push_back(event.step);
}

void BlameRecord::before(const Event& event, const ChannelsEdited& edited) {
  const BlamePointId point = new_point(event.seq, 0, BlameKind::edit, true);
  points[static_cast<std::size_t>(point)].who = named(event.actor);
  const Json patch = parse_stored_object(edited.patch);
  for (const auto& [channel, value] : patch.items()) {
    named(channel);
    branches_[root_branch].channels[channel] = version_of(point, -1);
  }
}

void BlameRecord::before(const Event& event, const SignalReceived& received) {
  const BlamePointId point = new_point(event.seq, 0, BlameKind::signal, true);
  points[static_cast<std::size_t>(point)].who = named(event.actor);
  signals_[received.name].push_back(point);
}

// An outcome that came for an open step from elsewhere, and by which the engine closes it.
BlamePointId BlameRecord::bring(const Event& event, BlameKind kind, const std::string& who) {
  const Step* step = find_step(state, event.step);
  if (step == nullptr) return -1;
  StepTrace& trace = trace_of(*step);
  trace.brought = new_point(event.seq, step->id, kind, true);
  points[static_cast<std::size_t>(trace.brought)].who = named(who);
  depend(trace.brought, {.point = trace.opened});
  depend_on_all(trace.brought, trace.reads);
  return trace.brought;
}

void BlameRecord::before(const Event& event, const TimerFired&) {
  if (event.step != 0) return static_cast<void>(bring(event, BlameKind::timer, ""));
  overdue_ = new_point(event.seq, 0, BlameKind::timer, true);
  for (const auto& [id, step] : state.steps)
    depend(overdue_, {.point = trace_of(step).opened, .way = BlameWay::waited});
}

void BlameRecord::before(const Event& event, const ChildStarted&) {
  const Step* step = find_step(state, event.step);
  if (step != nullptr && call_of(state, *step) != nullptr) trace_of(*step).reads = reads_when_opened(*step);
}

void BlameRecord::before(const Event& event, const ChildFinished& finished) {
  const Step* step = find_step(state, event.step);
  const CallNode* call = step == nullptr ? nullptr : call_of(state, *step);
  const BlamePointId point = bring(event, BlameKind::child, call == nullptr ? "" : call->graph);
  if (point >= 0) runs[point] = finished.child;
}

void BlameRecord::before(const Event& event, const QuestionAsked&) {
  const Step* step = find_step(state, event.step);
  if (step != nullptr && is_read_when_opened(*step)) trace_of(*step).reads = reads_when_opened(*step);
}

void BlameRecord::before(const Event& event, const QuestionAnswered& answered) {
  const bool is_default = answered.by == "default";
  bring(event, is_default ? BlameKind::unasked : BlameKind::answer, is_default ? "" : answered.by);
}

void BlameRecord::before(const Event& event, const QuestionExpired&) { bring(event, BlameKind::unasked, ""); }

// The branches become one, and what follows is there because the run was to end.
void BlameRecord::before(const Event& event, const RunEnding& ending) {
  ending_ = end_point(event, ending.status, ending.reason);
  gather(root_branch);
  std::erase_if(branches_, [](const auto& branch) { return branch.first != root_branch; });
  branches_[root_branch].last = {0};
  steps_[0].closed = ending_;
}

void BlameRecord::before(const Event& event, const RunFinished& finished) {
  end_ = end_point(event, finished.status, finished.reason);
}

// A cleanup that went well changes nothing of the end that was to come.
BlamePointId BlameRecord::end_point(const Event& event, RunStatus status, const std::string& reason) {
  const BlamePointId point = new_point(event.seq, event.step, BlameKind::end, true);
  depend(point, {.point = ending_, .way = BlameWay::failure});
  if (state.ending && state.ending->reason == reason) return point;
  depend_on_end(point, event, status);
  return point;
}

// The order of the rules is that of follow(): a run whose time is over, a step that failed for good, an end that a
// branch reached, a step beyond the limit. Otherwise the run was cancelled, which depends on nothing in it.
void BlameRecord::depend_on_end(BlamePointId point, const Event& event, RunStatus status) {
  if (state.is_overdue) return depend(point, {.point = overdue_, .way = BlameWay::waited});
  const Step* step = find_step(state, event.step);
  if (step != nullptr && step->failed_final)
    return depend(point, {.point = trace_of(*step).closed, .way = BlameWay::failure});
  const auto at_end = std::find_if(state.branches.begin(), state.branches.end(),
                                   [](const auto& branch) { return branch.second.at_end >= 0; });
  if (at_end != state.branches.end()) {
    const NodeIndex node = at_end->second.at_end;
    points[static_cast<std::size_t>(point)].node = named(state.graph->node(node).name);
    depend_on_choices(point, choices_of(branches_[at_end->first].last, state.graph, node));
    if (const auto* end = state.graph->node(node).as<EndNode>())
      depend_on_all(point, reads_of_end(*end, at_end->first, status == RunStatus::done));
    return;
  }
  if (step != nullptr) return depend(point, {.point = trace_of(*step).opened});
  points[static_cast<std::size_t>(point)].who = named(event.actor);
}

// --- after it is folded ----------------------------------------------------------------------------------------------

void BlameRecord::begin(const Event& event, const RunStarted& started) {
  const bool is_fork = started.forked_from.has_value();
  const BlamePointId point = new_point(event.seq, 0, is_fork ? BlameKind::origin : BlameKind::input, true);
  points[static_cast<std::size_t>(point)].who = named(event.actor);
  if (started.continues) runs[point] = *started.continues;
  if (started.parent) runs[point] = started.parent->run;
  if (is_fork) {
    runs[point] = started.forked_from->run;
    return begin_as_fork(point);
  }
  branches_[root_branch];
  write_patch(root_branch, started.input, point);
  if (started.history) write(root_branch, "history", point);
}

// All that the origin had is one outcome: how it came to it is in its own record.
void BlameRecord::begin_as_fork(BlamePointId origin) {
  steps_[0].closed = origin;
  if (state.ending) ending_ = origin;
  for (const auto& [id, branch] : state.branches) {
    BranchTrace& trace = branches_[id];
    trace.parent = branch.parent;
    trace.fan = branch.fan;
    trace.last = {0};
    for (const auto& [channel, value] : branch.data.composed(*state.graph).items()) write(id, channel, origin);
    if (!branch.plan.goals.empty()) write_plan(id, origin);
  }
  for (const auto& [name, queue] : state.signals) signals_[name].assign(queue.size(), origin);
}

void BlameRecord::reopen(const RunReopened& reopened) {
  end_ = -1;
  for (const auto& [id, step] : state.steps) {
    StepTrace& trace = trace_of(step);
    trace.brought = -1;
    if (reopened.opens_again && is_read_when_opened(step)) trace.reads = reads_when_opened(step);
  }
}

void BlameRecord::follow_branches(StepId closed, BranchId last_branch) {
  for (auto branch = state.branches.upper_bound(last_branch); branch != state.branches.end(); ++branch) {
    if (branches_.contains(branch->first)) continue;
    BranchTrace& trace = branches_[branch->first];
    trace.parent = branch->second.parent;
    trace.last = {closed};
    BranchTrace& parent = branches_[trace.parent];
    if (parent.fan.empty()) parent.fan = state.branches.at(trace.parent).fan;
  }
}

void BlameRecord::open_steps(StepId last_step) {
  for (auto step = state.steps.upper_bound(last_step); step != state.steps.end(); ++step) open(step->second);
}

void BlameRecord::open(const Step& step) {
  StepTrace& trace = trace_of(step);
  trace.branch = step.branch;
  trace.graph = state.graph;
  trace.node = step.node;
  trace.opened = new_point(0, step.id, BlameKind::engine, false);
  charge(step, trace);
  if (step.goal >= 0 || step.item >= 0) return open_part(step, trace);
  BranchTrace& branch = branches_[step.branch];
  if (state.node(step).join && !branch.fan.empty()) {
    branch.last.clear();
    for (const BranchId part : std::exchange(branch.fan, {})) {
      const std::vector<StepId>& last = branches_[part].last;
      branch.last.insert(branch.last.end(), last.begin(), last.end());
      merge(branch, part);
    }
  }
  if (branch.last.size() == 1) trace.from = branch.last.front();
  trace.choices = choices_of(branch.last, state.graph, step.node);
  depend_on_choices(trace.opened, trace.choices);
  if (is_read_when_opened(step)) trace.reads = reads_when_opened(step);
  if (state.node(step).items() == nullptr) return;
  trace.list = new_point(0, step.id, BlameKind::engine, false);
  depend_on_all(trace.list, trace.reads);
}

// A sub-goal or an item is reached as its map is.
void BlameRecord::open_part(const Step& step, StepTrace& trace) {
  const Step* map = find_step(state, state.branches.at(state.branches.at(step.branch).parent).step);
  if (map == nullptr) return;
  const StepTrace& of_map = trace_of(*map);
  trace.choices = of_map.choices;
  depend_on_choices(trace.opened, trace.choices);
  if (step.item < 0) return;
  write(step.branch, "item", of_map.list);
  write(step.branch, "index", of_map.list);
  if (is_read_when_opened(step)) trace.reads = reads_when_opened(step);
}

// A map over items is charged for each of them.
void BlameRecord::charge(const Step& step, const StepTrace& trace) {
  const Node& node = state.node(step);
  if (node.spends.empty() || step.exhausted || (node.items() != nullptr && step.item < 0)) return;
  BlameVersionId& used = budgets_.try_emplace(node.spends, -1).first->second;
  used = version_of(trace.opened, used);
}

Result<BlamePointId> BlameRecord::point_of(const BlameTarget& target) const {
  const std::string run = "run " + to_string(state.id);
  if (is_too_large)
    return Error{Code::limit, "Expected at most " + std::to_string(dependences_most_) + " dependences in " + run +
                                  ", but it has more."};
  if (target.seq && (*target.seq < 1 || *target.seq > state.seq))
    return Error{Code::invalid, "Expected an event from 1 to " + std::to_string(state.seq) + " of " + run +
                                    ", but found " + std::to_string(*target.seq) + "."};
  if (target.seq)
    if (const auto known = by_seq_.find(*target.seq); known != by_seq_.end()) return known->second;
  const StepId step = target.seq ? step_at_[static_cast<std::size_t>(*target.seq - 1)] : target.step ? *target.step : 0;
  if (const auto trace = steps_.find(step); step != 0 && trace != steps_.end())
    return trace->second.closed >= 0 ? trace->second.closed : trace->second.opened;
  if (target.seq)
    return Error{Code::invalid, "Expected an event of a step, an end or what came from outside, but event " +
                                    std::to_string(*target.seq) + " of " + run + " is none."};
  if (target.step)
    return Error{Code::invalid, "Expected a step of the record of " + run + ", which has opened " +
                                    std::to_string(state.last_step) + ", but found " + std::to_string(step) + "."};
  if (is_ended(state.status) && end_ >= 0) return end_;
  return Error{Code::invalid, "Expected an end, a step or an event to explain, but " + run + " has not ended."};
}

}  // namespace cairn
