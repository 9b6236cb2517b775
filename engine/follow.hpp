// The consequences of a state: the next event that the folded state alone implies for a branch, with no command from
// outside (a question is asked, a map joins, an end finishes the run). decide applies it until nothing follows, so
// every commit ends settled. Pure functions, safe from any thread.
#pragma once

#include <optional>

#include "engine/event.hpp"
#include "engine/result.hpp"
#include "engine/state.hpp"

namespace cairn {

// The next event body and the step it belongs to.
struct Implied {
  StepId step = 0;
  EventBody body;
};

// Nothing when the branch is settled or does not exist, or the run has ended. For `whole_run`: its end by time.
std::optional<Implied> follow(const RunState& state, BranchId branch);

// The question that an open step would ask now, whether or not it has asked one: what its texts read is read again.
// Refuses `invalid` and `limit` as references do. REQUIRES: the step is at an "ask".
Result<QuestionAsked> question_of(const RunState& state, const Step& step);

}  // namespace cairn
