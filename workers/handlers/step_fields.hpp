// What handlers read of a step's data and put on record. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "workers/handlers/handler.hpp"

namespace cairn {

// A member that is a text; "" if it is none, or there is no object.
std::string text_of(const Json& object, const char* name);

// A channel that the handler reads; `otherwise` if it is absent or null.
Json channel(const StepInput& input, const char* name, Json otherwise = nullptr);

Record record(RecordKind kind, const Json& fields);

}  // namespace cairn
