// JSON Schema (2020-12 and draft 7) for inputs, outputs, answers and model replies, by the valijson library. A null
// schema allows everything. Pure functions, safe from any thread.
#pragma once

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

// Refuses `invalid`: a schema that cannot be used: a reference out of the document or in a circle on one value, more
// than 1,000 levels, a pattern that is no regular expression or has more than 256 bytes, a keyword that cannot be
// checked (schema_dialect.hpp).
Status check_schema(const Json& schema);

// Refuses `invalid`: a schema that cannot be used, or a value that does not fit it; names the place, what was expected
// there and what was found. Keywords that cannot be checked say nothing. Also `invalid`: a check of more than 2 s of
// processor time, a key of more than 1,024 bytes.
Status check_value(const Json& schema, const Json& value);

// Whether the value fits. Refuses as check_value() otherwise: a check that is given up says nothing of the value.
Result<bool> fits_schema(const Json& schema, const Json& value);

}  // namespace cairn
