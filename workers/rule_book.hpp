// The rule book: deterministic rules that answer the planners' prompts in a language model's place when none is
// configured, so that every planner runs offline. Each planner's rules are in its folder's rules.hpp; this picks them
// by the prompt. It never passes for a model: records name the model "rules". Safe from any thread.
#pragma once

#include "workers/models/models.hpp"

namespace cairn {

// Goes by the request's schema name. Fails with `refused`: a prompt of no planner.
ModelAnswer answer_by_rules(const ModelRequest& request);

}  // namespace cairn
