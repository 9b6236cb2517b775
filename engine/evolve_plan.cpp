#include <algorithm>
#include <utility>

#include "engine/fold.hpp"

namespace cairn {
namespace {

bool refers_to_a_slot(const Json& value) {
  if (!value.is_structured()) return false;
  if (value.is_object() && value.contains("from_sub_goal")) return true;
  return std::any_of(value.begin(), value.end(), [](const Json& part) { return refers_to_a_slot(part); });
}

}  // namespace

// --- a map over sub-goals -------------------------------------------------------------------------------------------

// A map takes every untaken sub-goal of the plan at once, so what a later step plans is another map's. Counting the
// open predecessors here makes closing a sub-goal cheap: nothing is searched then, only counts go down.
void Fold::take_goals(BranchId in, StepId map) {
  Plan& plan = branch(in).plan;
  Step& step = state_.steps.at(map);
  const auto first = plan.next_untaken;
  const auto end = static_cast<std::int32_t>(plan.goals.size());
  for (std::int32_t place = first; place < end; ++place) {
    SubGoal& goal = plan.goals[static_cast<std::size_t>(place)];
    if (goal.map != 0 || goal.tool.empty() || goal.status != GoalStatus::planned) continue;
    goal.map = map;
    goal.status = GoalStatus::open;
    ++step.map.open_goals;
    for (const std::string& id : goal.after) {
      const auto found = plan.by_id.find(id);
      if (found == plan.by_id.end()) continue;  // an ancestor's, which has succeeded
      SubGoal& before = plan.goals[static_cast<std::size_t>(found->second)];
      if (before.status == GoalStatus::succeeded) continue;
      if (before.status == GoalStatus::failed || before.status == GoalStatus::skipped) step.map.doomed.insert(place);
      ++goal.waits_for;
      before.dependents.push_back(place);
    }
  }
  plan.next_untaken = end;
  for (std::int32_t place = first; place < end; ++place) {
    const SubGoal& goal = branch(in).plan.goals[static_cast<std::size_t>(place)];
    if (goal.map == map && goal.waits_for == 0) open_goal(in, place);
  }
}

void Fold::open_goal(BranchId in, std::int32_t place) {
  const BranchId id = ++state_.last_branch;
  Branch& part = state_.branches[id];
  part.id = id;
  part.parent = in;
  part.place = place;
  SubGoal& goal = branch(in).plan.goals[static_cast<std::size_t>(place)];
  Step& step = new_step(part, state_.steps.at(goal.map).node);
  step.goal = place;
  goal.step = step.id;
  if (!refers_to_a_slot(goal.inputs)) return;
  if (const Status slots = check_slots(state_, step); !slots) {
    step.unfit = true;
    step.error = "missing_slot";
    step.message = slots.error().message;
  }
}

void Fold::operator()(const SubGoalClosed& closed) {
  const Step& step = open_step();
  if (step.goal >= 0) {
    const BranchId id = step.branch;
    const std::int32_t place = step.goal;
    const BranchId map_branch = branch(id).parent;
    state_.steps.erase(event_.step);
    state_.branches.erase(id);
    touch(id);
    return close_goal(branch(map_branch), place, closed);
  }
  Branch& in = branch(step.branch);
  const auto found = in.plan.by_id.find(closed.sub_goal);
  if (found == in.plan.by_id.end()) corrupt("there is no sub-goal " + closed.sub_goal);
  close_goal(in, found->second, closed);
}

void Fold::close_goal(Branch& map_branch, std::int32_t place, const SubGoalClosed& closed) {
  SubGoal& goal = map_branch.plan.goals[static_cast<std::size_t>(place)];
  if (goal.status != GoalStatus::open) corrupt("sub-goal " + goal.id + " is not open");
  const auto map_step = state_.steps.find(goal.map);
  if (map_step == state_.steps.end()) corrupt("sub-goal " + goal.id + " is of no open map");
  MapProgress& map = map_step->second.map;
  const bool succeeded = closed.status == GoalStatus::succeeded;
  goal.status = closed.status;
  goal.attempts = closed.attempt;
  goal.error = closed.error;
  goal.message = closed.message;
  if (succeeded) goal.outputs = parse_stored_object(closed.outputs);
  map.partial = map.partial || !succeeded;
  map.doomed.erase(place);
  --map.open_goals;
  touch(map_branch.id);
  // Each dependent hears once: the last predecessor opens it, the first failed one dooms it and follow skips it.
  const std::vector<std::int32_t> dependents = std::exchange(goal.dependents, {});
  for (const std::int32_t next : dependents) {
    SubGoal& waiting = map_branch.plan.goals[static_cast<std::size_t>(next)];
    if (waiting.status != GoalStatus::open) continue;
    if (!succeeded) {
      map.doomed.insert(next);
    } else if (--waiting.waits_for == 0) {
      open_goal(map_branch.id, next);
    }
  }
}

// The cleanup does not go on with the work that was planned.
void Fold::give_up_goals(Plan& plan) {
  for (SubGoal& goal : plan.goals) {
    if (goal.tool.empty() || (goal.status != GoalStatus::planned && goal.status != GoalStatus::open)) continue;
    goal.status = GoalStatus::skipped;
    goal.error = "skipped";
    goal.message = "The run was to end.";
  }
  plan.next_untaken = static_cast<std::int32_t>(plan.goals.size());
}

// REQUIRES: the step is a map's.
std::string Fold::unsuccessful_goals(const Step& map) const {
  int failed = 0;
  int skipped = 0;
  const SubGoal* first = nullptr;
  for (const SubGoal& goal : state_.branches.at(map.branch).plan.goals) {
    if (goal.map != map.id) continue;
    if (goal.status == GoalStatus::skipped) ++skipped;
    if (goal.status != GoalStatus::failed) continue;
    ++failed;
    if (first == nullptr) first = &goal;
  }
  std::string said = std::to_string(failed) + " failed, " + std::to_string(skipped) + " skipped";
  if (first == nullptr) return said + ".";
  return said + "; the first was " + first->id + ": " + first->error + ": " + first->message;
}

// --- the plan -------------------------------------------------------------------------------------------------------

void Fold::add_goal(Plan& plan, SubGoal goal) {
  const auto place = static_cast<std::int32_t>(plan.goals.size());
  const bool is_new = plan.by_id.emplace(goal.id, place).second;
  if (!is_new && goal.status == GoalStatus::planned) {  // two branches planned one id; the first in edge order is it
    goal.status = GoalStatus::skipped;
    goal.error = "double";
    goal.message = "Expected sub-goal " + goal.id + " once, but two branches of a fan-out planned it.";
  } else {
    plan.by_id[goal.id] = place;
  }
  plan.goals.push_back(std::move(goal));
}

void Fold::operator()(const SubGoalOpened& opened) {
  SubGoal goal;
  goal.id = opened.sub_goal;
  goal.tool = opened.tool;
  goal.title = opened.title;
  goal.parent = opened.parent;
  goal.inputs = opened.inputs;
  goal.after = opened.after;
  goal.queue = opened.queue;
  add_goal(branch(open_step().branch).plan, std::move(goal));
}

void Fold::add_children(const std::string& parent, const std::vector<PlanChild>& children) {
  Plan& plan = branch(open_step().branch).plan;
  for (const PlanChild& child : children) {
    SubGoal goal;
    goal.id = child.id;
    goal.title = child.title;
    goal.parent = parent;
    goal.after = child.after;
    goal.context = child.context;
    add_goal(plan, std::move(goal));
  }
}

void Fold::operator()(const PlanRevised& revised) {
  state_.plan_version = revised.version;
  Plan& plan = branch(open_step().branch).plan;
  for (const Json& change : revised.changes) change_plan(plan, change);
}

// {"op": "add"|"update"|"remove", "id", "title"?, "parent"?, "after"?, "context"?, "status"?} on structure. Work that a
// map took stays, and what work comes after was judged when it was admitted.
void Fold::change_plan(Plan& plan, const Json& change) {
  const std::string id = change.value("id", "");
  const std::string op = change.value("op", "");
  if (op == "add") {
    SubGoal goal;
    goal.id = id;
    add_goal(plan, std::move(goal));
  }
  const auto found = plan.by_id.find(id);
  if (found == plan.by_id.end()) return;
  SubGoal& goal = plan.goals[static_cast<std::size_t>(found->second)];
  if (op == "remove") {
    if (goal.status == GoalStatus::planned) goal.status = GoalStatus::skipped;
    return;
  }
  goal.title = change.value("title", goal.title);
  goal.parent = change.value("parent", goal.parent);
  if (!goal.tool.empty()) return;
  goal.after = change.value("after", goal.after);
  goal.context = change.value("context", goal.context);
  goal.status = parse_goal_status(change.value("status", "")).value_or(goal.status);
}

}  // namespace cairn
