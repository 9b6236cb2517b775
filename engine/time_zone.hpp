// A time zone: which offset from UTC holds when, as read from a file of the zone database (TZif, RFC 9636). Plain
// values, safe to read from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/civil_time.hpp"
#include "engine/result.hpp"

namespace cairn {

// A stretch of time with one offset. Stretches follow each other without a gap.
struct ZonePiece {
  UtcSeconds begins = 0;
  UtcSeconds ends = 0;      // the first second after it
  std::int64_t offset = 0;  // local = UTC + offset
  std::string name = {};    // CET, CEST, +0545

  bool operator==(const ZonePiece&) const = default;
};

inline constexpr UtcSeconds zone_begins = -(std::int64_t{1} << 40);  // 34,000 years
inline constexpr UtcSeconds zone_ends = std::int64_t{1} << 40;
inline constexpr std::int64_t zone_offset_max = 26 * 3'600;  // what RFC 9636 allows, rounded up

class TimeZone {
 public:
  // The piece in which `at` lies. REQUIRES: zone_begins <= at < zone_ends.
  ZonePiece piece_at(UtcSeconds at) const;
  LocalSeconds local(UtcSeconds at) const { return at + piece_at(at).offset; }

  // Refuses `invalid`: no such file, or one with leap seconds.
  static Result<TimeZone> parse(std::string_view tzif);
  static TimeZone utc();

 private:
  struct Change {
    UtcSeconds at = 0;
    std::int64_t offset = 0;
    std::string name;
  };
  // A day of the year on which the offset changes, by the rule for times after the last change of the file.
  struct RuleDay {
    enum class Kind : std::uint8_t { julian, day, weekday };
    Kind kind = Kind::weekday;
    int day = 0;  // of the year, or of the week
    int month = 0;
    int week = 0;
    std::int64_t second = 7'200;  // of the day, local
  };
  struct Rule {
    std::int64_t standard = 0;
    std::string standard_name;
    bool has_summer = false;
    std::int64_t summer = 0;
    std::string summer_name;
    RuleDay summer_begins, summer_ends;
  };
  class RuleReader;

  static std::int64_t rule_day(const RuleDay& day, int year);
  ZonePiece piece_by_rule(UtcSeconds at, UtcSeconds not_before) const;
  Status read_data(std::string_view tzif, std::size_t at, std::size_t time_bytes);

  std::vector<Change> changes_;  // the first is at zone_begins
  std::optional<Rule> rule_;
};

}  // namespace cairn
