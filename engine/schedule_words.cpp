#include <array>
#include <bit>

#include "engine/schedule.hpp"
#include "engine/schedule_state.hpp"

namespace cairn {
namespace {

using Words = std::vector<std::string>;

std::string list_of(const Words& words) {
  std::string all;
  for (std::size_t at = 0; at < words.size(); ++at)
    all += (at == 0 ? "" : at + 1 == words.size() ? " and " : ", ") + words[at];
  return all;
}

std::string two(std::int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); }

std::vector<int> numbers_in(std::uint64_t bits) {
  std::vector<int> numbers;
  for (int n = 0; n < 64; ++n)
    if ((bits >> n & 1) != 0) numbers.push_back(n);
  return numbers;
}

// The step, if the numbers are all multiples of one from 0 to the end; 0: they are not.
int step_of(const std::vector<int>& numbers, int size) {
  const int step = numbers.size() > 1 ? numbers[1] : 0;
  if (step == 0 || numbers[0] != 0) return 0;
  for (std::size_t at = 0; at < numbers.size(); ++at)
    if (numbers[at] != static_cast<int>(at) * step) return 0;
  return numbers.back() + step >= size ? step : 0;
}

std::string numbers_text(const std::vector<int>& numbers) {
  if (numbers.size() > 3 && numbers.back() - numbers.front() == static_cast<int>(numbers.size()) - 1)
    return std::to_string(numbers.front()) + " to " + std::to_string(numbers.back());
  Words words;
  for (const int number : numbers) words.push_back(std::to_string(number));
  return list_of(words);
}

constexpr std::array<const char*, 7> weekday_names = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                      "Thursday", "Friday", "Saturday"};
constexpr std::array<const char*, 13> month_names = {"",        "January",  "February", "March",  "April",
                                                     "May",     "June",     "July",     "August", "September",
                                                     "October", "November", "December"};
constexpr std::array<const char*, 6> ordinals = {"last", "first", "second", "third", "fourth", "fifth"};

// "hour", "90 minutes"
std::string span_text(std::int64_t seconds) {
  const auto of = [](std::int64_t count, const std::string& unit) {
    return count == 1 ? unit : std::to_string(count) + " " + unit + "s";
  };
  if (seconds % 86'400 == 0) return of(seconds / 86'400, "day");
  if (seconds % 3'600 == 0) return of(seconds / 3'600, "hour");
  if (seconds % 60 == 0) return of(seconds / 60, "minute");
  return of(seconds, "second");
}

std::string second_suffix(const CronLine& line) {
  const std::vector<int> seconds = numbers_in(line.seconds);
  if (!line.has_seconds || line.seconds == 1) return "";
  return " at second" + std::string(seconds.size() == 1 ? " " : "s ") + numbers_text(seconds);
}

std::string time_words(const CronLine& line) {
  const std::vector<int> minutes = numbers_in(line.minutes), hours = numbers_in(line.hours);
  const int minute_step = step_of(minutes, 60), hour_step = step_of(hours, 24);
  if (line.has_seconds && line.is_every_hour() && minutes.size() == 60) {
    const std::vector<int> seconds = numbers_in(line.seconds);
    if (seconds.size() == 60) return "every second";
    if (const int step = step_of(seconds, 60); step > 1) return "every " + std::to_string(step) + " seconds";
  }
  if (minutes.size() * hours.size() <= 6) {
    Words times;
    for (const int hour : hours)
      for (const int minute : minutes) times.push_back(two(hour) + ":" + two(minute));
    return "at " + list_of(times) + second_suffix(line);
  }
  std::string of_minute = "at minute " + numbers_text(minutes);
  if (minutes.size() == 60)
    of_minute = "every minute";
  else if (minute_step > 1)
    of_minute = "every " + std::to_string(minute_step) + " minutes";
  else if (minutes.size() > 1)
    of_minute = "at minutes " + numbers_text(minutes);
  if (line.is_every_hour()) return of_minute + (minutes.size() == 1 ? " of every hour" : "") + second_suffix(line);
  const std::string of_hour =
      hour_step > 1 ? "every " + std::to_string(hour_step) + " hours" : "the hours " + numbers_text(hours);
  return of_minute + " of " + of_hour + second_suffix(line);
}

Words weekday_words(const CronLine& line) {
  Words words;
  const std::vector<int> days = numbers_in(line.weekdays);
  if (line.weekdays == 0x3e)
    words.emplace_back("Mondays to Fridays");
  else if (days.size() < 7 || !line.is_any_weekday)
    for (const int day : days) words.push_back(weekday_names[static_cast<std::size_t>(day)] + std::string("s"));
  for (std::size_t nth = 0; nth < ordinals.size(); ++nth)
    for (const int day : numbers_in(nth == 0 ? line.last_weekdays : line.nth_weekdays[nth]))
      words.push_back("the " + std::string(ordinals[nth]) + " " + weekday_names[static_cast<std::size_t>(day)] +
                      " of the month");
  return words;
}

Words day_words(const CronLine& line) {
  Words words;
  const std::vector<int> days = numbers_in(line.days);
  if (!days.empty() && days.size() < 31)
    words.push_back((days.size() == 1 ? "day " : "days ") + numbers_text(days) + " of the month");
  for (const int before : numbers_in(line.days_before))
    words.push_back(before == 0   ? "the last day of the month"
                    : before == 1 ? "the day before the last of the month"
                                  : std::to_string(before) + " days before the last of the month");
  return words;
}

std::string line_words(const CronLine& line) {
  const Words weekdays = weekday_words(line), days = day_words(line);
  std::string text;
  if (!days.empty() && !weekdays.empty())
    text =
        list_of(days) + (line.is_any_day || line.is_any_weekday ? " if it is one of " : ", and ") + list_of(weekdays);
  else
    text = list_of(days.empty() ? weekdays : days);
  const std::string time = time_words(line);
  const bool is_frequent = time.starts_with("every ");
  std::string all = text.empty() ? (is_frequent ? "" : "every day ") + time : text + " " + time;
  const std::vector<int> months = numbers_in(line.months);
  if (months.size() == 12) return all;
  Words names;
  for (const int month : months) names.emplace_back(month_names[static_cast<std::size_t>(month)]);
  return all + " in " + list_of(names);
}

}  // namespace

std::string in_words(const ScheduleDefinition& definition) {
  Words parts;
  for (const CronLine& line : definition.times.cron) parts.push_back(line_words(line));
  if (definition.times.every_s > 0) {
    parts.push_back("every " + span_text(definition.times.every_s));
    if (definition.times.phase_s > 0) parts.back() += ", shifted by " + span_text(definition.times.phase_s);
  }
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  if (!definition.times.cron.empty() || !definition.exclude.empty()) text += " in " + definition.zone;
  if (!definition.exclude.empty()) text += ", but not on " + list_of(definition.exclude);
  const auto moment = [](UtcSeconds at) { return occurrence_text(at * 1'000'000); };
  if (definition.times.from) text += ", from " + moment(*definition.times.from);
  if (definition.times.until) text += ", until " + moment(*definition.times.until);
  return text;
}

}  // namespace cairn
