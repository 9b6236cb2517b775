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
std::string zone_name(TimeUs at_us) { return formatted(at_us, "%Z"); }

}  // namespace cairn
