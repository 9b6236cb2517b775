// The rules of plan_decomposer's prompt, in a language model's place: a task's instruction is taken apart by its own
// headings and lists, and nothing is added to it. Every reply says what it went by. Pure functions, safe from any
// thread.
#pragma once

#include "workers/models/models.hpp"

namespace cairn {

bool is_decomposition_prompt(const ModelRequest& request);

// Reads the JSON object in the request's last message. Fails with `refused`: any other prompt.
ModelAnswer answer_decomposition_prompt(const ModelRequest& request);

}  // namespace cairn
