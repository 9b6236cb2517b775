// The times of a schedule: cron lines and an interval, days that are left out, and what a local time means that a
// change of the clock repeats or leaves out. With a zone they give instants, in order, each once. Pure; plain values,
// safe to read from any thread.
//
// A line whose hour field names every hour fires in each hour that passes: it is read off the wall clock at each
// instant, so a repeated hour has its times twice, and one that is left out has none. Every other line names times of
// the day, which `dst` gives exactly one instant unless it says otherwise. An interval counts seconds that pass, from
// 1970-01-01T00:00:00Z plus its phase, whatever the zone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/civil_time.hpp"
#include "engine/cron_line.hpp"
#include "engine/time_zone.hpp"

namespace cairn {

// The instant of a local time that occurs twice.
enum class Repeated : std::uint8_t { first, second, both };
// The instant of a local time that does not occur.
enum class LeftOut : std::uint8_t {
  next,   // the first one after the gap
  skip,   // none
  shift,  // later by the length of the gap: 02:30 becomes 03:30
};

struct DstRule {
  Repeated repeated = Repeated::first;
  LeftOut left_out = LeftOut::next;

  bool operator==(const DstRule&) const = default;
};

// Days on which nothing fires, by the local calendar.
struct ExcludedDays {
  enum class Kind : std::uint8_t { days, each_year, weekday };
  Kind kind = Kind::days;
  std::int64_t first = 0, last = 0;  // days since 1970
  int month = 0, day = 0;            // of each year
  int weekday = 0;

  bool has(std::int64_t days) const;
  bool operator==(const ExcludedDays&) const = default;
};

struct ScheduleTimes {
  std::vector<CronLine> cron = {};
  std::int64_t every_s = 0;  // 0: no interval
  std::int64_t phase_s = 0;
  std::vector<ExcludedDays> excluded = {};
  DstRule dst = {};
  std::optional<UtcSeconds> from = {};   // nothing before it
  std::optional<UtcSeconds> until = {};  // nothing after it

  bool operator==(const ScheduleTimes&) const = default;
};

// The first time at or after `from`; nothing: there is none within 400 years, after which the calendar repeats.
std::optional<UtcSeconds> next_time(const ScheduleTimes& times, const TimeZone& zone, UtcSeconds from);

// "first,next": what repeats, then what is left out; "last" is "second". Refuses `invalid`.
Result<DstRule> parse_dst(const std::string& text);
std::string to_string(const DstRule& rule);

// "2026-12-25", "2026-12-24..2027-01-02", "12-25" of each year, "SAT", "SAT,SUN". Refuses `invalid`.
Result<std::vector<ExcludedDays>> parse_excluded(const std::string& text);

}  // namespace cairn
