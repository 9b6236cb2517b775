#include "engine/duration.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace cairn {
namespace {

// From the largest to the smallest, so that the first that divides a duration is the one to write it in.
constexpr std::array<std::pair<TimeUs, std::string_view>, 5> duration_units = {
    {{86'400'000'000, "d"}, {3'600'000'000, "h"}, {60'000'000, "m"}, {1'000'000, "s"}, {1'000, "ms"}}};

}  // namespace

std::optional<TimeUs> parse_duration(std::string_view text, const DurationRange& range) {
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, count);
  if (read.ec != std::errc{} || count < 0 || count > range.count_max) return std::nullopt;
  const std::string_view written(read.ptr, static_cast<std::size_t>(end - read.ptr));
  for (const auto& [unit_us, name] : duration_units) {
    if (name != written || (name == "ms" && !range.has_ms) || count > range.most_us / unit_us) continue;
    if (count * unit_us >= range.least_us) return count * unit_us;
  }
  return std::nullopt;
}

std::string written_duration(TimeUs us) {
  for (const auto& [unit_us, name] : duration_units)
    if (us > 0 && us % unit_us == 0) return std::to_string(us / unit_us) + std::string(name);
  return std::to_string(us / 1'000) + "ms";
}

}  // namespace cairn
