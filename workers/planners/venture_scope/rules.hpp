// The rules of venture_scope's prompts, in a language model's place. The planner takes the first missing field:
// searches for it if it may, else asks; calculates when nothing is missing, and finishes otherwise. Documents and the
// question are read by word rules; no parts are proposed. Pure functions, safe from any thread.
#pragma once

#include "engine/json.hpp"
#include "workers/models/models.hpp"

namespace cairn {

bool is_venture_prompt(const ModelRequest& request);

// REQUIRES: is_venture_prompt.
ModelAnswer answer_venture_prompt(const ModelRequest& request);

// A PlannerDecision for the data of such a prompt, as its last message holds them.
Json decide_by_rules(const Json& data);

}  // namespace cairn
