#include "engine/time_zone.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace cairn {
namespace {

constexpr std::size_t header_bytes = 44;
constexpr std::size_t file_bytes_max = 1'000'000;

Error not_a_zone(const std::string& why) {
  return {Code::invalid, "Expected a file of the zone database, but " + why + "."};
}

std::int64_t number_at(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t number = (static_cast<unsigned char>(bytes[at]) & 0x80u) != 0 ? ~std::uint64_t{0} : 0;
  for (std::size_t i = 0; i < width; ++i) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return static_cast<std::int64_t>(number);
}

// The counts of a header, in their order.
struct Counts {
  std::int64_t utc_marks = 0, standard_marks = 0, leaps = 0, changes = 0, types = 0, name_bytes = 0;

  bool are_sound() const {
    constexpr std::int64_t most = file_bytes_max;
    return std::min({utc_marks, standard_marks, leaps, changes, name_bytes}) >= 0 && types >= 1 && types <= 256 &&
           std::max({utc_marks, standard_marks, leaps, changes, name_bytes}) <= most;
  }
  std::size_t bytes(std::size_t time_bytes) const {
    return static_cast<std::size_t>(changes) * (time_bytes + 1) + static_cast<std::size_t>(types) * 6 +
           static_cast<std::size_t>(name_bytes) + static_cast<std::size_t>(leaps) * (time_bytes + 4) +
           static_cast<std::size_t>(standard_marks) + static_cast<std::size_t>(utc_marks);
  }
};

std::optional<Counts> counts_at(std::string_view bytes, std::size_t at) {
  if (bytes.size() < at + header_bytes || bytes.substr(at, 4) != "TZif") return std::nullopt;
  const auto count = [&](std::size_t n) { return number_at(bytes, at + 20 + n * 4, 4); };
  const Counts counts{count(0), count(1), count(2), count(3), count(4), count(5)};
  return counts.are_sound() ? std::optional(counts) : std::nullopt;
}

}  // namespace

// --- the rule for the years after the file's changes: a POSIX TZ string
// ------------------------------------------------

class TimeZone::RuleReader {
 public:
  explicit RuleReader(std::string_view text) : left_(text) {}

  std::optional<Rule> read() {
    Rule rule;
    rule.standard_name = name();
    rule.standard = -offset();
    if (!left_.empty() && is_fine_) read_summer(rule);
    const bool is_small = std::max(std::abs(rule.standard), std::abs(rule.summer)) <= zone_offset_max;
    return is_fine_ && is_small && left_.empty() ? std::optional(rule) : std::nullopt;
  }

 private:
  void read_summer(Rule& rule) {
    rule.has_summer = true;
    rule.summer_name = name();
    rule.summer = left_.starts_with(',') || left_.empty() ? rule.standard + 3'600 : -offset();
    rule.summer_begins = day();
    rule.summer_ends = day();
  }

  bool take(char c) {
    if (!left_.starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }

  std::string name() {
    const bool is_quoted = take('<');
    std::string read;
    const auto belongs = [is_quoted](char c) {
      const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      return is_letter || (is_quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-'));
    };
    while (!left_.empty() && belongs(left_.front())) {
      read += left_.front();
      left_.remove_prefix(1);
    }
    if (is_quoted && !take('>')) is_fine_ = false;
    is_fine_ = is_fine_ && read.size() >= 3 && read.size() <= 16;
    return read;
  }

  std::int64_t number(std::int64_t most) {
    std::int64_t read = 0;
    int digits = 0;
    for (; !left_.empty() && left_.front() >= '0' && left_.front() <= '9' && digits < 4; ++digits) {
      read = read * 10 + (left_.front() - '0');
      left_.remove_prefix(1);
    }
    is_fine_ = is_fine_ && digits > 0 && read <= most;
    return read;
  }

  // [+-]hh[:mm[:ss]]
  std::int64_t offset() {
    const bool is_negative = take('-');
    if (!is_negative) take('+');
    std::int64_t seconds = number(167) * 3'600;
    if (take(':')) seconds += number(59) * 60;
    if (take(':')) seconds += number(59);
    return is_negative ? -seconds : seconds;
  }

  RuleDay day() {
    RuleDay read;
    is_fine_ = is_fine_ && take(',');
    if (take('M')) {
      read.month = static_cast<int>(number(12));
      is_fine_ = is_fine_ && take('.');
      read.week = static_cast<int>(number(5));
      is_fine_ = is_fine_ && take('.') && read.month >= 1 && read.week >= 1;
      read.day = static_cast<int>(number(6));
    } else {
      read.kind = take('J') ? RuleDay::Kind::julian : RuleDay::Kind::day;
      read.day = static_cast<int>(number(365));
    }
    if (take('/')) read.second = offset();
    return read;
  }

  std::string_view left_;
  bool is_fine_ = true;
};

// Since 1970.
std::int64_t TimeZone::rule_day(const RuleDay& day, int year) {
  const std::int64_t new_year = days_of({year, 1, 1});
  if (day.kind == RuleDay::Kind::day) return new_year + day.day;
  if (day.kind == RuleDay::Kind::julian)
    return new_year + day.day - 1 + (day.day >= 60 && days_in_month(year, 2) == 29 ? 1 : 0);
  const std::int64_t first = days_of({year, day.month, 1});
  const int until_weekday = (day.day - weekday_of(first) + 7) % 7;
  int of_month = until_weekday + (day.week - 1) * 7;
  while (of_month >= days_in_month(year, day.month)) of_month -= 7;
  return first + of_month;
}

// Summer time that lasts all year has changes that fall together: the pieces between them are empty.
ZonePiece TimeZone::piece_by_rule(UtcSeconds at, UtcSeconds not_before) const {
  const Rule& rule = *rule_;
  if (!rule.has_summer) return {not_before, zone_ends, rule.standard, rule.standard_name};
  const int year = day_of(days_before(at)).year;
  std::array<std::pair<UtcSeconds, bool>, 6> changes;  // and whether summer begins
  std::size_t count = 0;
  for (int of = year - 1; of <= year + 1; ++of) {
    const RuleDay& begins = rule.summer_begins;
    const RuleDay& ends = rule.summer_ends;
    changes[count++] = {rule_day(begins, of) * day_seconds + begins.second - rule.standard, true};
    changes[count++] = {rule_day(ends, of) * day_seconds + ends.second - rule.summer, false};
  }
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto next = std::find_if(changes.begin(), changes.end(), [at](const auto& one) { return one.first > at; });
  CHECK(next != changes.begin() && next != changes.end());
  const auto& last = *std::prev(next);
  return {std::max(last.first, not_before), next->first, last.second ? rule.summer : rule.standard,
          last.second ? rule.summer_name : rule.standard_name};
}

// --- the file
// ----------------------------------------------------------------------------------------------------------

ZonePiece TimeZone::piece_at(UtcSeconds at) const {
  CHECK(at >= zone_begins && at < zone_ends);
  const auto next = std::upper_bound(changes_.begin(), changes_.end(), at,
                                     [](UtcSeconds when, const Change& change) { return when < change.at; });
  const Change& last = *std::prev(next);
  if (next == changes_.end() && rule_ && changes_.size() > 1) return piece_by_rule(at, last.at);
  if (next == changes_.end() && rule_) return piece_by_rule(at, zone_begins);
  return {last.at, next == changes_.end() ? zone_ends : next->at, last.offset, last.name};
}

Status TimeZone::read_data(std::string_view tzif, std::size_t at, std::size_t time_bytes) {
  const std::optional<Counts> counts = counts_at(tzif, at);
  if (!counts || tzif.size() < at + header_bytes + counts->bytes(time_bytes)) return not_a_zone("it is cut short");
  if (counts->leaps != 0) return not_a_zone("it counts leap seconds, which no clock here does");
  const auto count = static_cast<std::size_t>(counts->changes);
  const std::size_t times = at + header_bytes;
  const std::size_t types = times + count * time_bytes;
  const std::size_t type_rows = types + count;
  const std::size_t names = type_rows + static_cast<std::size_t>(counts->types) * 6;
  const std::string_view all_names = tzif.substr(names, static_cast<std::size_t>(counts->name_bytes));
  const auto change = [&](UtcSeconds when, std::size_t type) {
    const auto name_at = static_cast<std::size_t>(static_cast<unsigned char>(tzif[type_rows + type * 6 + 5]));
    const std::string_view name = name_at < all_names.size() ? all_names.substr(name_at) : std::string_view();
    changes_.push_back({when, number_at(tzif, type_rows + type * 6, 4), std::string(name.substr(0, name.find('\0')))});
  };
  change(zone_begins, 0);
  for (std::size_t n = 0; n < count; ++n) {
    const auto type = static_cast<std::size_t>(static_cast<unsigned char>(tzif[types + n]));
    const UtcSeconds when = number_at(tzif, times + n * time_bytes, time_bytes);
    if (type >= static_cast<std::size_t>(counts->types)) return not_a_zone("a change has no type");
    if (when >= zone_ends) break;
    if (when <= changes_.back().at) {
      if (when > zone_begins) return not_a_zone("its changes are out of order");
      changes_.clear();  // the beginning of time, as some files write it
      change(zone_begins, type);
      continue;
    }
    change(when, type);
  }
  const bool are_small = std::all_of(changes_.begin(), changes_.end(), [](const Change& one) {
    return one.offset >= -zone_offset_max && one.offset <= zone_offset_max;
  });
  return are_small ? Status(Done{}) : not_a_zone("it has an offset of more than a day");
}

Result<TimeZone> TimeZone::parse(std::string_view tzif) {
  if (tzif.size() > file_bytes_max) return not_a_zone("it is too large");
  const std::optional<Counts> first = counts_at(tzif, 0);
  if (!first) return not_a_zone("it has no head of one");
  TimeZone zone;
  if (tzif[4] == '\0') {
    if (const Status read = zone.read_data(tzif, 0, 4); !read) return read.error();
    return zone;
  }
  const std::size_t second = header_bytes + first->bytes(4);
  if (const Status read = zone.read_data(tzif, second, 8); !read) return read.error();
  const std::size_t footer = second + header_bytes + counts_at(tzif, second)->bytes(8);
  if (tzif.size() < footer + 2 || tzif[footer] != '\n' || tzif.back() != '\n') return not_a_zone("its end is missing");
  const std::string_view rule = tzif.substr(footer + 1, tzif.size() - footer - 2);
  if (rule.empty()) return zone;
  zone.rule_ = RuleReader(rule).read();
  if (!zone.rule_) return not_a_zone("its rule for later years cannot be read");
  return zone;
}

TimeZone TimeZone::utc() {
  TimeZone zone;
  zone.changes_.push_back({zone_begins, 0, "UTC"});
  return zone;
}

}  // namespace cairn
