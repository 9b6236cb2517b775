// The bounds of names, of calls, and of what a worker reports: one place for the engine and for those who take names at
// the door. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/event.hpp"
#include "engine/result.hpp"

namespace cairn {

// Bounds the names of graphs, nodes, labels, queues, channels, tags, signals, questions' kinds, budgets, tools,
// sub-goals and all others: they are looked up in the database, where an index takes no more than a third of a page.
inline constexpr std::size_t name_bytes_max = 1'000;
// Bounds what all facts of one outcome hold together.
inline constexpr std::size_t facts_bytes_max = composed_bytes_max;
// Bounds the reason that a person gives for a change: of a run, a schedule or a hook.
inline constexpr std::size_t reason_bytes_max = 500;
// Bounds the sentence of a failure.
inline constexpr std::size_t message_bytes_max = 64 * 1024;

// Bounds how deep calls of graphs go: a run that no other one called is of depth 0.
inline constexpr std::int32_t call_depth_max = 16;

// `as` says what it is, in the sentence. Refuses `limit` (too long), `invalid` (NUL, which no text column takes).
Status check_name(std::string_view name, const std::string& as);
Status check_tags(const Tags& tags);
// A person's reason for a change. Refuses `invalid`: longer than reason_bytes_max, or with NUL.
Status check_reason(std::string_view reason);

// Whether a value may be recorded. Refuses `limit` (deeper than json_depth_max), `invalid` (NUL in a text or a key).
Status check_value(const Json& value, const std::string& what);
// Whether all of a worker's facts may: their names, values, records and bytes.
Status check_facts(const std::vector<Fact>& facts);

// A failure's sentence as it is recorded: each NUL becomes U+FFFD, and what is longer than `bytes_max` is cut.
std::string recordable(std::string text, std::size_t bytes_max);

}  // namespace cairn
