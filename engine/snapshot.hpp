// Snapshots: the whole folded state as JSON and back, to resume long runs and to begin forks. A cache, never the truth:
// the events are. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/graph.hpp"
#include "engine/state.hpp"

namespace cairn {

// Raised whenever evolve would fold the same events to another state, or the format changes; cached snapshots of
// another version are not read, and the run is folded again. A golden test fails if the fold changes without it. A
// fork's first event holds a snapshot for good, so everything that an older version held stays readable (versions.md).
inline constexpr std::int32_t fold_version = 8;

// The text of an object. `bytes_expected`: so much room is made for it at first.
std::string snapshot_text(const RunState& state, std::size_t bytes_expected = 0);
Json snapshot_json(const RunState& state);

// Refuses `unsupported` if the graph version is unknown, `corrupt` if it is no snapshot.
Result<RunState> restore_snapshot(const Json& snapshot, const Graphs& graphs);
// The same for a state to go on from. Refuses `corrupt` as well if its parts do not fit together (state_check.hpp).
Result<RunState> carried_state(const Json& snapshot, const Graphs& graphs);

// Equal states have equal fingerprints: what tests and `cairn rebuild --check` compare.
std::string state_fingerprint(const RunState& state);

}  // namespace cairn
