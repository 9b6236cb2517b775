// Fold: the effect of one event on a run's state, for evolve alone, whose files share it: evolve (run, steps, routing,
// questions), evolve_plan (sub-goals and tasks), evolve_items (maps over items). Lives for one call of evolve, on its
// thread. An event that cannot follow is a CorruptHistory, never a CHECK: a history may be anybody's. Where decide
// emits an event, it has the CHECK that pairs with it (Deciding::check_own).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/event.hpp"
#include "engine/graph.hpp"
#include "engine/state.hpp"

namespace cairn {

class Fold {
 public:
  Fold(RunState& state, const Event& event, const Graphs& graphs, std::vector<BranchId>& touched)
      : state_(state), event_(event), graphs_(graphs), touched_(touched) {}

  // --- run ---
  void operator()(const RunStarted& started);
  void operator()(const RunPaused& paused) { go_on_as(RunStatus::paused, paused.reason); }
  void operator()(const RunResumed&) { go_on_as(RunStatus::running, ""); }
  void operator()(const RunReopened&);
  void operator()(const RunMoved& moved);
  void operator()(const ChannelsEdited& edited) {
    branch(root_branch).data.set(parse_stored_object(edited.patch), *state_.graph);
    touch(root_branch);
  }
  void operator()(const RunEnding& ending);
  void operator()(const RunFinished& finished);

  // --- step ---
  void operator()(const StepSucceeded& succeeded);
  void operator()(const StepFailed& failed);
  void operator()(const SignalReceived& received);
  void operator()(const TimerFired&) {
    if (event_.step == 0) return run_is_overdue();
    Step& step = open_step();
    const auto* wait = state_.node(step).as<WaitNode>();
    step.closing_label = wait != nullptr && wait->signal ? "timeout" : "fired";
    step.due.reset();
    touch(step.branch);
  }
  void operator()(const ChildStarted& started) {
    Step& step = open_step();
    step.child = started.child;
    touch(step.branch);
  }
  void operator()(const ChildFinished& finished) {
    Step& step = open_step();
    step.closing_label = to_string(finished.status);
    step.brought = finished.output;
    step.message = finished.reason;
    touch(step.branch);
  }

  // --- question ---
  void operator()(const QuestionAsked& asked);
  void operator()(const QuestionAnswered& answered) {
    close_question(answered.question, "answered");
    open_step().brought = answered.value;
  }
  void operator()(const QuestionExpired& expired) { close_question(expired.question, "expired"); }

  // --- plan ---
  void operator()(const SubGoalOpened& opened);
  void operator()(const SubGoalRejected& rejected) {
    branch(open_step().branch).plan.rejected.push_back({rejected.sub_goal, rejected.tool, rejected.reason});
  }
  void operator()(const SubGoalClosed& closed);
  void operator()(const PlanCreated& created) {
    state_.plan_version = created.version;
    state_.goal = created.goal;
    add_children("", created.children);
  }
  void operator()(const PlanRevised& revised);
  void operator()(const TaskDecomposed& decomposed) { add_children(decomposed.target, decomposed.children); }
  void operator()(const Record&) {}
  void operator()(const BudgetExhausted& exhausted) {
    state_.budgets[exhausted.name] = {exhausted.cap, exhausted.used, true};
    touch(open_step().branch);
  }

 private:
  void go_on_as(RunStatus status, const std::string& pause_reason);
  [[noreturn]] void corrupt(const std::string& says) const;
  Branch& branch(BranchId id) {
    const auto found = state_.branches.find(id);
    if (found == state_.branches.end()) corrupt("there is no branch " + std::to_string(id));
    return found->second;
  }
  Step& open_step() {
    const auto found = state_.steps.find(event_.step);
    if (found == state_.steps.end()) corrupt("step " + std::to_string(event_.step) + " is not open");
    return found->second;
  }
  NodeIndex node_named(const std::string& name) {
    const NodeIndex node = state_.graph->find(name);
    if (node < 0) corrupt("graph " + state_.graph->name + " has no node " + name);
    return node;
  }
  void touch(BranchId id) { touched_.push_back(id); }
  void touch_all() {
    touch(whole_run);
    for (const auto& [id, part] : state_.branches) touch(id);
  }

  void run_is_overdue() {
    state_.is_overdue = true;
    touch(whole_run);
  }

  // --- run, steps, routing, questions: evolve.cpp ---
  void gather(BranchId into);
  void begin_as_fork(RunState origin, const Origin& from);
  std::optional<CauseOfFailure> cause_of(const Step& step, const StepSucceeded& closed) const;
  void must_be_closable(const Step& step) const;
  Step& new_step(Branch& in, NodeIndex node);
  void open(BranchId in, NodeIndex node, const Json& given, const Status& fits = Done{});
  void read_settings(Step& step);
  static void make_unfit(Step& step, std::string message);
  void charge_opening(Step& step);
  void charge(Step& step, const Node& node);
  void set_due(Step& step, const DueSetting& setting);
  void go_on(BranchId from, const std::vector<std::string>& next, const Json& given);
  void enter(BranchId in, NodeIndex node, const Json& given);
  void arrive(BranchId in, NodeIndex join);
  void merge(Branch& parent, Branch& part);
  void close_question(const std::string& id, std::string label);

  // --- sub-goals and tasks: evolve_plan.cpp ---
  void take_goals(BranchId in, StepId map);
  void open_goal(BranchId in, std::int32_t place);
  void close_goal(Branch& map_branch, std::int32_t place, const SubGoalClosed& closed);
  void give_up_goals(Plan& plan);
  std::string unsuccessful_goals(const Step& map) const;
  void add_goal(Plan& plan, SubGoal goal);
  void add_children(const std::string& parent, const std::vector<PlanChild>& children);
  void change_plan(Plan& plan, const Json& change);

  // --- maps over items: evolve_items.cpp ---
  void take_items(Step& map, const MapNode::Items& settings);
  void open_items(StepId id);
  void open_item(BranchId in, Step& map);
  void close_item(const Step& item, std::optional<Json> result, std::string error, std::string message);
  void item_succeeded(const StepSucceeded& succeeded);
  std::string failed_items(const Step& map) const;
  Json mapped_patch(const Step& map) const;

  RunState& state_;
  const Event& event_;
  const Graphs& graphs_;
  std::vector<BranchId>& touched_;
};

}  // namespace cairn
