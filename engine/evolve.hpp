// The memory of a run: event after event, in place. Never refuses, never decides.
// Not thread-safe; different states may be folded by different threads.
#pragma once

#include <vector>

#include "engine/event.hpp"
#include "engine/graph.hpp"
#include "engine/state.hpp"

namespace cairn {

// Folds one event into the state and names the branches whose job may have changed (with repeats).
// Throws CorruptHistory if the event cannot follow (wrong seq, unknown step, unknown graph version).
// REQUIRES: after an exception the state is dropped.
void evolve(RunState& state, const Event& event, const Graphs& graphs, std::vector<BranchId>& touched);

}  // namespace cairn
