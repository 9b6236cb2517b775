// Builders of the events that close an attempt or a run: one place that says which fields belong together, whether it
// comes from outside (decide) or the engine closes it (follow). Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/event.hpp"
#include "engine/state.hpp"

namespace cairn {

// The steps, questions and children that the run would leave open if it ended now.
Closed left_open(const RunState& state);
// The event by which the run ends so: the begin of its graph's cleanup, or the end, with all that is closed. A begin
// always has a reason: by that its row differs from those of other runs that are under way.
EventBody end_of(const RunState& state, RunFinished finished);

// The reasons of a run that fails because it breaks a limit of its graph.
std::string reason_of_steps(std::int64_t most);
std::string reason_of_time(std::int64_t most_ms);
std::string reason_of_decision(const std::string& most);  // "100 events of one decision"
// Whether the reason is one of them. No step fails then: the end has no cause.
bool is_limit_reason(std::string_view reason);

// An attempt as its closing event names it.
struct Attempt {
  std::int32_t number = 0;
  SessionId worker = 0;  // 0: the engine closed it
  TimeUs started_at = 0;
};

// The step's attempt closed by the engine itself, which began when the step opened.
Attempt closed_by_engine(const Step& step);

// Final and without an edge, until route_error or `retry_at` says otherwise. Error and message are cut to the bounds of
// a name and of a sentence (bounds.hpp): a sentence quotes what a graph's author wrote.
StepFailed failed_step(const RunState& state, const Step& step, const Attempt& attempt, std::string error,
                       std::string message);
// Leads on by the node's edge for "error", if it has one.
void route_error(StepFailed& failed, const RunState& state, const Step& step);

SubGoalClosed succeeded_goal(const SubGoal& goal, const Attempt& attempt, JsonText outputs);
SubGoalClosed failed_goal(const SubGoal& goal, const Attempt& attempt, std::string error, std::string message);  // cut
// A sub-goal that was never begun.
SubGoalClosed skipped_goal(const SubGoal& goal, std::string message);

}  // namespace cairn
