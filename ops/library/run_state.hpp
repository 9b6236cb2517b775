// The state of a run as the API's document has it. Pure functions, safe from any thread.
#pragma once

#include "ops/library/library.hpp"

namespace cairn::library {

// Throws Unavailable: the document has no status.
bool has_ended(const Json& state);

}  // namespace cairn::library
