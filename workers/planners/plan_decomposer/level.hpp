// Several tasks of a level, broken down side by side: they leave as a batch for a map, and come back one by one. Each
// reply is written, or its task skipped, as if it had been asked about alone. Pure functions, safe from any thread.
#pragma once

#include <optional>

#include "workers/planners/plan_decomposer/queue.hpp"

namespace cairn::decomposing {

// The next reply of a batch that came back, as the single path leaves it for `write` or `skip`; nothing if none is
// left.
std::optional<Outcome> next_of_batch(const StepInput& input, const Assignment& assignment);

// The next tasks of one level, as a batch; nothing if there is only one, or the budgets allow no more. REQUIRES: a task
// is left to expand.
std::optional<Outcome> level_ahead(const StepInput& input, const Assignment& assignment);

}  // namespace cairn::decomposing
