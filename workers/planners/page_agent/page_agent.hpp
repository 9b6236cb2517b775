// The parts of the page agent: its handlers by idea, and the functions that they share. Handlers are pure or run on the
// worker's one Asio thread; the rest are pure functions.
//
// The run's channels:
//   page, before, start   observations {url, title?, dom}: now, before the last action, at the beginning
//   plan                  {version, base, current_step_index, steps, contingencies}; a step is {id, description,
//                         reasoning, tool_type, expected_outcome, phase}
//   actions               every executed action, oldest first: {action, description, step, counts, version}
//   turn                  {number, index}: one act with everything up to the next; it fixes the index
//   pending               the current action: {action, source, step, description, expected, counts}
//   verification          the last verdict, as the model gave it; absent before the first
//   hierarchy             {goal, sub_tasks, current, outputs, first_action}
//   extracted             what was read off pages, oldest first: {what, value, quotes, url}
//   answer                the last of these values once the goal is achieved, else the run's last sentence
//   seen_pages            hashes of the pages since the last progress that was certain
//   screenshot            {action, jpeg}: a picture after the last act, in base64, if `settings` ask for it
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "workers/handlers/handler.hpp"
#include "workers/ports/ports.hpp"

namespace cairn::page_agent {

using Waiting = boost::asio::awaitable<StepResult>;

// plan.cpp: the plan and its sub-tasks.
Waiting analyse_context(StepInput input, Ports& ports);
Waiting search(StepInput input, Ports& ports);
Waiting make_plan(StepInput input, Ports& ports);
Waiting decompose_plan(StepInput input, Ports& ports);
// Refuses `invalid`: a plan in the run's input that has another form.
Status check_given_plan(const Json& plan);
// The plan with an id for each step and the plan's version and base.
Json numbered_plan(Json plan, std::int64_t version, std::int64_t base);
// The number of executed actions that count as a step.
std::int64_t counted(const Json& actions);
std::int64_t current_index(const Json& plan, const Json& actions, std::int64_t repeats);

// act.cpp: from a step of the plan to an action.
Waiting refine_step(StepInput input, Ports& ports);
Waiting generate_action(StepInput input, Ports& ports);
Waiting correct(StepInput input, Ports& ports);
StepResult check_contingencies(const StepInput& input);

// extract.cpp: what is asked is read off the page, for `extract("...")`; the browser is not used.
Waiting extract(StepInput input, Ports& ports, std::string what);

// verify.cpp: the judgement of an action, and whether the plan still holds.
Waiting verify(StepInput input, Ports& ports);
StepResult detect_change(const StepInput& input);
Waiting replan(StepInput input, Ports& ports);
StepResult replan_by_rule(const StepInput& input);

}  // namespace cairn::page_agent
