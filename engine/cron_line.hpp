// A cron line: five fields (minute, hour, day of month, month, day of week), or six with the second in front, as sets
// of numbers; and the local times that it means. Knows no zone. Plain values, safe to read from any thread.
//
// A field is `*`, a number, a name (JAN, MON), a range `a-b`, any of these with a step `/n` (`a/n`: from a to the end),
// or a list of them. Day of week: 0 and 7 are Sunday. Day of month also takes `L`, the last day, and `L-n`, n days
// before it; day of week also takes `5L`, the last Friday of the month, and `5#2`, the second one. `?` is `*` in
// either.
// @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually stand for a whole line.
//
// If neither of the two day fields begins with `*` or `?`, a day matches if either does; else it must match both (the
// rule of Vixie cron).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/civil_time.hpp"
#include "engine/result.hpp"

namespace cairn {

inline constexpr std::size_t cron_line_bytes_max = 256;

struct CronLine {
  std::string text;           // as it was given, in single spaces
  bool has_seconds = false;   // six fields
  std::uint64_t seconds = 1;  // bit n: second n
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t days = 0;         // bit n: day n of the month
  std::uint32_t days_before = 0;  // bit n: n days before the last of the month
  std::uint16_t months = 0;       // bit n: month n
  std::uint8_t weekdays = 0;      // bit n: day n of the week
  std::uint8_t last_weekdays = 0;
  std::array<std::uint8_t, 6> nth_weekdays{};  // [n]: of the n-th such day in the month
  bool is_any_day = false;                     // a day field begins with * or ?
  bool is_any_weekday = false;

  bool is_every_hour() const { return hours == 0xffffff; }
  bool matches_day(std::int64_t days_since_1970) const;
  // The first second of the day at or after `second` that matches; nothing: none is left.
  std::optional<std::int64_t> time_of_day(std::int64_t second) const;

  bool operator==(const CronLine&) const = default;
};

// Refuses `invalid`: a line that cannot be read, names the field; one that no day of the calendar fits (30 February).
Result<CronLine> parse_cron_line(const std::string& text);

}  // namespace cairn
