// The consequences of a state: the next event that the folded state alone implies for a branch, with no command from
// outside (a question is asked, a map joins, an end finishes the run). decide applies it until nothing follows, so
// every commit ends settled. Pure functions, safe from any thread.
#pragma once

#include <optional>

#include "engine/event.hpp"
#include "engine/state.hpp"

namespace cairn {

// The next event body and the step it belongs to.
struct Implied {
  StepId step = 0;
  EventBody body;
};

// Nothing when the branch is settled or does not exist, or the run has ended. For `whole_run`: its end by time.
std::optional<Implied> follow(const RunState& state, BranchId branch);

}  // namespace cairn
