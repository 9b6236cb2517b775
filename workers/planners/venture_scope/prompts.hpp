// The prompts of venture_scope's planner and of its reader of documents, and the planner's reply. The rules (rules.hpp)
// read the same prompts.
// Pure functions, safe from any thread.
#pragma once

#include <string>

#include "workers/handlers/handler.hpp"
#include "workers/planners/venture_scope/fields.hpp"
#include "workers/planners/venture_scope/policy.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

inline constexpr const char* planner_decision_schema = "PlannerDecision";

// The node's request without its messages. Its model is the node's own (`model`), else that of all nodes
// (`model_of_all`); its options (`options`) go before those of all nodes (`options_of_all`, without what that object
// has for single nodes by their names).
ModelRequest venture_request(const StepInput& input);

// The chat messages. The last one is a JSON object of the known fields, the missing ones, what was found for them, and
// the rest of the budgets.
Json planner_prompt(const Venture& venture, const StepInput& input);
// The JSON Schema of a PlannerDecision about one of these fields.
Json planner_decision(const Venture& venture);

// The messages for the reader of passages; `data` is that of readings.hpp.
Json extraction_messages(Json data, const std::string& fault);

}  // namespace cairn
