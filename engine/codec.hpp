// Events to bytes and back. The bytes are what is hashed and stored; a shipped (type, version) never changes, and
// golden files hold each. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/event.hpp"
#include "engine/result.hpp"

namespace cairn {

// A history that cannot be what it claims to be: an event that cannot follow, a payload that is no event.
// Stops that run, not the process. The one exception type of ours.
class CorruptHistory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct EventType {
  std::int16_t number = 0;   // as stored; numbers are never used again
  std::int16_t version = 0;  // as written by this program
  std::string_view name;     // "step_succeeded"
};

EventType event_type(const EventBody& body);

// Nothing for a number of a newer program.
std::optional<std::string_view> event_type_name(std::int16_t number);

// The payload: one JSON object, without the envelope.
std::string encode_payload(const EventBody& body);

// Refuses `unsupported` for an unknown type or version, `corrupt` for a payload that is not one of that type. The
// inside of a JsonText is not looked at; whoever reads it (parse_stored) finds out.
Result<EventBody> decode_payload(std::int16_t type, std::int16_t version, std::string_view payload);

// One line of `cairn events --json`: run, seq, type, at, step, actor, then the payload's own fields.
Json event_json(const RunId& run, const Event& event);

}  // namespace cairn
