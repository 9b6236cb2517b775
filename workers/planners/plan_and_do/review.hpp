// A person's look at a plan before it runs: what is shown, and what an edited tree changes. Pure functions, safe from
// any thread.
#pragma once

#include <string>

#include "workers/planners/plan_decomposer/tree.hpp"

namespace cairn {

// {"plan": its JSON form, "answer": what may be answered, "fault"?: why the last answer was not taken}.
Json review_prompt(const PlanTree& plan, const std::string& fault);

// The changes of a plan_revised that make the plan the edited one, whole trees in the JSON form. Refuses what read_plan
// refuses; also `invalid`: another version, goal or plan_id, an id that another task had before, no task at all.
// `input`: of the step, whose plan holds all ids that were used.
Result<Json> edit_of(const PlanTree& plan, const StepInput& input, const Json& edited);

}  // namespace cairn
