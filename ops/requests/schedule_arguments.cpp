#include "ops/requests/schedule_arguments.hpp"

#include <charconv>
#include <map>

#include "engine/schedule.hpp"

namespace cairn {

Result<std::int64_t> span_argument(const std::string& text, const std::string& option) {
  static const std::map<std::string, std::int64_t> units = {
      {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  std::int64_t count = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
  const auto unit = units.find(std::string(read.ptr, text.data() + text.size()));
  constexpr std::int64_t count_max = 1'000'000'000;
  if (read.ec == std::errc{} && unit != units.end() && count >= 0 && count <= count_max &&
      count * unit->second <= schedule_span_ms_max)
    return count * unit->second;
  return Error{Code::invalid, "Expected a duration of at most a year like 12h, 30m, 10s or 500ms in " + option +
                                  ", but found " + excerpt(Json(text), 60) + "."};
}

Result<std::string> schedule_name_argument(const std::string& text) {
  const Status named = check_schedule_name(text);
  if (!named) return named.error();
  return text;
}

}  // namespace cairn
