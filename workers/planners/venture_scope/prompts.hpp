// The prompt of venture_scope's one model call and the schema of its reply. The rules (rules.hpp) read the same prompt.
// Pure functions, safe from any thread.
#pragma once

#include "workers/planners/venture_scope/fields.hpp"
#include "workers/planners/venture_scope/policy.hpp"

namespace cairn {

inline constexpr const char* planner_decision_schema = "PlannerDecision";

// The chat messages. The last one is a JSON object of the known fields, the missing ones, and the rest of the budgets.
Json planner_prompt(const Venture& venture, const StepInput& input);
// The JSON Schema of a PlannerDecision about one of these fields.
Json planner_decision(const Venture& venture);

}  // namespace cairn
