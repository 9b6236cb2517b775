// What venture_scope's one model call says and expects back, and the rule book that answers it when no model is
// configured. Pure functions, safe from any thread.
#pragma once

#include "workers/planners/venture_scope/fields.hpp"
#include "workers/planners/venture_scope/policy.hpp"

namespace cairn {

inline constexpr const char* planner_decision_schema = "PlannerDecision";

// The chat messages; the last one holds what is known, missing and left of the budgets, as one JSON object.
Json planner_prompt(const Venture& venture, const StepInput& input);
// The JSON Schema of a PlannerDecision about one of these fields.
Json planner_decision(const Venture& venture);

// The rule book: a decision for the last message of such a prompt. Takes the first missing field: searches for it if it
// may, else asks; calculates when nothing is missing, and finishes otherwise.
Json decide_by_rules(const Json& data);

}  // namespace cairn
