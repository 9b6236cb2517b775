#include "engine/event_types.hpp"

namespace cairn {
namespace {

EventType type_of_body(const Record& record) {
  const auto kind = static_cast<std::int16_t>(record.kind);
  return {static_cast<std::int16_t>(first_record + kind), record_version, to_string(record.kind)};
}
template <class Body>
EventType type_of_body(const Body&) {
  return event_type_of<Body>;
}

// The body type with that number; nothing if there is none.
template <class... Bodies>
std::optional<EventType> type_in(const std::variant<Bodies...>*, std::int16_t number) {
  std::optional<EventType> type;
  const auto compare = [&]<class Body>(const Body*) {
    if constexpr (!std::is_same_v<Body, Record>)
      if (event_type_of<Body>.number == number) type = event_type_of<Body>;
  };
  (compare(static_cast<const Bodies*>(nullptr)), ...);
  return type;
}

}  // namespace

EventType event_type(const EventBody& body) {
  return std::visit([](const auto& one) { return type_of_body(one); }, body);
}

std::string_view type_of(const EventBody& body) { return event_type(body).name; }

std::optional<std::string_view> event_type_name(std::int16_t number) {
  const std::optional<EventType> type = event_type_numbered(number);
  return type ? std::optional(type->name) : std::nullopt;
}

std::optional<EventType> event_type_numbered(std::int16_t number) {
  if (const auto kind = record_kind(number)) return EventType{number, record_version, to_string(*kind)};
  return type_in(static_cast<const EventBody*>(nullptr), number);
}

std::optional<RecordKind> record_kind(std::int16_t number) {
  const int kind = number - first_record;
  if (kind < 0 || kind > static_cast<int>(RecordKind::tool_called)) return std::nullopt;
  return static_cast<RecordKind>(kind);
}

}  // namespace cairn
