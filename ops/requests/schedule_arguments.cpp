#include "ops/requests/schedule_arguments.hpp"

#include <optional>

#include "engine/duration.hpp"
#include "engine/schedule.hpp"

namespace cairn {

Result<std::int64_t> span_argument(const std::string& text, const std::string& option, const std::string& at_most) {
  constexpr DurationRange span_range = {.most_us = schedule_span_ms_max * 1'000, .count_max = 1'000'000'000};
  if (const std::optional<TimeUs> span = parse_duration(text, span_range)) return *span / 1'000;
  return Error{Code::invalid, "Expected a duration of at most " + at_most + " like 12h, 30m, 10s or 500ms in " +
                                  option + ", but found " + excerpt(Json(text), 60) + "."};
}

Result<std::string> schedule_name_argument(const std::string& text) {
  const Status named = check_schedule_name(text);
  if (!named) return named.error();
  return text;
}

}  // namespace cairn
