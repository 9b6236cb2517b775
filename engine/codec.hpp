// The codec of events: bodies to the bytes that are hashed and stored, and back. A shipped (type, version) never
// changes its bytes or their meaning, and golden files hold each; an older version is lifted to today's body while it
// is decoded (upcaster.hpp). Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/event.hpp"
#include "engine/result.hpp"
#include "engine/upcaster.hpp"

namespace cairn {

// The payload: one JSON object, without the envelope, in today's version of the body's type.
std::string encode_payload(const EventBody& body);

// Refuses `unsupported` for an unknown type or version, `corrupt` for a payload that is not one of that type. The
// inside of a JsonText is not read; parse_stored finds a fault there when it is.
Result<EventBody> decode_payload(std::int16_t type, std::int16_t version, std::string_view payload,
                                 Upcasters upcasters = shipped_upcasters());

// The few fields of a `step_succeeded` that counting needs.
struct SucceededStep {
  std::string_view node;  // inside the payload
  TimeUs started_at = 0;
  bool is_reused = false;
};
// Reads them without decoding the rest: a patch may be large. Nothing: the payload is not written as this program
// writes it, or the name has characters that JSON escapes; decode_payload() reads it then.
std::optional<SucceededStep> read_succeeded(std::string_view payload);

}  // namespace cairn
