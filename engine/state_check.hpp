// The check of a state that was not folded here but read: whether its parts refer to one another as a fold leaves them,
// so that the rules that go on from it meet no branch, step or sub-goal that is not there. Pure, safe from any thread.
#pragma once

#include "engine/result.hpp"
#include "engine/state.hpp"

namespace cairn {

// Refuses `corrupt`, with the first reference that leads nowhere: parents of branches (each is an earlier branch, so a
// lineage ends), fan-outs and their joins, steps and their branches, sub-goals by id, by position and by map, what
// waits for them, questions and signals; and counts that no run reaches. It costs as much as the state has parts.
Status check_references(const RunState& state);

}  // namespace cairn
