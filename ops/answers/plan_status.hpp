// What became of a plan's structure: sub-goals without a tool have no execution, so their status is told by what a
// planner recorded about them. Not thread-safe.
#pragma once

#include "engine/state.hpp"
#include "workers/client.hpp"

namespace cairn {

// Sets the status of each sub-goal without a tool from the run's events up to the state's: `open` once a decision about
// it was enforced, `succeeded` or `failed` as its last verification says, `skipped` when another plan was made before
// it was done; one that the plan's revisions say stands. A state without such sub-goals is left as it is, and no event
// is read.
Status project_plan_status(Client& client, RunState& state);

}  // namespace cairn
