// The rules of seven_node's prompts, in a language model's place: word rules for questions about who owns which part of
// a code base. The final answer says that rules wrote it. Pure functions, safe from any thread.
#pragma once

#include "workers/models/models.hpp"

namespace cairn {

bool is_seven_node_prompt(const ModelRequest& request);

// REQUIRES: is_seven_node_prompt.
ModelAnswer answer_seven_node_prompt(const ModelRequest& request);

}  // namespace cairn
