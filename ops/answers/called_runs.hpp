// The runs that a run has called, as lists of a run's state show them. Safe to call from any thread.
#pragma once

#include <optional>
#include <span>

#include "engine/state.hpp"
#include "storage/log.hpp"

namespace cairn {

inline constexpr std::int32_t called_runs_max = 100;  // shown with the run that called them

// Finds those that were called by the state's moment, as they are now, the newest first; one more than is shown. None
// if the run's graph calls no other.
std::optional<RunFilter> called_filter(const RunState& state);

// The list entries of the first `called_runs_max`.
Json called_json(std::span<const RunRow> called);

}  // namespace cairn
