// JSON held against a schema of an OpenAPI document. References and `discriminator` are followed, and structures
// walked, so that a sentence names the place of a fault; each value by itself is checked as check_value() does. Pure
// functions, safe from any thread.
#pragma once

#include <string>

#include "engine/json.hpp"

namespace cairn::program {

// The part of the document that a "$ref" leads to, or the node itself.
const Json& resolved(const Json& document, const Json& node);

// The sentence of the first fault; "": the value fits.
std::string schema_fault(const Json& document, const Json& schema, const Json& value, const std::string& place = "");

}  // namespace cairn::program
