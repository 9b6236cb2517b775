// The page agent's parts: its handlers by idea, and what they share. Handlers are pure or run on the worker's one Asio
// thread; everything else is a pure function.
//
// What they keep in the run's channels:
//   page, before, start   observations {url, title?, dom}: now, before the last action, at the beginning
//   plan                  {version, base, current_step_index, steps, contingencies}; a step is {id, description,
//                         reasoning, tool_type, expected_outcome, phase}
//   actions               every executed action, oldest first: {action, description, step, counts, version}
//   turn                  {number, index}: an act and what follows until the next; the index is fixed in it
//   pending               the action that is under way: {action, source, step, description, expected, counts}
//   verification          the last verdict as the model gave it; absent before the first
//   hierarchy             {goal, sub_tasks, current, outputs, first_action}
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "workers/handlers/handler.hpp"
#include "workers/ports/ports.hpp"

namespace cairn::page_agent {

using Waiting = boost::asio::awaitable<StepResult>;

// page_agent.cpp: the way of a turn.
Json setting(const StepInput& input, const char* name, Json otherwise);

// workers/planners/page_agent/plan.cpp: making the plan, and its sub-tasks.
Waiting analyse_context(StepInput input, Ports& ports);
Waiting search(StepInput input, Ports& ports);
Waiting make_plan(StepInput input, Ports& ports);
Waiting decompose_plan(StepInput input, Ports& ports);
// Refuses `invalid`: a plan in the run's input that has another form.
Status check_given_plan(const Json& plan);
// The plan with an id for each step that has none.
Json numbered_plan(Json plan, std::int64_t version, std::int64_t base);
// How many of the executed actions stand for a step.
std::int64_t counted(const Json& actions);
std::int64_t current_index(const Json& plan, const Json& actions, std::int64_t repeats);

// workers/planners/page_agent/act.cpp: from a step of the plan to an action.
Waiting refine_step(StepInput input, Ports& ports);
Waiting generate_action(StepInput input, Ports& ports);
Waiting correct(StepInput input, Ports& ports);
StepResult check_contingencies(const StepInput& input);

// workers/planners/page_agent/verify.cpp: what came of the action, and whether the plan still holds.
Waiting verify(StepInput input, Ports& ports);
StepResult detect_change(const StepInput& input);
Waiting replan(StepInput input, Ports& ports);
StepResult replan_by_rule(const StepInput& input);

}  // namespace cairn::page_agent
