#include "ops/terminal/local_time.hpp"

#include <array>
#include <ctime>
#include <optional>

namespace cairn {
namespace {

std::string formatted(TimeUs at_us, const char* format) {
  std::time_t seconds = at_us / 1'000'000 - (at_us % 1'000'000 < 0 ? 1 : 0);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::string local_day(TimeUs at_us) { return formatted(at_us, "%Y-%m-%d"); }
std::string local_clock(TimeUs at_us) { return formatted(at_us, "%H:%M:%S"); }
std::string local_time(TimeUs at_us) { return formatted(at_us, "%Y-%m-%d %H:%M:%S"); }
std::string local_moment(TimeUs at_us) { return formatted(at_us, "%Y-%m-%d %H:%M:%S %Z"); }
std::string local_moment_of(const std::string& iso) {
  const std::optional<TimeUs> at = parse_time(iso);
  return at ? local_moment(*at) : iso;
}
std::string local_short(TimeUs at_us, TimeUs now_us) {
  const std::string day = local_day(at_us);
  const std::string today = local_day(now_us);
  if (day == today) return local_clock(at_us);
  return day.substr(0, 4) == today.substr(0, 4) ? formatted(at_us, "%m-%d %H:%M") : day;
}
std::optional<TimeUs> parse_local_time(const std::string& text) {
  std::optional<TimeUs> found;
  for (const int is_summer : {0, 1}) {
    std::tm parts{};
    const char* const end = strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &parts);
    if (end == nullptr || *end != '\0') return std::nullopt;
    parts.tm_isdst = is_summer;
    const TimeUs at_us = std::int64_t{std::mktime(&parts)} * 1'000'000;
    if (local_time(at_us) != text) continue;
    if (found && *found != at_us) return std::nullopt;
    found = at_us;
  }
  return found;
}
std::string zone_name(TimeUs at_us) { return formatted(at_us, "%Z"); }

}  // namespace cairn
