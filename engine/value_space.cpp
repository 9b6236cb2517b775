#include "engine/value_space.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "engine/references.hpp"

namespace cairn {
namespace {

std::uint8_t kind_of_value(const Json& value) {
  if (value.is_null()) return JsonKinds::null;
  if (value.is_boolean()) return JsonKinds::boolean;
  if (value.is_number()) return JsonKinds::number;
  if (value.is_string()) return JsonKinds::text;
  if (value.is_array()) return JsonKinds::list;
  return value.is_object() ? JsonKinds::object : JsonKinds::any;
}

std::uint8_t kind_of_type(const Json& type) {
  static const std::array<std::pair<std::string_view, std::uint8_t>, 7> known = {{{"null", JsonKinds::null},
                                                                                  {"boolean", JsonKinds::boolean},
                                                                                  {"integer", JsonKinds::number},
                                                                                  {"number", JsonKinds::number},
                                                                                  {"string", JsonKinds::text},
                                                                                  {"array", JsonKinds::list},
                                                                                  {"object", JsonKinds::object}}};
  if (!type.is_string()) return JsonKinds::any;
  const auto& word = type.get_ref<const std::string&>();
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == word; });
  return found == known.end() ? JsonKinds::any : found->second;
}

std::uint8_t with_kinds(std::uint8_t one, std::uint8_t other) { return static_cast<std::uint8_t>(one | other); }
std::uint8_t common_kinds(std::uint8_t one, std::uint8_t other) { return static_cast<std::uint8_t>(one & other); }

std::uint8_t kinds_of_types(const Json& types) {
  if (!types.is_array()) return kind_of_type(types);
  std::uint8_t kinds = 0;
  for (const Json& type : types) kinds = with_kinds(kinds, kind_of_type(type));
  return kinds;
}

std::uint8_t kinds_of_schemas(const Json& schemas, bool are_all_met) {
  if (!schemas.is_array() || schemas.empty()) return JsonKinds::any;
  std::uint8_t kinds = are_all_met ? JsonKinds::any : std::uint8_t{0};
  for (const Json& schema : schemas) {
    const std::uint8_t inner = space_of_schema(schema).kinds;
    kinds = are_all_met ? common_kinds(kinds, inner) : with_kinds(kinds, inner);
  }
  return kinds;
}

std::optional<std::vector<Json>> listed_values(const Json& schema) {
  if (schema.contains("const")) {
    std::vector<Json> only;
    only.push_back(schema["const"]);
    return only;
  }
  if (!schema.contains("enum") || !schema["enum"].is_array()) return std::nullopt;
  return std::vector<Json>(schema["enum"].begin(), schema["enum"].end());
}

}  // namespace

namespace {

bool is_above(const Json& schema, const char* low, const char* high) {
  return schema.contains(low) && schema.contains(high) && schema[low].is_number() && schema[high].is_number() &&
         schema[low] > schema[high];
}

// A member that must be there and that nothing allows.
bool asks_for_what_it_forbids(const Json& schema) {
  const bool is_closed = schema.value("additionalProperties", Json()) == false && !schema.contains("patternProperties");
  const Json required = schema.value("required", Json());
  if (!is_closed || !required.is_array()) return false;
  const Json properties = schema.value("properties", Json::object());
  return std::any_of(required.begin(), required.end(), [&properties](const Json& name) {
    return name.is_string() && properties.is_object() && !properties.contains(name.get_ref<const std::string&>());
  });
}

// The kinds of which bounds that contradict each other leave a value.
std::uint8_t kinds_within_bounds(const Json& schema) {
  std::uint8_t none = 0;
  if (is_above(schema, "minimum", "maximum")) none = with_kinds(none, JsonKinds::number);
  if (is_above(schema, "minLength", "maxLength")) none = with_kinds(none, JsonKinds::text);
  if (is_above(schema, "minItems", "maxItems")) none = with_kinds(none, JsonKinds::list);
  if (is_above(schema, "minProperties", "maxProperties") || asks_for_what_it_forbids(schema))
    none = with_kinds(none, JsonKinds::object);
  return static_cast<std::uint8_t>(JsonKinds::any & ~none);
}

}  // namespace

// Without kinds where nothing fits.
static ValueSpace strict_space(const Json& schema) {
  ValueSpace space;
  if (!schema.is_object() || schema.contains("$ref") || schema.contains("$dynamicRef")) return space;
  if (schema.contains("type")) space.kinds = common_kinds(space.kinds, kinds_of_types(schema["type"]));
  if (schema.contains("allOf")) space.kinds = common_kinds(space.kinds, kinds_of_schemas(schema["allOf"], true));
  for (const char* key : {"anyOf", "oneOf"})
    if (schema.contains(key)) space.kinds = common_kinds(space.kinds, kinds_of_schemas(schema[key], false));
  space.kinds = common_kinds(space.kinds, kinds_within_bounds(schema));
  space.values = listed_values(schema);
  if (space.values) {
    std::uint8_t kinds = 0;
    std::erase_if(*space.values,
                  [&](const Json& value) { return common_kinds(space.kinds, kind_of_value(value)) == 0; });
    for (const Json& value : *space.values) kinds = with_kinds(kinds, kind_of_value(value));
    space.kinds = kinds;
  }
  return space;
}

ValueSpace space_of_schema(const Json& schema) {
  ValueSpace space = strict_space(schema);
  return space.kinds == 0 ? ValueSpace{} : space;  // nothing fits it: that is another fault
}

bool is_never_met(const Json& schema, std::uint8_t by) {
  return schema == false || (strict_space(schema).kinds & by) == 0;
}

ValueSpace space_of_setting(const Json& setting) {
  ValueSpace space;
  if (setting.is_object() && setting.contains("$")) return space;
  if (!setting.is_string()) {
    space.kinds = kind_of_value(setting);
    if (setting.is_primitive()) space.values = std::vector<Json>(1, setting);
    return space;
  }
  const auto& text = setting.get_ref<const std::string&>();
  const bool is_marked = text.starts_with('$') && !text.starts_with("$$") && has_reference(setting);
  if (is_marked) return space;
  space.kinds = JsonKinds::text;
  const bool stands_for_itself = !text.starts_with('$') && text.find("{{") == std::string::npos;
  if (stands_for_itself) space.values = std::vector<Json>(1, setting);
  return space;
}

ValueSpace either_of(ValueSpace one, const ValueSpace& other) {
  one.kinds = with_kinds(one.kinds, other.kinds);
  if (!one.values || !other.values)
    one.values.reset();
  else
    one.values->insert(one.values->end(), other.values->begin(), other.values->end());
  return one;
}

std::string kinds_in_words(std::uint8_t kinds) {
  static const std::array<std::pair<std::uint8_t, std::string_view>, 6> words = {{{JsonKinds::boolean, "true or false"},
                                                                                  {JsonKinds::number, "a number"},
                                                                                  {JsonKinds::text, "a text"},
                                                                                  {JsonKinds::list, "a list"},
                                                                                  {JsonKinds::object, "an object"},
                                                                                  {JsonKinds::null, "null"}}};
  std::string text;
  for (const auto& [kind, word] : words) {
    if (common_kinds(kinds, kind) == 0) continue;
    text += (text.empty() ? "" : " or ") + std::string(word);
  }
  return text;
}

}  // namespace cairn
