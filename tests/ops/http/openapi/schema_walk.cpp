#include "tests/ops/http/openapi/schema_walk.hpp"

#include <algorithm>

#include "workers/schemas/schema_check.hpp"

namespace cairn::program {

const Json& resolved(const Json& document, const Json& node) {
  const Json* at = &node;
  while (at->is_object() && at->contains("$ref"))
    at = &document.at(Json::json_pointer(at->at("$ref").get<std::string>().substr(1)));
  return *at;
}

namespace {

// The schema that the value itself says it has.
const Json& chosen(const Json& document, const Json& schema, const Json& value) {
  const Json& by = schema.at("discriminator");
  const Json said = value.is_object() ? value.value(by.at("propertyName").get<std::string>(), Json()) : Json();
  const Json& mapping = by.at("mapping");
  static const Json nothing = false;
  if (!said.is_string() || !mapping.contains(said.get<std::string>())) return nothing;
  return resolved(document, Json{{"$ref", mapping.at(said.get<std::string>())}});
}

// Without what is walked: the members' own schemas.
Json shallow(Json schema) {
  for (const char* walked : {"allOf", "anyOf", "oneOf", "items", "description", "default"}) schema.erase(walked);
  if (schema.contains("properties"))
    for (Json& member : schema["properties"]) member = true;
  if (schema.contains("patternProperties"))
    for (Json& member : schema["patternProperties"]) member = true;
  if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
    schema["additionalProperties"] = true;
  return schema;
}

// The schema of a member of an object; null: any value.
const Json* member_schema(const Json& schema, const std::string& name) {
  if (schema.contains("properties") && schema["properties"].contains(name)) return &schema["properties"][name];
  if (schema.contains("patternProperties"))
    for (const auto& [pattern, member] : schema["patternProperties"].items()) return &member;
  if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
    return &schema["additionalProperties"];
  return nullptr;
}

std::string fault_of_any(const Json& document, const Json& schemas, const Json& value, const std::string& place) {
  std::string faults;
  for (const Json& schema : schemas) {
    const std::string fault = schema_fault(document, schema, value, place);
    if (fault.empty()) return "";
    faults += (faults.empty() ? "" : " Or: ") + fault;
  }
  return faults;
}

std::string fault_of_one(const Json& document, const Json& schemas, const Json& value, const std::string& place) {
  const auto fits = [&](const Json& schema) { return schema_fault(document, schema, value, place).empty(); };
  if (std::count_if(schemas.begin(), schemas.end(), fits) <= 1) return fault_of_any(document, schemas, value, place);
  return "At \"" + place + "\": Expected a value for one of the alternatives, but it fits several.";
}

std::string fault_inside(const Json& document, const Json& schema, const Json& value, const std::string& place) {
  if (schema.contains("allOf"))
    for (const Json& part : schema["allOf"])
      if (std::string fault = schema_fault(document, part, value, place); !fault.empty()) return fault;
  if (schema.contains("anyOf"))
    if (std::string fault = fault_of_any(document, schema["anyOf"], value, place); !fault.empty()) return fault;
  if (schema.contains("oneOf"))
    if (std::string fault = fault_of_one(document, schema["oneOf"], value, place); !fault.empty()) return fault;
  if (value.is_array() && schema.contains("items"))
    for (std::size_t at = 0; at < value.size(); ++at)
      if (std::string fault = schema_fault(document, schema["items"], value[at], place + "/" + std::to_string(at));
          !fault.empty())
        return fault;
  if (!value.is_object()) return "";
  for (const auto& [name, member] : value.items())
    if (const Json* of = member_schema(schema, name); of != nullptr)
      if (std::string fault = schema_fault(document, *of, member, place + "/" + name); !fault.empty()) return fault;
  return "";
}

}  // namespace

std::string schema_fault(const Json& document, const Json& given, const Json& value, const std::string& place) {
  const Json& named = resolved(document, given);
  const bool has_choice = named.is_object() && named.contains("discriminator");
  const Json& schema = has_choice ? chosen(document, named, value) : named;
  if (schema == true) return "";
  if (schema.is_object())
    if (std::string fault = fault_inside(document, schema, value, place); !fault.empty()) return fault;
  const Json own = schema.is_object() ? shallow(schema) : schema;
  if (own.is_object() && own.empty()) return "";
  const Status fits = check_value(own, value);
  return fits ? "" : "At \"" + place + "\": " + fits.error().message;
}

}  // namespace cairn::program
