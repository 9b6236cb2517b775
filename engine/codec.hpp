// The codec of events: bodies to the bytes that are hashed and stored, and back. A shipped (type, version) never
// changes its bytes or their meaning, and golden files hold each; an older version is lifted to today's body while it
// is decoded (upcaster.hpp). Pure functions, safe from any thread.
#pragma once

#include <cstdint>
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

}  // namespace cairn
