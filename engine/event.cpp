#include "engine/event.hpp"

#include <algorithm>
#include <array>

namespace cairn {
namespace {

constexpr std::array<std::string_view, 5> run_status_words{"running", "paused", "done", "failed", "aborted"};
constexpr std::array<std::string_view, 5> goal_status_words{"planned", "open", "succeeded", "failed", "skipped"};
constexpr std::array<std::string_view, 11> record_words{
    "decision_proposed",     "decision_rewritten", "decision_enforced",   "decomposition_failed",
    "verification_recorded", "replan_decided",     "contingency_matched", "loop_detected",
    "guardrail_blocked",     "model_called",       "tool_called"};

// Nothing for a word that none of them has.
template <class Enum, std::size_t n>
std::optional<Enum> enum_in(const std::array<std::string_view, n>& words, std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

}  // namespace

std::string_view to_string(RunStatus status) { return run_status_words.at(static_cast<std::size_t>(status)); }
std::string_view to_string(GoalStatus status) { return goal_status_words.at(static_cast<std::size_t>(status)); }
std::string_view to_string(RecordKind kind) { return record_words.at(static_cast<std::size_t>(kind)); }

std::optional<RunStatus> parse_run_status(std::string_view word) { return enum_in<RunStatus>(run_status_words, word); }
std::optional<GoalStatus> parse_goal_status(std::string_view word) {
  return enum_in<GoalStatus>(goal_status_words, word);
}

Json cause_json(const CauseOfFailure& cause) {
  return {{"error", cause.error},
          {"message", cause.message},
          {"node", cause.node},
          {"step", cause.step},
          {"attempt", cause.attempt}};
}

std::optional<CauseOfFailure> read_cause(const Json& cause) {
  if (!cause.is_object()) return std::nullopt;
  try {
    return CauseOfFailure{cause.at("error").get<std::string>(), cause.at("message").get<std::string>(),
                          cause.at("node").get<std::string>(), cause.at("step").get<StepId>(),
                          cause.at("attempt").get<std::int32_t>()};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace cairn
