// Civil time: days and seconds of the proleptic Gregorian calendar, counted from 1970-01-01 of wherever the clock
// hangs. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace cairn {

inline constexpr std::int64_t day_seconds = 86'400;

// Seconds since 1970-01-01T00:00:00 as a wall clock shows them, without a zone.
using LocalSeconds = std::int64_t;
// Seconds since 1970-01-01T00:00:00 UTC.
using UtcSeconds = std::int64_t;

struct CivilDay {
  int year = 1970;
  int month = 1;  // 1 to 12
  int day = 1;    // 1 to 31

  auto operator<=>(const CivilDay&) const = default;
};

// Since 1970-01-01.
std::int64_t days_of(const CivilDay& day);
CivilDay day_of(std::int64_t days);
int weekday_of(std::int64_t days);  // 0: Sunday
int days_in_month(int year, int month);

// Rounds towards the past.
inline std::int64_t days_before(std::int64_t seconds) {
  return seconds >= 0 ? seconds / day_seconds : -((-seconds + day_seconds - 1) / day_seconds);
}

// "2026-11-23", "2026-11-23 09:00", "2026-11-23 09:00:05": seconds only if there are some.
std::string day_text(std::int64_t days);
std::string local_text(LocalSeconds at);

}  // namespace cairn
