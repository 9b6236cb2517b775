// The rules of plan_and_do's prompt, in a language model's place: a task is done by the tool whose name stands in its
// text, with the inputs that stand there or come from the tasks before it. Nothing is guessed: a task that names no
// tool, or several, or lacks an input, gets none, and the reply says why. Pure functions, safe from any thread.
#pragma once

#include "workers/models/models.hpp"

namespace cairn {

bool is_binding_prompt(const ModelRequest& request);

// Reads the JSON object in the request's last message. Fails with `refused`: any other prompt.
ModelAnswer answer_binding_prompt(const ModelRequest& request);

}  // namespace cairn
