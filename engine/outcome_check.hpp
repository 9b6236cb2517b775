// The check of an outcome that a worker reports, before anything of it is recorded. Pure functions, safe from any
// thread.
#pragma once

#include "engine/command.hpp"
#include "engine/result.hpp"
#include "engine/state.hpp"

namespace cairn {

// Whether a reused outcome is the recorded one: a worker's cache is not believed, the record is. Refuses `conflict`.
Status check_reuse(const RunState& state, const Step& step, const CompleteStep& complete);

// Whether an outcome may be recorded; if not, it becomes a failed attempt with this sentence. A worker that reports
// nonsense must use up its attempts instead of being refused for ever. Refuses `limit`, `invalid`.
Status check_outcome(const RunState& state, const Step& step, const Outcome& outcome);

}  // namespace cairn
