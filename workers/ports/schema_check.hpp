// JSON Schema (draft 7) for answers and model replies, by the valijson library. Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>

#include "engine/json.hpp"

namespace cairn {

// One sentence naming the place and what was expected there and found; nothing if the value fits. A null schema
// allows everything.
std::optional<std::string> schema_fault(const Json& schema, const Json& value);

// One sentence if the schema itself cannot be used.
std::optional<std::string> schema_is_broken(const Json& schema);

}  // namespace cairn
