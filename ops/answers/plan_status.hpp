// The status of a plan's structure: sub-goals without a tool are never executed, so their status is derived from what a
// planner recorded about them. Not thread-safe.
#pragma once

#include "engine/state.hpp"
#include "workers/client.hpp"

namespace cairn {

// Sets the status of each sub-goal without a tool from the run's events up to the state's: `open` once a decision about
// it was enforced, `succeeded` or `failed` by its last verification, `skipped` when another plan was made before it was
// done. A status that the plan's revisions set is kept. A state without such sub-goals is left as it is, and no event
// is read.
Status project_plan_status(Client& client, RunState& state);

}  // namespace cairn
