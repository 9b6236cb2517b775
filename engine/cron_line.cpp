#include "engine/cron_line.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <string_view>
#include <vector>

#include "engine/json.hpp"

namespace cairn {
namespace {

using Names = std::vector<std::string_view>;

struct FieldForm {
  std::string_view what;
  int least = 0;
  int most = 0;
  Names names = {};  // of least, least + 1 ...
};

const FieldForm second_form{"second", 0, 59};
const FieldForm minute_form{"minute", 0, 59};
const FieldForm hour_form{"hour", 0, 23};
const FieldForm day_form{"day of month", 1, 31};
const FieldForm month_form{
    "month", 1, 12, {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}};
const FieldForm weekday_form{"day of week", 0, 7, {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}};

std::string shown(std::string_view text) {
  constexpr std::size_t shown_max = 42;
  std::string quoted = excerpt(Json(text), shown_max);  // cut between characters
  quoted.erase(0, 1);
  if (quoted.ends_with('"')) quoted.pop_back();
  return quoted;
}

Error field_fault(const FieldForm& form, std::string_view part) {
  std::string found = part.empty() ? "nothing" : shown(part);
  return {Code::invalid, "Expected a number from " + std::to_string(form.least) + " to " + std::to_string(form.most) +
                             (form.names.empty() ? "" : ", a name") + ", a range, a step or a list as the " +
                             std::string(form.what) + " of a cron line, but found " + found + "."};
}

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  if (text.empty() || text.size() > 4) return std::nullopt;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<int> value_of(const FieldForm& form, std::string_view text) {
  const auto is_it = [text](std::string_view name) {
    return std::equal(name.begin(), name.end(), text.begin(), text.end(),
                      [](char a, char b) { return a == b || (b >= 'a' && b <= 'z' && a == b - 'a' + 'A'); });
  };
  const auto name = std::find_if(form.names.begin(), form.names.end(), is_it);
  if (name != form.names.end()) return form.least + static_cast<int>(name - form.names.begin());
  const std::optional<int> number = number_of(text);
  return number && *number >= form.least && *number <= form.most ? number : std::nullopt;
}

struct Range {
  int first = 0;
  int last = 0;
};

// `*`, a value or two of them. Saturday to Sunday is 6 to 7.
std::optional<Range> range_of(const FieldForm& form, std::string_view text, bool has_step) {
  if (text == "*") return Range{form.least, form.most};
  const std::size_t dash = text.find('-');
  const std::optional<int> first = value_of(form, text.substr(0, dash));
  if (!first) return std::nullopt;
  if (dash == std::string_view::npos) return Range{*first, has_step ? form.most : *first};
  std::optional<int> last = value_of(form, text.substr(dash + 1));
  if (last == 0 && form.most == 7 && *first > 0) last = 7;
  return last && *first <= *last ? std::optional(Range{*first, *last}) : std::nullopt;
}

Status add_part(const FieldForm& form, std::string_view part, std::uint64_t& bits) {
  const std::size_t slash = part.find('/');
  const bool has_step = slash != std::string_view::npos;
  const std::optional<int> step = has_step ? number_of(part.substr(slash + 1)) : std::optional(1);
  const std::optional<Range> range = range_of(form, part.substr(0, slash), has_step);
  if (!range || !step || *step < 1 || *step > form.most) return field_fault(form, part);
  const int last = form.most == 7 && range->first < 7 && part.starts_with('*') ? 6 : range->last;
  for (int value = range->first; value <= last; value += *step) bits |= std::uint64_t{1} << value;
  return Done{};
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(by, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

Result<std::uint64_t> field_of(const FieldForm& form, std::string_view text) {
  std::uint64_t bits = 0;
  for (const std::string_view part : split(text, ','))
    if (const Status added = add_part(form, part, bits); !added) return added.error();
  return bits;
}

bool is_any(std::string_view field) { return field.starts_with('*') || field == "?"; }

// The parts that only the day of month has: L and L-n.
Status add_days(CronLine& line, std::string_view text) {
  line.is_any_day = is_any(text);
  std::uint64_t bits = 0;
  for (std::string_view part : split(text == "?" ? "*" : text, ',')) {
    if (!part.starts_with('L') && !part.starts_with('l')) {
      if (const Status added = add_part(day_form, part, bits); !added) return added;
      continue;
    }
    const std::optional<int> before = part.size() == 1 ? std::optional(0)
                                      : part[1] == '-' ? number_of(part.substr(2))
                                                       : std::nullopt;
    if (!before || *before > 30) return field_fault(day_form, part);
    line.days_before |= std::uint32_t{1} << *before;
  }
  line.days = static_cast<std::uint32_t>(bits);
  return Done{};
}

// The parts that only the day of week has: 5L and 5#2.
Status add_weekdays(CronLine& line, std::string_view text) {
  line.is_any_weekday = is_any(text);
  std::uint64_t bits = 0;
  for (const std::string_view part : split(text == "?" ? "*" : text, ',')) {
    const std::size_t number_sign = part.find('#');
    const bool is_last = part.size() > 1 && (part.back() == 'L' || part.back() == 'l');
    if (!is_last && number_sign == std::string_view::npos) {
      if (const Status added = add_part(weekday_form, part, bits); !added) return added;
      continue;
    }
    const std::optional<int> day =
        value_of(weekday_form, is_last ? part.substr(0, part.size() - 1) : part.substr(0, number_sign));
    const std::optional<int> nth = is_last ? std::optional(0) : number_of(part.substr(number_sign + 1));
    if (!day || !nth || (!is_last && (*nth < 1 || *nth > 5))) return field_fault(weekday_form, part);
    auto& days = is_last ? line.last_weekdays : line.nth_weekdays[static_cast<std::size_t>(*nth)];
    days = static_cast<std::uint8_t>(days | (1u << (*day % 7)));
  }
  if ((bits >> 7 & 1) != 0) bits |= 1;
  line.weekdays = static_cast<std::uint8_t>(bits & 0x7f);
  return Done{};
}

std::string_view meaning_of(std::string_view text) {
  static const std::map<std::string_view, std::string_view> lines = {
      {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
      {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}};
  const auto found = lines.find(text);
  return found == lines.end() ? text : found->second;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(" \t"); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(" \t", end);
  }
  return words;
}

// Within 400 years the calendar comes back to where it was, weekdays too. Most lines have a day in the first.
bool has_day(const CronLine& line) {
  constexpr std::int64_t calendar_days = 146'097;
  for (std::int64_t day = 0; day < calendar_days; ++day)
    if (line.matches_day(day)) return true;
  return false;
}

// Without the second.
Status read_fields(CronLine& line, const std::vector<std::string_view>& fields) {
  const Result<std::uint64_t> minutes = field_of(minute_form, fields[0]);
  if (!minutes) return minutes.error();
  const Result<std::uint64_t> hours = field_of(hour_form, fields[1]);
  if (!hours) return hours.error();
  if (Status days = add_days(line, fields[2]); !days) return days;
  const Result<std::uint64_t> months = field_of(month_form, fields[3]);
  if (!months) return months.error();
  line.minutes = *minutes;
  line.hours = static_cast<std::uint32_t>(*hours);
  line.months = static_cast<std::uint16_t>(*months);
  return add_weekdays(line, fields[4]);
}

}  // namespace

bool CronLine::matches_day(std::int64_t since_1970) const {
  const CivilDay civil = day_of(since_1970);
  if ((months >> civil.month & 1) == 0) return false;
  const int length = days_in_month(civil.year, civil.month);
  const int weekday = weekday_of(since_1970);
  const bool by_day = (days >> civil.day & 1) != 0 || (days_before >> (length - civil.day) & 1) != 0;
  const auto nth = static_cast<std::size_t>((civil.day - 1) / 7 + 1);
  const bool by_weekday = (weekdays >> weekday & 1) != 0 || (nth_weekdays[nth] >> weekday & 1) != 0 ||
                          (civil.day + 7 > length && (last_weekdays >> weekday & 1) != 0);
  return is_any_day || is_any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

std::optional<std::int64_t> CronLine::time_of_day(std::int64_t second) const {
  const auto next_bit = [](std::uint64_t bits, std::int64_t from) -> std::int64_t {
    const std::uint64_t left = from > 63 ? 0 : bits >> from << from;
    return left == 0 ? -1 : std::countr_zero(left);
  };
  std::int64_t hour = second / 3'600, minute = second / 60 % 60, of_minute = second % 60;
  for (;;) {
    const std::int64_t next_hour = next_bit(hours, hour);
    if (next_hour < 0) return std::nullopt;
    if (next_hour > hour) minute = of_minute = 0;
    hour = next_hour;
    std::int64_t next_minute = next_bit(minutes, minute);
    if (next_minute > minute) of_minute = 0;
    std::int64_t next_second = next_minute < 0 ? -1 : next_bit(seconds, of_minute);
    if (next_minute >= 0 && next_second < 0) {
      next_minute = next_bit(minutes, next_minute + 1);
      next_second = next_minute < 0 ? -1 : next_bit(seconds, 0);
    }
    if (next_second >= 0) return hour * 3'600 + next_minute * 60 + next_second;
    ++hour;
    minute = of_minute = 0;
  }
}

Result<CronLine> parse_cron_line(const std::string& given) {
  if (given.size() > cron_line_bytes_max)
    return Error{Code::invalid, "Expected a cron line of at most " + std::to_string(cron_line_bytes_max) +
                                    " bytes, but found " + std::to_string(given.size()) + "."};
  const std::vector<std::string_view> words = words_of(given);
  std::vector<std::string_view> fields = words.size() == 1 ? words_of(meaning_of(words[0])) : words;
  if (fields.size() != 5 && fields.size() != 6)
    return Error{Code::invalid,
                 "Expected the five fields of a cron line (minute, hour, day of month, month, day of week), or six "
                 "with the second in front, but found " +
                     (words.empty() ? "nothing" : "\"" + shown(given) + "\"") + "."};
  CronLine line;
  for (const std::string_view word : words) line.text += (line.text.empty() ? "" : " ") + std::string(word);
  line.has_seconds = fields.size() == 6;
  if (line.has_seconds) {
    const Result<std::uint64_t> seconds = field_of(second_form, fields[0]);
    if (!seconds) return seconds.error();
    line.seconds = *seconds;
    fields.erase(fields.begin());
  }
  if (const Status read = read_fields(line, fields); !read) return read.error();
  if (has_day(line)) return line;
  return Error{Code::invalid, "Expected a cron line that some day fits, but no day ever fits \"" + line.text + "\"."};
}

}  // namespace cairn
