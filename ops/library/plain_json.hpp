// JSON that comes from a program: its type holds more than JSON does, and what is more would change without a word
// when it is written. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "ops/library/library.hpp"

namespace cairn::library {

// The first thing in a value that JSON has not: text that is no UTF-8, a number that is not finite, bytes. "": none.
std::string beyond_json(const Json& value);

}  // namespace cairn::library
