// Small logic as data, for graphs without C++: whether a condition holds, and what is computed from values. No
// language: an operation is an object with one key, and what it works on are values, not further operations, so that
// what a step does can be read off its settings. Pure functions but for the clock of LogicBounds, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph_check.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/handlers/logic_bounds.hpp"

namespace cairn {

// Conditions:
//   {"eq" | "ne": [a, b]}              equal JSON; 1 and 1.0 are equal
//   {"lt" | "le" | "gt" | "ge": [a, b]}  two numbers, or two texts (by their bytes: right for RFC 3339 times)
//   {"in": [value, list]}              the list, or the object as a key, or the text as a part of it, has the value
//   {"exists": value}                  it is not null
//   {"matches": [text, pattern]}       a regular expression (ECMAScript, at most 256 bytes) is found in it
//   {"and" | "or": [CONDITION, ...]}   {"not": CONDITION}
// Refuses `invalid`: another form, values that cannot be compared, or a search that is given up; `limit`: beyond the
// bounds.
Result<bool> holds(const Json& condition, LogicBounds& bounds);

// Operations:
//   {"sum" | "product": [n, ...]}   {"difference" | "quotient": [a, b]}   integers stay integers where they fit
//   {"count": list | object | text}        elements, members, bytes
//   {"min" | "max": [a, ...]}              of numbers or of texts
//   {"round": [n, digits]}                 half away from zero, by the shortest digits of n; 0 digits give an integer
//   {"concat": [list, ...] | [text, ...]}
//   {"join": [list, separator]}            a text; an element that is no text stands as JSON
//   {"sort": list, "by"?: POINTER, "descending"?: true}   numbers before texts; equal ones keep their order
//   {"unique": list, "by"?: POINTER}       the first of equal ones
//   {"group": list, "by": POINTER}         {TEXT: [element, ...]}
// A POINTER is a JSON Pointer into each element. Refuses `invalid`: another form, a value of another kind, an element
// without the member, a division by zero, a number beyond 64 bits; `limit`: beyond the bounds.
Result<Json> compute(const Json& operation, LogicBounds& bounds);

// One value for each element of a list: `take` is a POINTER into it, or {NAME: POINTER} for an object of several;
// `otherwise`, if not null, stands for what an element lacks. `where`, if not null, keeps the elements that fit it:
// {"at": POINTER, CONDITION: value}, as {"at": "/total", "gt": 10}; {"at": POINTER} alone keeps those that have it.
struct MapSettings {
  Json take = "";
  Json otherwise = nullptr;
  Json where = nullptr;
};
// Refuses `invalid`; `limit`: beyond the bounds.
Result<Json> map_list(const Json& list, const MapSettings& how, LogicBounds& bounds);

// The same forms before the values are known: what stands for a value, or for a whole condition or operation, may be a
// reference ("$channel"). Refuse `invalid`: another form, an unknown name, a constant of a kind that its place never
// takes, a constant pattern that is no regular expression of at most 256 bytes.
Status check_condition(const Json& condition);
Status check_operation(const Json& operation);
// The same for settings of map_list(); null: not set.
Status check_map(const Json& take, const Json& where);

// The findings in the text of a condition, an operation or a `where`: the parts that must be of some kinds, and
// sentences about what is likely meant otherwise. REQUIRES: it passed its check.
struct LogicForms {
  std::vector<ValuePart> parts = {};
  std::vector<std::string> doubts = {};

  void add(const Result<std::vector<ValuePart>>& more, const std::vector<std::string>& more_doubts) {
    if (more) parts.insert(parts.end(), more->begin(), more->end());
    doubts.insert(doubts.end(), more_doubts.begin(), more_doubts.end());
  }
  void add(const LogicForms& more) { add(more.parts, more.doubts); }
};
LogicForms forms_of_condition(const Json& condition);
LogicForms forms_of_operation(const Json& operation);
LogicForms forms_of_where(const Json& where);

// The bits of JsonKinds (value_space.hpp) that the results of an operation may be of, where it is known.
std::uint8_t kinds_of_operation(const Json& operation);

}  // namespace cairn
