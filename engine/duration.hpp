// Durations as people write them: a whole number and a unit, as "500ms", "10s", "5m", "12h" or "90d". Pure functions,
// safe from any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "engine/id.hpp"

namespace cairn {

// The durations that a place takes.
struct DurationRange {
  TimeUs least_us = 0;
  TimeUs most_us = std::numeric_limits<TimeUs>::max();
  std::int64_t count_max = std::numeric_limits<std::int64_t>::max();  // of the number, in whatever unit
  bool has_ms = true;                                                 // "ms" is a unit
};

// Nothing: a text of another form, or a duration outside of the range.
std::optional<TimeUs> parse_duration(std::string_view text, const DurationRange& range);

// In the largest unit of which it is a multiple: "90m", "1d"; what is left of a millisecond is cut.
std::string written_duration(TimeUs us);

}  // namespace cairn
