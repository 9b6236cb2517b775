// The dialect of schemas: JSON Schema 2020-12 in the words of draft 7, which the library checks by. A schema in the
// older words stays as it is. Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>

#include "engine/json.hpp"

namespace cairn {

struct SchemaInDraft7 {
  Json schema;
  // The first keyword that has no such words, as a clause: it was left out, and says nothing of a value.
  std::optional<std::string> left_out;
  // Keywords that are said twice in draft 7 are nested so deep that it would grow beyond a bound: it is not whole.
  bool is_too_large = false;
};

// Knows $defs, $anchor, $ref with others next to it, prefixItems, dependentRequired, dependentSchemas, minContains of 0
// and 1, $dynamicRef to an anchor that occurs once, and unevaluatedProperties and unevaluatedItems where the schemas
// next to them evaluate the same for every value. Leaves out the others: maxContains, $dynamicRef, minContains.
// Source: json-schema.org/draft/2020-12, sections 10 and 11 of core, 6.4 of validation.
SchemaInDraft7 in_draft_7(const Json& schema);

}  // namespace cairn
