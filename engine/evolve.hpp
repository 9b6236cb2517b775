// The fold of a run's history into its state, event by event and in place. It never refuses and never decides: the live
// run, a resumed one, an audit and a replay all pass through it. Not thread-safe; different threads may fold different
// states.
#pragma once

#include <vector>

#include "engine/event.hpp"
#include "engine/graph.hpp"
#include "engine/state.hpp"

namespace cairn {

// Folds one event into the state and names the branches whose job may have changed (with repeats).
// Throws CorruptHistory if the event cannot follow (wrong seq, unknown step, unknown graph version).
// REQUIRES: the caller drops the state after an exception.
void evolve(RunState& state, const Event& event, const Graphs& graphs, std::vector<BranchId>& touched);

}  // namespace cairn
