// Names of runs, steps and branches, and the unit of time. Plain values, safe to copy anywhere.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace cairn {

using StepId = std::int32_t;     // 1, 2, 3 ... in the run; 0 means none
using BranchId = std::int32_t;   // 1 is the branch every run starts with; 0 means none
using SessionId = std::int64_t;  // one start of a worker process, never used again; 0 means none
using TimeUs = std::int64_t;     // microseconds since 1970-01-01 UTC
using Shard = std::int32_t;      // 0 .. shards-1

inline constexpr TimeUs never_us = std::numeric_limits<TimeUs>::max();
// A moment that lies further ahead than this was noted while the database's clock was wrong.
inline constexpr TimeUs clock_ahead_max_us = 86'400'000'000;
inline constexpr BranchId root_branch = 1;
inline constexpr BranchId whole_run = 0;  // where a branch is named, but the run as a whole is meant

// A UUID (RFC 9562). The last two bytes place the run on a shard; a child carries its parent's, so that both
// are always written by one transaction.
struct RunId {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const RunId&) const = default;
  bool is_nil() const { return *this == RunId{}; }
};

// True if the id was made of names rather than drawn (a UUID of version 8): the same names give it again.
inline bool is_derived(const RunId& id) { return id.bytes[6] >> 4 == 8; }

// 8-4-4-4-12 lower-case hexadecimal.
std::string to_string(const RunId& id);

// Nothing if the text is not a UUID (either case, with dashes).
std::optional<RunId> parse_run_id(std::string_view text);

// base + n: counts in bytes 8 to 13, below version and time, above the placement bytes.
RunId plus(const RunId& base, std::uint32_t n);

// REQUIRES: shards >= 1.
Shard shard_of(const RunId& id, std::int32_t shards);

// A question is named for the step that asks it: "q7" is the question of step 7.
std::string question_id(StepId step);

// The step in a question's id; nothing if no question can have that id.
std::optional<StepId> step_of_question(std::string_view question);

// 2026-11-21T22:23:47.123456Z; `never_us` is "never".
std::string time_text(TimeUs at_us);

// Nothing if the text is not an RFC 3339 time (seconds may have a fraction; the zone is Z or an offset).
std::optional<TimeUs> parse_time(std::string_view text);

}  // namespace cairn

template <>
struct std::hash<cairn::RunId> {
  std::size_t operator()(const cairn::RunId& id) const noexcept;
};
