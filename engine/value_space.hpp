// The values that a place may hold, as far as a graph shows before it runs: the kinds of JSON, and the values
// themselves where a schema lists them. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/json_value.hpp"

namespace cairn {

// Bits.
struct JsonKinds {
  static constexpr std::uint8_t null = 1, boolean = 2, number = 4, text = 8, list = 16, object = 32;
  static constexpr std::uint8_t any = 63;
};

struct ValueSpace {
  std::uint8_t kinds = JsonKinds::any;
  std::optional<std::vector<Json>> values = {};  // it is one of these; nothing: others, too
};

// The values that may fit the schema: all of them and, where a keyword is not understood here, more.
ValueSpace space_of_schema(const Json& schema);

// No value of these kinds fits it, as far as is understood here.
bool is_never_met(const Json& schema, std::uint8_t by = JsonKinds::any);

// The values of a setting when its references are replaced.
ValueSpace space_of_setting(const Json& setting);

// Holds what either may hold.
ValueSpace either_of(ValueSpace one, const ValueSpace& other);

// "a text or null"; REQUIRES: at least one.
std::string kinds_in_words(std::uint8_t kinds);

}  // namespace cairn
