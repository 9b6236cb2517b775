// The rule book of round_planner: answers its prompts in a language model's place when none is configured. It plans by
// what is still missing on the way from the question to the answer, and is open about being a rule book. Safe from any
// thread.
#pragma once

#include "workers/ports/models.hpp"

namespace cairn {

// Whether the request is one of round_planner's prompts.
bool is_round_prompt(const ModelRequest& request);

// REQUIRES: is_round_prompt.
ModelAnswer answer_round_prompt(const ModelRequest& request);

}  // namespace cairn
