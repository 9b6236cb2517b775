// The rule book: answers the prompts of seven_node in a language model's place when none is configured, and hands those
// of other planners on to theirs. Deterministic word rules for questions about who owns which part of a code base, and
// open about being one: the records name the model "rules", and the final answer says so. Safe from any thread.
#pragma once

#include "workers/ports/models.hpp"

namespace cairn {

// Goes by the request's schema name and the JSON object in its last message. Anything else than a prompt of a planner
// is a Failure `refused`.
ModelAnswer answer_by_rules(const ModelRequest& request);

}  // namespace cairn
