// The time for which ended runs of a graph stay in the database: the graph's "keep". Pure functions, safe from any
// thread.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/graph.hpp"
#include "engine/json.hpp"

namespace cairn {

// Microseconds of "90d", "12h", "30m" or "10s"; the number has 1 to 5 digits and does not begin with 0. Nothing for any
// other value.
std::optional<std::int64_t> parse_keep(const Json& keep);

// Nothing: the graph says none, and its runs stay. Throws CorruptHistory for a stored graph with another value.
std::optional<std::int64_t> keep_us(const Graph& graph);

}  // namespace cairn
