// The rules of venture_scope's one prompt, in a language model's place. Takes the first missing field: searches for it
// if it may, else asks; calculates when nothing is missing, and finishes otherwise. Pure functions, safe from any
// thread.
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
