#include "engine/event.hpp"

#include <algorithm>
#include <array>

#include "engine/event_types.hpp"

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

EventType type_of_body(const Record& record) {
  const auto kind = static_cast<std::size_t>(record.kind);
  return {static_cast<std::int16_t>(first_record + static_cast<std::int16_t>(kind)), record_version,
          record_words.at(kind)};
}
template <class Body>
EventType type_of_body(const Body&) {
  return event_type_of<Body>;
}

// The name of the body type with that number; nothing if there is none.
template <class... Bodies>
std::optional<std::string_view> name_in(const std::variant<Bodies...>*, std::int16_t number) {
  std::optional<std::string_view> name;
  const auto compare = [&]<class Body>(const Body*) {
    if constexpr (!std::is_same_v<Body, Record>)
      if (event_type_of<Body>.number == number) name = event_type_of<Body>.name;
  };
  (compare(static_cast<const Bodies*>(nullptr)), ...);
  return name;
}

}  // namespace

std::string_view to_string(RunStatus status) { return run_status_words.at(static_cast<std::size_t>(status)); }
std::string_view to_string(GoalStatus status) { return goal_status_words.at(static_cast<std::size_t>(status)); }
std::string_view to_string(RecordKind kind) { return record_words.at(static_cast<std::size_t>(kind)); }

std::optional<RunStatus> parse_run_status(std::string_view word) { return enum_in<RunStatus>(run_status_words, word); }
std::optional<GoalStatus> parse_goal_status(std::string_view word) {
  return enum_in<GoalStatus>(goal_status_words, word);
}

EventType event_type(const EventBody& body) {
  return std::visit([](const auto& one) { return type_of_body(one); }, body);
}

std::string_view type_of(const EventBody& body) { return event_type(body).name; }

std::optional<std::string_view> event_type_name(std::int16_t number) {
  if (const auto kind = record_kind(number)) return to_string(*kind);
  return name_in(static_cast<const EventBody*>(nullptr), number);
}

std::optional<RecordKind> record_kind(std::int16_t number) {
  const int kind = number - first_record;
  if (kind < 0 || kind >= static_cast<int>(record_words.size())) return std::nullopt;
  return static_cast<RecordKind>(kind);
}

}  // namespace cairn
