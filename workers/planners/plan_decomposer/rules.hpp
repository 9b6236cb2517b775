// Decomposition without a model: a task's instruction is taken apart by its own headings and lists. Deterministic, and
// open about it: the records name the model "rules", every reply says what it went by, and what a text does not say is
// not made up. Safe from any thread.
#pragma once

#include "workers/ports/models.hpp"

namespace cairn {

// Answers the prompts of plan_decomposer (by the request's schema name and the JSON object in its last message).
// Anything else is a Failure `refused`.
ModelAnswer decompose_by_rules(const ModelRequest& request);

}  // namespace cairn
