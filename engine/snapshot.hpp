// The whole folded state as JSON and back: for snapshots and forks. A cache's format, never the truth.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/graph.hpp"
#include "engine/state.hpp"

namespace cairn {

// Raised whenever evolve would fold the same events to another state, or the format changes; snapshots of another
// version are ignored. A golden test fails if the fold changes without it.
// A fork's first event holds a snapshot for good: whatever an older version could hold must stay readable.
inline constexpr std::int32_t fold_version = 3;

Json snapshot_json(const RunState& state);

// Refuses `unsupported` if the graph version is unknown, `corrupt` if it is no snapshot.
Result<RunState> restore_snapshot(const Json& snapshot, const Graphs& graphs);

// Equal states have equal fingerprints: what tests and `cairn rebuild --check` compare.
std::string state_fingerprint(const RunState& state);

}  // namespace cairn
