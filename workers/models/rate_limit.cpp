#include "workers/models/rate_limit.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include "workers/models/chat_message.hpp"

namespace cairn {
namespace {

constexpr double pause_of_limit_ms_max = 86'400'000;

std::optional<std::string_view> header_of(const HttpAnswer& answer, std::string_view name) {
  for (const auto& [key, value] : answer.headers)
    if (key == name) return value;
  return std::nullopt;
}

std::optional<double> number_before(std::string_view& text) {
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (fault != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// "6m0s", "1h2m3.5s", "20ms"; a bare number counts in `unit_ms`, and is no duration but a time of the clock if that
// makes more than a day.
std::optional<double> duration_ms(std::string_view text, double unit_ms) {
  double sum = 0;
  if (text.empty()) return std::nullopt;
  for (bool is_first = true; !text.empty(); is_first = false) {
    const std::optional<double> number = number_before(text);
    if (!number) return std::nullopt;
    const std::size_t letters = std::min(text.find_first_of("0123456789."), text.size());
    const std::string_view unit = text.substr(0, letters);
    if (unit == "ms")
      sum += *number;
    else if (unit == "s")
      sum += *number * 1'000;
    else if (unit == "m")
      sum += *number * 60'000;
    else if (unit == "h")
      sum += *number * 3'600'000;
    else if (unit == "d")
      sum += *number * 86'400'000;
    else if (unit.empty() && is_first && *number * unit_ms <= pause_of_limit_ms_max)
      sum += *number * unit_ms;
    else
      return std::nullopt;
    text.remove_prefix(letters);
  }
  return sum;
}

// The limits that are used up reset at the latest of their times; if none is, the soonest of the others helps.
double reset_ms(const HttpAnswer& answer) {
  double used_up = 0;
  double other = 0;
  for (const char* of : {"requests", "tokens"}) {
    const auto reset = header_of(answer, std::string("x-ratelimit-reset-") + of);
    const std::optional<double> ms = reset ? duration_ms(*reset, 1'000) : std::nullopt;
    if (!ms) continue;
    if (header_of(answer, std::string("x-ratelimit-remaining-") + of) == "0")
      used_up = std::max(used_up, *ms);
    else
      other = other > 0 ? std::min(other, *ms) : *ms;
  }
  return used_up > 0 ? used_up : other;
}

// Gemini's: {"error": {"details": [{"retryDelay": "13s"}]}}, at times within a list.
double delay_in_body(const std::string& body) {
  constexpr std::size_t body_bytes_max = 64 * 1024;
  if (body.size() > body_bytes_max || body.find("\"retryDelay\"") == std::string::npos) return 0;
  const Result<Json> read = parse_json(body, "an error");
  if (!read) return 0;
  const Json* error = member_at(read->is_array() && !read->empty() ? read->front() : *read, "error");
  const Json* details = error == nullptr ? nullptr : member_at(*error, "details");
  if (details == nullptr || !details->is_array()) return 0;
  double ms = 0;
  for (const Json& detail : *details) ms = std::max(ms, duration_ms(text_at(detail, "retryDelay"), 1'000).value_or(0));
  return ms;
}

}  // namespace

bool is_not_now(const HttpAnswer& answer) { return answer.status == 429 || answer.status == 503; }

std::int64_t asked_pause_ms(const HttpAnswer& answer) {
  double ms = 0;
  if (const auto given = header_of(answer, "retry-after-ms")) ms = duration_ms(*given, 1).value_or(0);
  if (ms <= 0) ms = static_cast<double>(answer.retry_after_ms);
  if (ms <= 0) ms = delay_in_body(answer.body);
  if (ms <= 0) ms = reset_ms(answer);
  return static_cast<std::int64_t>(std::ceil(std::min(ms, pause_of_limit_ms_max)));
}

std::int64_t own_pause_ms(int pauses, const std::string& key) {
  constexpr std::int64_t first_ms = 500;
  const std::int64_t whole = first_ms << std::clamp(pauses, 0, own_pauses_max);
  const std::size_t draw = std::hash<std::string>{}(key + "#" + std::to_string(pauses));
  return whole - static_cast<std::int64_t>(draw % static_cast<std::size_t>(whole / 5));
}

}  // namespace cairn
