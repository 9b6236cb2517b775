// Lines of the log about attempts that have ended, of local workers and of those over HTTP. Pure functions, safe from
// any thread.
#pragma once

#include "engine/state.hpp"
#include "storage/queue.hpp"
#include "workers/handlers/handler.hpp"
#include "workers/session/session_actions.hpp"

namespace cairn {

// The fields by which a line leads to the history, the metrics and the trace. `state` null: the run cannot be read, and
// the last three are left out. A step that is not tried again has left the state, and its node's name with it.
Json fields_of_attempt(const RunId& run, const Fence& fence, std::int32_t attempt, const RunState* state);

// A failed attempt and a slow one are worth a line; all others are in the history.
bool is_worth_a_line(const StepResult& result, TimeUs took_us);
// REQUIRES: it is worth one. `fields`: those of the attempt.
Note attempt_note(const StepResult& result, TimeUs took_us, Json fields);

}  // namespace cairn
