#include "engine/schedule_times.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/json.hpp"

namespace cairn {
namespace {

constexpr std::int64_t horizon_days = 146'097;  // 400 years
constexpr std::int64_t interval_horizon_days = 36'525;

bool is_excluded(const ScheduleTimes& times, std::int64_t day) {
  return std::any_of(times.excluded.begin(), times.excluded.end(),
                     [day](const ExcludedDays& days) { return days.has(day); });
}

// The days after `day` until the next month, if the line names none of this month's.
std::int64_t days_to_pass(const CronLine& line, std::int64_t day) {
  const CivilDay civil = day_of(day);
  return (line.months >> civil.month & 1) != 0 ? 1 : days_in_month(civil.year, civil.month) - civil.day + 1;
}

// The local times of one line in one zone.
class LineTimes {
 public:
  LineTimes(const ScheduleTimes& times, const CronLine& line, const TimeZone& zone)
      : times_(times), line_(line), zone_(zone) {}

  std::optional<UtcSeconds> next(UtcSeconds from) const {
    const UtcSeconds last = from + horizon_days * day_seconds;
    for (ZonePiece piece = zone_.piece_at(from); piece.begins <= last;) {
      const UtcSeconds begin = std::max(from, piece.begins);
      const std::optional<UtcSeconds> left_out = after_gap(piece, from);
      const std::optional<LocalSeconds> found = local_at_or_after(begin + piece.offset);
      const std::optional<UtcSeconds> regular = in_piece(piece, found);
      if (regular && left_out) return std::min(*regular, *left_out);
      if (regular || left_out) return regular ? regular : left_out;
      if (!found || piece.ends >= zone_ends) return std::nullopt;
      piece = zone_.piece_at(begin + zone_offset_max < piece.ends ? std::max(piece.ends, *found - zone_offset_max)
                                                                  : piece.ends);
    }
    return std::nullopt;
  }

 private:
  std::optional<LocalSeconds> local_at_or_after(LocalSeconds from) const {
    const std::int64_t first = days_before(from);
    std::int64_t second = from - first * day_seconds;
    for (std::int64_t day = first; day <= first + horizon_days;) {
      if (line_.matches_day(day) && !is_excluded(times_, day))
        if (const std::optional<std::int64_t> of_day = line_.time_of_day(second)) return day * day_seconds + *of_day;
      day += days_to_pass(line_, day);
      second = 0;
    }
    return std::nullopt;
  }

  // `found`: the first that the line names in the piece, or after it.
  std::optional<UtcSeconds> in_piece(const ZonePiece& piece, std::optional<LocalSeconds> found) const {
    while (found && *found - piece.offset < piece.ends) {
      if (line_.is_every_hour() || counts(piece, *found)) return *found - piece.offset;
      found = local_at_or_after(*found + 1);
    }
    return std::nullopt;
  }

  // Whether this is the instant that is meant, of those that show the same local time.
  bool counts(const ZonePiece& piece, LocalSeconds local) const {
    if (times_.dst.repeated == Repeated::both) return true;
    const UtcSeconds at = local - piece.offset;
    const bool is_first = times_.dst.repeated == Repeated::first;
    const UtcSeconds edge = is_first ? at - zone_offset_max : at + zone_offset_max;
    for (ZonePiece other = piece;;) {
      if (is_first ? other.begins <= edge : other.ends > edge) return true;
      if (is_first ? other.begins <= zone_begins : other.ends >= zone_ends) return true;
      other = zone_.piece_at(is_first ? other.begins - 1 : other.ends);
      const UtcSeconds twin = local - other.offset;
      if (twin >= other.begins && twin < other.ends) return false;
    }
  }

  // The instant at or after `from` of the times that the change at the piece's beginning leaves out.
  std::optional<UtcSeconds> after_gap(const ZonePiece& piece, UtcSeconds from) const {
    if (line_.is_every_hour() || times_.dst.left_out == LeftOut::skip || piece.begins <= zone_begins)
      return std::nullopt;
    const std::int64_t before = zone_.piece_at(piece.begins - 1).offset;
    const bool is_shifted = times_.dst.left_out == LeftOut::shift;
    if (before >= piece.offset || (!is_shifted && piece.begins < from)) return std::nullopt;
    const LocalSeconds begin = piece.begins + before, end = piece.begins + piece.offset;
    const std::optional<LocalSeconds> found = local_at_or_after(is_shifted ? std::max(begin, from + before) : begin);
    if (!found || *found >= end) return std::nullopt;
    return is_shifted ? *found - before : piece.begins;
  }

  const ScheduleTimes& times_;
  const CronLine& line_;
  const TimeZone& zone_;
};

std::int64_t rounded_up(std::int64_t at, std::int64_t step) {
  const std::int64_t rest = ((at % step) + step) % step;
  return rest == 0 ? at : at + step - rest;
}

std::optional<UtcSeconds> next_of_interval(const ScheduleTimes& times, const TimeZone& zone, UtcSeconds from) {
  const UtcSeconds last = from + interval_horizon_days * day_seconds;
  for (UtcSeconds at = from; at <= last;) {
    at = rounded_up(at - times.phase_s, times.every_s) + times.phase_s;
    const ZonePiece piece = zone.piece_at(at);
    const std::int64_t day = days_before(at + piece.offset);
    if (!is_excluded(times, day)) return at;
    at = std::min((day + 1) * day_seconds - piece.offset, std::max(piece.ends, at + 1));
  }
  return std::nullopt;
}

}  // namespace

bool ExcludedDays::has(std::int64_t days) const {
  switch (kind) {
    case Kind::days:
      return days >= first && days <= last;
    case Kind::each_year: {
      const CivilDay civil = day_of(days);
      return civil.month == month && civil.day == day;
    }
    case Kind::weekday:
      return weekday_of(days) == weekday;
  }
  return false;
}

std::optional<UtcSeconds> next_time(const ScheduleTimes& times, const TimeZone& zone, UtcSeconds from) {
  const UtcSeconds begin = std::max(from, times.from.value_or(from));
  std::optional<UtcSeconds> earliest;
  const auto take = [&earliest](std::optional<UtcSeconds> at) {
    if (at && (!earliest || *at < *earliest)) earliest = at;
  };
  for (const CronLine& line : times.cron) take(LineTimes(times, line, zone).next(begin));
  if (times.every_s > 0) take(next_of_interval(times, zone, begin));
  return earliest && times.until && *earliest > *times.until ? std::nullopt : earliest;
}

// --- texts ----------------------------------------------------------------------------------------------------------

namespace {

Error bad_dst(const std::string& text) {
  return {Code::invalid,
          "Expected first, second or both for a local time that occurs twice, a comma, and next, skip or shift for one "
          "that does not occur, as in first,next, but found " +
              excerpt(Json(text), 60) + "."};
}

Error bad_days(const std::string& text) {
  return {Code::invalid,
          "Expected a day to leave out, like 2026-12-25, 2026-12-24..2027-01-02, 12-25 or SAT, but found " +
              excerpt(Json(text), 60) + "."};
}

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  if (text.size() < at + count) return std::nullopt;
  const auto read = std::from_chars(text.data() + at, text.data() + at + count, number);
  return read.ec == std::errc{} && read.ptr == text.data() + at + count && number >= 0 ? std::optional(number)
                                                                                       : std::nullopt;
}

// YYYY-MM-DD
std::optional<std::int64_t> calendar_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const std::optional<int> year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  if (!year || !month || !day || *month < 1 || *month > 12 || *day < 1 || *day > days_in_month(*year, *month))
    return std::nullopt;
  return days_of({*year, *month, *day});
}

std::optional<ExcludedDays> excluded_days(std::string_view text) {
  static constexpr std::array<std::string_view, 7> weekdays = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
  constexpr int leap_year = 2000;
  ExcludedDays days;
  const auto weekday = std::find(weekdays.begin(), weekdays.end(), text);
  if (weekday != weekdays.end()) {
    days.kind = ExcludedDays::Kind::weekday;
    days.weekday = static_cast<int>(weekday - weekdays.begin());
    return days;
  }
  if (text.size() == 5 && text[2] == '-') {
    const std::optional<int> month = digits(text, 0, 2), day = digits(text, 3, 2);
    if (!month || !day || *month < 1 || *month > 12 || *day < 1 || *day > days_in_month(leap_year, *month))
      return std::nullopt;
    days.kind = ExcludedDays::Kind::each_year;
    days.month = *month;
    days.day = *day;
    return days;
  }
  const std::size_t dots = text.find("..");
  const std::optional<std::int64_t> first = calendar_day(text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : calendar_day(text.substr(dots + 2));
  if (!first || !last || *last < *first) return std::nullopt;
  days.first = *first;
  days.last = *last;
  return days;
}

}  // namespace

Result<DstRule> parse_dst(const std::string& text) {
  const std::size_t comma = text.find(',');
  const std::string repeated = text.substr(0, comma);
  const std::string left_out = comma == std::string::npos ? "" : text.substr(comma + 1);
  DstRule rule;
  if (repeated == "second" || repeated == "last")
    rule.repeated = Repeated::second;
  else if (repeated == "both")
    rule.repeated = Repeated::both;
  else if (repeated != "first")
    return bad_dst(text);
  if (left_out == "skip")
    rule.left_out = LeftOut::skip;
  else if (left_out == "shift")
    rule.left_out = LeftOut::shift;
  else if (left_out != "next")
    return bad_dst(text);
  return rule;
}

std::string to_string(const DstRule& rule) {
  const std::string repeated = rule.repeated == Repeated::first    ? "first"
                               : rule.repeated == Repeated::second ? "second"
                                                                   : "both";
  const std::string left_out = rule.left_out == LeftOut::next   ? "next"
                               : rule.left_out == LeftOut::skip ? "skip"
                                                                : "shift";
  return repeated + "," + left_out;
}

Result<std::vector<ExcludedDays>> parse_excluded(const std::string& text) {
  std::vector<ExcludedDays> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::optional<ExcludedDays> days = excluded_days(std::string_view(text).substr(begin, end - begin));
    if (!days) return bad_days(text);
    all.push_back(*days);
    begin = end + 1;
  }
  return all;
}

}  // namespace cairn
