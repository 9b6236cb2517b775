// The admission of proposed sub-goals: decides which of those that a handler proposes enter the plan, and rejects the
// others with a reason. Used by decide. Pure functions, safe from any thread.
#pragma once

#include <vector>

#include "engine/command.hpp"
#include "engine/state.hpp"

namespace cairn {

// The facts with every proposed sub-goal turned into `sub_goal_opened` (its tool's queue and the `after` that its
// inputs imply filled in) or `sub_goal_rejected` with a reason; all other facts unchanged and in their order.
// Rejected are: one that the handler itself rejects, the second of a double id, an unknown tool, an unmet precondition,
// a reference to no sub-goal or to a slot that it does not give, a cycle, and every sub-goal that depends on one of
// those or on one that did not succeed.
// `data`: the channels as the proposing step leaves them.
std::vector<EventBody> admit(const RunState& state, BranchId branch, const std::vector<Fact>& facts, const Json& data,
                             const ToolTable* tools);

}  // namespace cairn
