// A schedule: what starts runs of a graph at times. Its definition is what a person adds and edits; parsed here from
// the JSON in which it is asked for and kept. Pure; plain values, safe to read from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/event.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"
#include "engine/schedule_times.hpp"

namespace cairn {

// The fate of an occurrence whose time comes while a run of the schedule is open.
enum class Overlap : std::uint8_t {
  skip,             // it is skipped
  buffer_one,       // it waits until that run has ended; at most one waits
  buffer_all,       // the same, however many wait
  cancel_other,     // that run is cancelled; it starts when that one has cleaned up and ended
  terminate_other,  // that run is ended at once, without its cleanup, and it starts
  allow_all,        // it starts as well
};
std::string_view to_string(Overlap overlap);
Result<Overlap> parse_overlap(const std::string& text);

struct ScheduleDefinition {
  std::string graph;
  Json input = Json::object();
  Tags tags = {};
  ScheduleTimes times = {};
  std::vector<std::string> exclude = {};  // as given
  std::string zone = "UTC";
  Overlap overlap = Overlap::skip;
  std::int64_t catch_up_ms = 3'600'000;  // an occurrence that is later than this is missed
  std::int64_t jitter_ms = 0;

  bool operator==(const ScheduleDefinition&) const = default;
};

inline constexpr std::size_t schedule_input_bytes_max = 64 * 1024;
inline constexpr std::size_t schedule_lines_max = 20;                     // cron lines, and texts of excluded days
inline constexpr std::size_t schedule_excluded_max = 100;                 // days and ranges
inline constexpr std::int64_t schedule_span_ms_max = 366LL * 86'400'000;  // of an interval, a window, a jitter

// {"graph", "input"?, "tags"?, "cron"?: [LINE], "every_ms"?, "phase_ms"?, "zone"?, "dst"?, "exclude"?: [DAYS],
// "overlap"?, "catch_up_ms"?, "jitter_ms"?, "from"?, "until"?}. Refuses `invalid` with one sentence: an unknown field,
// a value that is none, neither a line nor an interval. That the zone and the graph exist is for others to check.
Result<ScheduleDefinition> parse_schedule(const Json& asked);
// All fields, in the same form.
Json schedule_json(const ScheduleDefinition& definition);

// 1 to 100 letters, digits, dots, underscores and hyphens, beginning with a letter or a digit. Refuses `invalid`.
Status check_schedule_name(const std::string& name);

// "Mondays at 09:00 in Europe/Berlin".
std::string in_words(const ScheduleDefinition& definition);

}  // namespace cairn
