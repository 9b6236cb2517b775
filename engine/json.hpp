// JSON values in and out of the engine: UTF-8, integers of 64 bits, IEEE doubles, objects in key order.
// Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/json_value.hpp"
#include "engine/result.hpp"

namespace cairn {

inline constexpr std::size_t json_bytes_max = 16u * 1024 * 1024;
inline constexpr int json_depth_max = 200;
// The bound of a value composed of references: two values of the largest size, side by side.
inline constexpr std::size_t composed_bytes_max = 2 * json_bytes_max;

// The only entrance for JSON text from outside. `what` names the text in the sentence of a refusal.
// Refuses `invalid`: not JSON, not UTF-8, an integer beyond 64 bits, a key twice in one object, NUL in a string, deeper
// than `json_depth_max`; `limit`: longer than `json_bytes_max`.
Result<Json> parse_json(std::string_view text, std::string_view what);

// Text that the program itself wrote (stored payloads). Throws CorruptHistory if it is not JSON.
Json parse_stored(std::string_view text);
// The same for what must be an object: a patch, outputs.
Json parse_stored_object(std::string_view text);

// Compact, keys sorted: equal values give equal bytes. REQUIRES: every string is UTF-8.
std::string canonical(const Json& value);
// Adds the same text to `text`.
void append_canonical(std::string& text, const Json& value);
void append_canonical(std::string& text, const std::string& value);

// At most `bytes_max` bytes of the value's text, cut with "..." on a UTF-8 boundary: for sentences and tables.
std::string excerpt(const Json& value, std::size_t bytes_max);

// The levels of arrays and objects: 0 for a text or a number.
int depth_of(const Json& value);

// The bound of one composed value, so that references cannot multiply what they refer to.
class CompositionBound {
 public:
  // `part` comes to stand under `level` arrays and objects. Refuses `limit`: with it the whole takes more than
  // composed_bytes_max (of texts and keys; 8 for any other value), or lies deeper than json_depth_max.
  Status add(const Json& part, int level);

 private:
  bool take(const Json& part, int level);
  std::size_t left_ = composed_bytes_max;
};

}  // namespace cairn
