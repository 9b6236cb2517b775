#include "workers/handlers/data_forms.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "engine/event.hpp"
#include "engine/value_space.hpp"

namespace cairn {
namespace {

using Parts = std::vector<ValuePart>;

constexpr std::uint8_t ordered = JsonKinds::number | JsonKinds::text;

enum class Form { numbers, two_numbers, number_and_digits, counted, ordered_list, alike, list_and_text, list };

const std::map<std::string, Form, std::less<>>& forms() {
  static const std::map<std::string, Form, std::less<>> table = {{"sum", Form::numbers},
                                                                 {"product", Form::numbers},
                                                                 {"difference", Form::two_numbers},
                                                                 {"quotient", Form::two_numbers},
                                                                 {"count", Form::counted},
                                                                 {"min", Form::ordered_list},
                                                                 {"max", Form::ordered_list},
                                                                 {"concat", Form::alike},
                                                                 {"join", Form::list_and_text},
                                                                 {"round", Form::number_and_digits},
                                                                 {"sort", Form::list},
                                                                 {"unique", Form::list},
                                                                 {"group", Form::list}};
  return table;
}

bool is_reference_object(const Json& value) { return value.is_object() && value.contains("$"); }

bool looks_like_operation(const Json& value) {
  if (!value.is_object() || is_reference_object(value)) return false;
  std::size_t operations = 0, others = 0;
  for (const auto& [key, of] : value.items()) {
    const bool is_beside = key == "by" || key == "descending";
    if (!is_beside) ++(forms().contains(key) ? operations : others);
  }
  return operations == 1 && others == 0;
}

constexpr const char* no_nesting = "operations do not nest; compute it in a step before";

Error wrong_form(const std::string& name, const std::string& wanted, const Json& found) {
  const std::string hint = looks_like_operation(found) ? std::string(": ") + no_nesting : "";
  return {Code::invalid, "Expected " + wanted + " for " + name + ", but found " + excerpt(found, 100) + hint + "."};
}

std::uint8_t kinds_of_setting(const Json& setting) { return space_of_setting(setting).kinds; }

bool may_be(const Json& setting, std::uint8_t kinds) { return (kinds_of_setting(setting) & kinds) != 0; }

// Each constant is of a kind that its place takes.
Result<Parts> fitting(const std::string& name, Parts parts) {
  for (const ValuePart& part : parts)
    if (!may_be(part.setting, part.kinds)) return wrong_form(name, kinds_in_words(part.kinds), part.setting);
  return parts;
}

Result<Parts> each_of(const std::string& name, const Json& list, std::uint8_t kinds, const std::string& of) {
  if (!may_be(list, JsonKinds::list)) return wrong_form(name, "a list of " + of, list);
  if (!list.is_array()) return Parts{{name, list, JsonKinds::list}};
  Parts parts;
  for (const Json& one : list) parts.push_back({name, one, kinds});
  return fitting(name, std::move(parts));
}

// Those that can be of one kind alone leave it to the others, too.
Result<Parts> alike_of(const std::string& name, const Json& list, std::uint8_t kinds, const std::string& of) {
  if (list.is_array() && list.empty()) return wrong_form(name, "at least one value", list);
  Result<Parts> parts = each_of(name, list, kinds, of);
  if (!parts || !list.is_array()) return parts;
  for (const Json& one : list) kinds = static_cast<std::uint8_t>(kinds & kinds_of_setting(one));
  if (kinds == 0) return wrong_form(name, of + " of one kind", list);
  for (ValuePart& part : *parts) part.kinds = kinds;
  return parts;
}

// REQUIRES: wanted.size() == 2.
Result<Parts> pair_of(const std::string& name, const Json& two, const std::vector<std::uint8_t>& wanted,
                      const std::string& in_words) {
  if (!may_be(two, JsonKinds::list)) return wrong_form(name, in_words, two);
  if (!two.is_array()) return Parts{{name, two, JsonKinds::list}};
  if (two.size() != 2) return wrong_form(name, in_words, two);
  return fitting(name, {{name, two[0], wanted[0]}, {name, two[1], wanted[1]}});
}

Result<Parts> rounding(const std::string& name, const Json& two) {
  const std::string in_words = "a number and how many digits, 0 to " + std::to_string(round_digits_max) + ",";
  Result<Parts> parts = pair_of(name, two, {JsonKinds::number, JsonKinds::number}, in_words);
  if (!parts || !two.is_array() || !two[1].is_number()) return parts;
  const bool is_usable = two[1].is_number_integer() && two[1] >= 0 && two[1] <= round_digits_max;
  return is_usable ? std::move(parts) : wrong_form(name, in_words, two);
}

Result<Parts> dividing(const std::string& name, const Json& two) {
  Result<Parts> parts = pair_of(name, two, {JsonKinds::number, JsonKinds::number}, "two numbers");
  const bool is_by_nothing = parts && name == "quotient" && two.is_array() && two[1].is_number() && two[1] == 0;
  return is_by_nothing ? wrong_form(name, "a divisor that is not 0", two) : std::move(parts);
}

Result<Parts> of_form(Form form, const std::string& name, const Json& value) {
  switch (form) {
    case Form::numbers:
      return each_of(name, value, JsonKinds::number, "numbers");
    case Form::two_numbers:
      return dividing(name, value);
    case Form::number_and_digits:
      return rounding(name, value);
    case Form::counted:
      return fitting(name, {{name, value, JsonKinds::list | JsonKinds::object | JsonKinds::text}});
    case Form::ordered_list:
      return alike_of(name, value, ordered, "numbers or texts");
    case Form::alike:
      return alike_of(name, value, JsonKinds::list | JsonKinds::text, "lists or texts");
    case Form::list_and_text:
      return pair_of(name, value, {JsonKinds::list, JsonKinds::text}, "a list and a separator");
    case Form::list:
      return fitting(name, {{name, value, JsonKinds::list}});
  }
  return Parts{};
}

std::string nested_in(const std::string& name, const Json& value) {
  return "Expected values for " + name + ", but " + excerpt(value, 100) + " stands for itself: " + no_nesting + ".";
}

bool is_order(const std::string& name) { return name == "lt" || name == "le" || name == "gt" || name == "ge"; }

}  // namespace

Result<std::vector<ValuePart>> parts_of_operation(const std::string& name, const Json& operation) {
  const Json& value = operation[name];
  if (name == "group" && !operation.contains("by"))
    return Error{Code::invalid,
                 "Expected a JSON Pointer as \"by\" for group, but found " + excerpt(operation, 100) + "."};
  Result<Parts> parts = of_form(forms().find(name)->second, name, value);
  const bool has_direction =
      !parts || !operation.contains("descending") || may_be(operation["descending"], JsonKinds::boolean);
  if (!has_direction) return wrong_form(name, "true or false as \"descending\"", operation["descending"]);
  return parts;
}

Result<std::vector<ValuePart>> parts_of_two(const std::string& name, const Json& a, const Json& b) {
  if (is_order(name)) return alike_of(name, Json::array({a, b}), ordered, "two numbers or two texts");
  if (name == "matches") return fitting(name, {{name, a, JsonKinds::text}, {name, b, JsonKinds::text}});
  if (name != "in") return Parts{};
  const std::uint8_t keyed = JsonKinds::object | JsonKinds::text;
  const bool takes_text = (kinds_of_setting(b) & ~keyed) == 0;
  return fitting(name, {{name, b, JsonKinds::list | keyed}, {name, a, takes_text ? JsonKinds::text : JsonKinds::any}});
}

std::vector<std::string> doubts_about_operation(const std::string& name, const Json& value) {
  if (name == "count" && looks_like_operation(value)) return {nested_in(name, value)};
  const auto form = forms().find(name);
  const bool is_mixed =
      form != forms().end() && (form->second == Form::number_and_digits || form->second == Form::list_and_text);
  if (!is_mixed || value.is_array()) return {};
  const std::string wanted = name == "round" ? "[NUMBER, DIGITS]" : "[LIST, SEPARATOR]";
  return {"Expected " + wanted + " for " + name + ", but " + excerpt(value, 100) + " has to hold both."};
}

std::vector<std::string> doubts_about_two(const std::string& name, const Json& a, const Json& b) {
  std::vector<std::string> doubts;
  if (name != "eq" && name != "ne" && name != "in") return doubts;
  for (const Json* one : {&a, &b})
    if (looks_like_operation(*one)) doubts.push_back(nested_in(name, *one));
  return doubts;
}

}  // namespace cairn
