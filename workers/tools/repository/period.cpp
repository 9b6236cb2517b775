#include "workers/tools/repository/period.hpp"

#include <charconv>
#include <chrono>
#include <iterator>
#include <string>
#include <vector>

namespace cairn {
namespace {

namespace chrono = std::chrono;
using chrono::sys_days;
using chrono::year_month_day;

constexpr int count_max = 10'000;
constexpr int year_max = 9'999;

TimeUs us_of(sys_days day) { return chrono::microseconds(day.time_since_epoch()).count(); }

sys_days day_at(TimeUs at_us) {
  return chrono::floor<chrono::days>(chrono::sys_time<chrono::microseconds>(chrono::microseconds(at_us)));
}

Period days(sys_days from, sys_days to) { return {us_of(from), us_of(to)}; }

// A day that the month does not have is its last one.
sys_days moved(year_month_day day, chrono::months months) {
  const year_month_day there = day + months;
  return there.ok() ? sys_days(there) : sys_days(there.year() / there.month() / chrono::last);
}

enum class Unit : std::uint8_t { day, week, month, quarter, year };

std::optional<Unit> unit_of(std::string_view word) {
  if (word.ends_with('s')) word.remove_suffix(1);
  if (word == "day") return Unit::day;
  if (word == "week") return Unit::week;
  if (word == "month") return Unit::month;
  if (word == "quarter") return Unit::quarter;
  if (word == "year") return Unit::year;
  return std::nullopt;
}

int months_in(Unit unit) { return unit == Unit::year ? 12 : unit == Unit::quarter ? 3 : 1; }

sys_days start_of(Unit unit, sys_days day) {
  const year_month_day date = day;
  switch (unit) {
    case Unit::day:
      return day;
    case Unit::week:
      return day - (chrono::weekday(day) - chrono::Monday);
    case Unit::month:
      return date.year() / date.month() / 1;
    case Unit::quarter:
      return date.year() / chrono::month((static_cast<unsigned>(date.month()) - 1) / 3 * 3 + 1) / 1;
    case Unit::year:
      return date.year() / 1 / 1;
  }
  return day;
}

sys_days later(Unit unit, sys_days day, int count) {
  if (unit == Unit::day) return day + chrono::days(count);
  if (unit == Unit::week) return day + chrono::weeks(count);
  return moved(day, chrono::months(count * months_in(unit)));
}

std::optional<int> number_of(std::string_view text) {
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || text.empty() || text[0] == '-') return std::nullopt;
  return value;
}

// 2024, 2024-05, 2024-q2, 2024-05-31
std::optional<Period> read_date(std::string_view text) {
  const std::optional<int> year = number_of(text.substr(0, text.find('-')));
  if (!year || *year < 1970 || *year > year_max || text.find('-') == 0 || text.substr(0, text.find('-')).size() != 4)
    return std::nullopt;
  const chrono::year at(*year);
  if (text.size() == 4) return days(at / 1 / 1, (at + chrono::years(1)) / 1 / 1);
  text.remove_prefix(5);
  if (text.size() == 2 && text[0] == 'q' && text[1] >= '1' && text[1] <= '4') {
    const sys_days begin = at / chrono::month(static_cast<unsigned>(text[1] - '1') * 3 + 1) / 1;
    return days(begin, later(Unit::quarter, begin, 1));
  }
  const std::optional<int> month = number_of(text.substr(0, text.find('-')));
  if (!month || *month < 1 || *month > 12) return std::nullopt;
  const auto in = at / *month;
  if (text.find('-') == std::string_view::npos) return days(in / 1, later(Unit::month, in / 1, 1));
  const std::optional<int> day = number_of(text.substr(text.find('-') + 1));
  if (!day || *day < 1 || !(in / *day).ok()) return std::nullopt;
  return days(in / *day, sys_days(in / *day) + chrono::days(1));
}

// The latest month of that name that has begun.
std::optional<Period> read_month(std::string_view name, year_month_day today) {
  constexpr std::string_view names[] = {"january", "february", "march",     "april",   "may",      "june",
                                        "july",    "august",   "september", "october", "november", "december"};
  for (unsigned i = 0; i < std::size(names); ++i) {
    if (names[i] != name) continue;
    const chrono::month month(i + 1);
    const sys_days begin = (month <= today.month() ? today.year() : today.year() - chrono::years(1)) / month / 1;
    return days(begin, later(Unit::month, begin, 1));
  }
  return std::nullopt;
}

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  bool begins = true;
  for (char c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == ' ' || c == '_') {
      begins = true;
    } else {
      if (begins) words.emplace_back();
      begins = false;
      words.back() += c;
    }
  }
  return words;
}

}  // namespace

std::optional<Period> read_period(std::string_view text, TimeUs now_us) {
  if (const std::optional<TimeUs> at = parse_time(text)) return Period{*at, *at};
  std::vector<std::string> words = words_in(text);
  if (words.size() == 3 && words[2] == "ago") words.pop_back();
  const sys_days today = day_at(now_us);
  if (words.size() == 1 && words[0] == "today") return days(today, today + chrono::days(1));
  if (words.size() == 1 && words[0] == "yesterday") return days(today - chrono::days(1), today);
  if (words.size() == 1) {
    const std::optional<Period> month = read_month(words[0], today);
    return month ? month : read_date(words[0]);
  }
  if (words.size() != 2) return std::nullopt;
  const std::optional<Unit> unit = unit_of(words[1]);
  if (!unit) return std::nullopt;
  const sys_days begin = start_of(*unit, today);
  if (words[0] == "this") return days(begin, later(*unit, begin, 1));
  if (words[0] == "last" || words[0] == "previous") return days(later(*unit, begin, -1), begin);
  const std::optional<int> count = number_of(words[0]);
  if (!count || *count < 1 || *count > count_max) return std::nullopt;
  const TimeUs into_day_us = now_us - us_of(today);
  return Period{us_of(later(*unit, today, -*count)) + into_day_us, now_us};
}

}  // namespace cairn
