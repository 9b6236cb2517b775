// The rules of round_planner's prompts, in a language model's place: they plan by what is still missing on the way from
// the question to the answer. Answers say that rules wrote them. Pure functions, safe from any thread.
#pragma once

#include "workers/models/models.hpp"

namespace cairn {

bool is_round_prompt(const ModelRequest& request);

// REQUIRES: is_round_prompt. Fails with `refused`: a prompt whose last message is no JSON object.
ModelAnswer answer_round_prompt(const ModelRequest& request);

}  // namespace cairn
