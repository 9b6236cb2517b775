#include "ops/answers/words.hpp"

#include <algorithm>

namespace cairn {

std::string status_word(const RunRow& row) {
  return row.status == RunStatus::running && row.waiting ? "waiting" : std::string(to_string(row.status));
}

std::string status_word(const RunState& state) {
  return state.status == RunStatus::running && is_waiting(state) ? "waiting" : std::string(to_string(state.status));
}

bool has_message_of(const std::string& reason, const CauseOfFailure& cause) {
  return reason.find(cause.message) != std::string::npos;
}

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string duration_text(TimeUs us) {
  const std::int64_t ms = std::max<std::int64_t>(us, 0) / 1'000;
  if (ms < 10'000) return std::to_string(ms) + " ms";
  if (ms < 120'000) return std::to_string(ms / 1'000) + " s";
  if (ms < 7'200'000) return std::to_string(ms / 60'000) + " min";
  return std::to_string(ms / 3'600'000) + " h";
}

bool is_ending(const RunRow& row) { return !is_ended(row.status) && !row.reason.empty(); }

bool is_ending(const RunState& state) { return !is_ended(state.status) && state.ending.has_value(); }

}  // namespace cairn
