#include "engine/id.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>

#include "engine/result.hpp"
#include "engine/text.hpp"

namespace cairn {
namespace {

constexpr std::int64_t us_per_s = 1'000'000;
constexpr std::int64_t s_per_day = 86'400;

bool is_dash_place(std::size_t place) { return place == 8 || place == 13 || place == 18 || place == 23; }

struct Date {
  std::int64_t year = 1970;
  unsigned month = 1;
  unsigned day = 1;
};

// Days since 1970-01-01 in the proleptic Gregorian calendar; eras of 400 years that begin in March.
std::int64_t days_of(Date date) {
  const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t month_from_march = (static_cast<std::int64_t>(date.month) + 9) % 12;
  const std::int64_t day_of_year = (153 * month_from_march + 2) / 5 + date.day - 1;
  const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

Date date_of(std::int64_t days) {
  days += 719'468;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const std::int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  return {year, static_cast<unsigned>(month),
          static_cast<unsigned>(day_of_year - (153 * month_from_march + 2) / 5 + 1)};
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

unsigned days_in_month(std::int64_t year, unsigned month) {
  constexpr std::array<unsigned, 12> days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && is_leap ? 29 : days[month - 1];
}

// Takes the parts of a time off the front of a text.
class TimeText {
 public:
  explicit TimeText(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool starts_with(char c) const { return !rest_.empty() && rest_[0] == c; }

  bool take_any(std::string_view choice) {
    if (rest_.empty() || choice.find(rest_[0]) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_number(std::size_t digits, unsigned lowest, unsigned highest, unsigned& out) {
    if (rest_.size() < digits) return false;
    unsigned value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return false;
      value = value * 10 + static_cast<unsigned>(rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    out = value;
    return lowest <= value && value <= highest;
  }

  // Digits after the point; those below a microsecond are dropped.
  bool take_fraction(std::int64_t& us) {
    std::int64_t unit = us_per_s / 10;
    unsigned digit = 0;
    if (!take_number(1, 0, 9, digit)) return false;
    do {
      us += unit * digit;
      unit /= 10;
    } while (take_number(1, 0, 9, digit));
    return true;
  }

 private:
  std::string_view rest_;
};

bool take_date(TimeText& text, Date& date) {
  unsigned year = 0;
  if (!text.take_number(4, 0, 9999, year) || !text.take_any("-")) return false;
  if (!text.take_number(2, 1, 12, date.month) || !text.take_any("-")) return false;
  date.year = year;
  return text.take_number(2, 1, days_in_month(date.year, date.month), date.day);
}

bool take_zone(TimeText& text, std::int64_t& offset_s) {
  if (text.take_any("Zz")) return true;
  const std::int64_t sign = text.starts_with('-') ? -1 : 1;
  unsigned hours = 0;
  unsigned minutes = 0;
  if (!text.take_any("+-") || !text.take_number(2, 0, 23, hours)) return false;
  if (!text.take_any(":") || !text.take_number(2, 0, 59, minutes)) return false;
  offset_s = sign * (std::int64_t{hours} * 3600 + std::int64_t{minutes} * 60);
  return true;
}

}  // namespace

std::string to_string(const RunId& id) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (const std::uint8_t byte : id.bytes) {
    if (is_dash_place(text.size())) text += '-';
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::optional<RunId> parse_run_id(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  RunId id;
  std::size_t nibbles = 0;
  for (std::size_t place = 0; place < text.size(); ++place) {
    if (is_dash_place(place)) {
      if (text[place] != '-') return std::nullopt;
      continue;
    }
    const int digit = hex_digit(text[place]);
    if (digit < 0) return std::nullopt;
    std::uint8_t& byte = id.bytes[nibbles++ / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | digit);
  }
  return id;
}

std::string question_id(StepId step) { return "q" + std::to_string(step); }

std::optional<StepId> step_of_question(std::string_view question) {
  if (!question.starts_with('q')) return std::nullopt;
  StepId step = 0;
  const char* end = question.data() + question.size();
  const auto [at, fault] = std::from_chars(question.data() + 1, end, step);
  if (fault != std::errc() || at != end || step <= 0) return std::nullopt;
  return step;
}

RunId plus(const RunId& base, std::uint32_t n) {
  constexpr std::size_t first = 8;
  constexpr std::size_t last = 13;
  constexpr std::uint8_t variant_bits = 0xc0;  // the top of byte 8: never counted into
  RunId id = base;
  std::uint64_t carry = n;
  for (std::size_t place = last; place >= first; --place) {
    carry += id.bytes[place];
    id.bytes[place] = static_cast<std::uint8_t>(carry & 0xff);
    carry >>= 8;
  }
  id.bytes[first] =
      static_cast<std::uint8_t>((base.bytes[first] & variant_bits) | (id.bytes[first] & ~variant_bits & 0xff));
  return id;
}

Shard shard_of(const RunId& id, std::int32_t shards) {
  CHECK(shards >= 1);
  const std::int32_t place = id.bytes[14] * 256 + id.bytes[15];
  return place % shards;
}

std::string time_text(TimeUs at_us) {
  if (at_us == never_us) return "never";
  const std::int64_t seconds = floor_div(at_us, us_per_s);
  const std::int64_t days = floor_div(seconds, s_per_day);
  const std::int64_t of_day = seconds - days * s_per_day;
  const Date date = date_of(days);
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04lld-%02u-%02uT%02d:%02d:%02d.%06dZ",
                                 static_cast<long long>(date.year), date.month, date.day,
                                 static_cast<int>(of_day / 3600), static_cast<int>(of_day / 60 % 60),
                                 static_cast<int>(of_day % 60), static_cast<int>(at_us - seconds * us_per_s));
  return {text.data(), static_cast<std::size_t>(size)};
}

std::optional<TimeUs> parse_time(std::string_view text) {
  TimeText rest(text);
  Date date;
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
  if (!take_date(rest, date) || !rest.take_any("Tt ")) return std::nullopt;
  if (!rest.take_number(2, 0, 23, hour) || !rest.take_any(":")) return std::nullopt;
  if (!rest.take_number(2, 0, 59, minute) || !rest.take_any(":")) return std::nullopt;
  if (!rest.take_number(2, 0, 60, second)) return std::nullopt;
  std::int64_t fraction_us = 0;
  if (rest.take_any(".") && !rest.take_fraction(fraction_us)) return std::nullopt;
  std::int64_t offset_s = 0;
  if (!take_zone(rest, offset_s) || !rest.at_end()) return std::nullopt;
  const std::int64_t minute_starts_s =
      days_of(date) * s_per_day + std::int64_t{hour} * 3600 + std::int64_t{minute} * 60 - offset_s;
  const bool leap_second_is_possible =
      minute_starts_s - floor_div(minute_starts_s, s_per_day) * s_per_day == s_per_day - 60;
  if (second == 60 && !leap_second_is_possible) return std::nullopt;
  return (minute_starts_s + second) * us_per_s + fraction_us;
}

}  // namespace cairn

std::size_t std::hash<cairn::RunId>::operator()(const cairn::RunId& id) const noexcept {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::memcpy(&high, id.bytes.data(), 8);
  std::memcpy(&low, id.bytes.data() + 8, 8);
  std::uint64_t mixed = (high ^ (low * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
  return static_cast<std::size_t>(mixed ^ (mixed >> 32));
}
