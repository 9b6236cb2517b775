#include "engine/civil_time.hpp"

#include <array>

namespace cairn {
namespace {

// Days of a year that begins in March, so that the leap day is its last.
constexpr std::int64_t days_in_era = 146'097;
constexpr std::int64_t era_years = 400;
constexpr std::int64_t epoch_in_eras = 719'468;  // days from 0000-03-01 to 1970-01-01

std::string two_digits(std::int64_t number) {
  const std::string text = std::to_string(number);
  return text.size() < 2 ? "0" + text : text;
}

bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

}  // namespace

std::int64_t days_of(const CivilDay& civil) {
  const std::int64_t year = civil.month <= 2 ? civil.year - 1 : civil.year;
  const std::int64_t era = (year >= 0 ? year : year - (era_years - 1)) / era_years;
  const std::int64_t year_of_era = year - era * era_years;
  const std::int64_t month = civil.month > 2 ? civil.month - 3 : civil.month + 9;
  const std::int64_t day_of_year = (153 * month + 2) / 5 + civil.day - 1;
  const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * days_in_era + day_of_era - epoch_in_eras;
}

CivilDay day_of(std::int64_t days) {
  const std::int64_t shifted = days + epoch_in_eras;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - (days_in_era - 1)) / days_in_era;
  const std::int64_t of_era = shifted - era * days_in_era;
  const std::int64_t year = (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
  const std::int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const std::int64_t month = (5 * of_year + 2) / 153;
  CivilDay civil;
  civil.day = static_cast<int>(of_year - (153 * month + 2) / 5 + 1);
  civil.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
  civil.year = static_cast<int>(year + era * era_years + (civil.month <= 2 ? 1 : 0));
  return civil;
}

int weekday_of(std::int64_t days) {
  const std::int64_t of_week = (days + 4) % 7;  // 1970-01-01 was a Thursday
  return static_cast<int>(of_week < 0 ? of_week + 7 : of_week);
}

int days_in_month(int year, int month) {
  static constexpr std::array<int, 12> lengths = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : lengths[static_cast<std::size_t>(month - 1)];
}

std::string day_text(std::int64_t days) {
  const CivilDay day = day_of(days);
  std::string year = std::to_string(day.year);
  while (year.size() < 4) year.insert(year.begin(), '0');
  return year + "-" + two_digits(day.month) + "-" + two_digits(day.day);
}

std::string local_text(LocalSeconds at) {
  const std::int64_t days = days_before(at);
  const std::int64_t of_day = at - days * day_seconds;
  std::string text = day_text(days) + " " + two_digits(of_day / 3'600) + ":" + two_digits(of_day / 60 % 60);
  if (of_day % 60 != 0) text += ":" + two_digits(of_day % 60);
  return text;
}

}  // namespace cairn
