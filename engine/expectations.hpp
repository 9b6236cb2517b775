// The expectations that commands have of a run and of its steps, and the refusals that several of them share. Pure
// functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/result.hpp"
#include "engine/state.hpp"

namespace cairn {

Error refusal(Code code, std::string message);

std::string name_of(const RunState& state);  // in sentences

// Whether the run takes commands at all. Refuses `not_found`, `closed`.
Status expect_open(const RunState& state);

// Whether the step is open and this is its open attempt (0: any). Refuses `not_found`, `closed`, `stale`.
Status expect_open(const RunState& state, StepId step, std::int32_t attempt);

// Only a handler's steps are reported by workers; the engine closes all others by itself. Refuses `invalid`.
Status expect_handled(const RunState& state, const Step& step);

// The refusal `conflict` of a run that cannot go on under this graph. REQUIRES: move_hindrances(), not empty.
Error cannot_move(const RunState& state, const Graph& graph, const std::vector<std::string>& hindrances);

}  // namespace cairn
