// Fields of a step's data and records of its facts, as handlers read and write them. Pure functions, safe from any
// thread.
#pragma once

#include <string>

#include "workers/handlers/handler.hpp"

namespace cairn {

// The member's text; "" if it is no text, or `object` no object.
std::string text_of(const Json& object, const char* name);

// The channel's value; `otherwise` if it is absent or null.
Json channel(const StepInput& input, const char* name, Json otherwise = nullptr);

Record record(RecordKind kind, const Json& fields);

}  // namespace cairn
