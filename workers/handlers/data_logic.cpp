#include "workers/handlers/data_logic.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/event.hpp"
#include "engine/nearest.hpp"
#include "engine/references.hpp"
#include "engine/value_space.hpp"
#include "workers/handlers/data_forms.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn {
namespace {

Error expected(const std::string& wanted, const Json& found) {
  return {Code::invalid, "Expected " + wanted + ", but found " + excerpt(found, 100) + "."};
}

// The only key of an operation besides those that go with it.
Result<std::string> name_of(const Json& operation, std::initializer_list<std::string_view> others) {
  std::string name;
  if (!operation.is_object()) return expected("an operation as an object", operation);
  for (const auto& [key, value] : operation.items()) {
    if (std::find(others.begin(), others.end(), key) != others.end()) continue;
    if (!name.empty()) return expected("one operation", operation);
    name = key;
  }
  if (name.empty()) return expected("an operation", operation);
  return name;
}

bool are(const Json& list, std::size_t size) { return list.is_array() && list.size() == size; }

// Calls `use` with the integer in the type that holds it.
template <class Use>
auto with_integer(const Json& value, const Use& use) {
  return value.is_number_unsigned() ? use(value.get<std::uint64_t>()) : use(value.get<std::int64_t>());
}

template <class Use>
auto with_integers(const Json& a, const Json& b, const Use& use) {
  return with_integer(a, [&](auto one) { return with_integer(b, [&](auto other) { return use(one, other); }); });
}

// Negative, 0, positive. The library takes an unsigned number next to a signed one for a signed one. REQUIRES: numbers.
int order_of(const Json& a, const Json& b) {
  if (!a.is_number_integer() || !b.is_number_integer()) return a == b ? 0 : (a < b ? -1 : 1);
  return with_integers(
      a, b, [](auto one, auto other) { return std::cmp_equal(one, other) ? 0 : (std::cmp_less(one, other) ? -1 : 1); });
}

bool same_json(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return order_of(a, b) == 0;
  if (a.type() != b.type() || !a.is_structured()) return a == b;
  if (a.size() != b.size()) return false;
  if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), same_json);
  for (const auto& [key, member] : a.items())
    if (const auto other = b.find(key); other == b.end() || !same_json(member, *other)) return false;
  return true;
}

// Negative, 0, positive. Refuses what has no order.
Result<int> compared(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return order_of(a, b);
  if (a.is_string() && b.is_string()) return a.get_ref<const std::string&>().compare(b.get_ref<const std::string&>());
  return expected("two numbers or two texts to compare", Json::array({a, b}));
}

// Takes a time that grows with both together, whatever stands in them, as std::string::find() does not.
bool has_part(const std::string& whole, const std::string& part) {
  return memmem(whole.data(), whole.size(), part.data(), part.size()) != nullptr;
}

Result<bool> is_in(const Json& value, const Json& whole, LogicBounds& bounds) {
  if (whole.is_array()) {
    if (Status may = bounds.count(whole.size()); !may) return may.error();
    return std::any_of(whole.begin(), whole.end(), [&value](const Json& one) { return same_json(one, value); });
  }
  if (whole.is_object() && value.is_string()) return whole.contains(value.get_ref<const std::string&>());
  if (whole.is_string() && value.is_string())
    return has_part(whole.get_ref<const std::string&>(), value.get_ref<const std::string&>());
  if (whole.is_string() || whole.is_object()) return expected("a text to look for in a text or an object", value);
  return expected("a list, an object or a text to look in", whole);
}

Result<bool> matches(const Json& text, const Json& pattern, LogicBounds& bounds) {
  if (!text.is_string() || !pattern.is_string()) return expected("a text and a pattern", Json::array({text, pattern}));
  const Result<bool> does_fit = fits_schema({{"pattern", pattern}}, text);
  if (Status may = bounds.check_clock(); !may) return may.error();  // it may have been given up for that
  return does_fit;
}

Result<bool> holds_of_two(const std::string& name, const Json& a, const Json& b, LogicBounds& bounds) {
  const bool is_long = a.is_structured() || b.is_structured();
  if (Status may = is_long ? bounds.count_long() : bounds.count(); !may) return may.error();
  if (name == "eq") return same_json(a, b);
  if (name == "ne") return !same_json(a, b);
  if (name == "in") return is_in(a, b, bounds);
  if (name == "matches") return matches(a, b, bounds);
  const Result<int> order = compared(a, b);
  if (!order) return order.error();
  if (name == "lt") return *order < 0;
  if (name == "le") return *order <= 0;
  if (name == "gt") return *order > 0;
  return *order >= 0;
}

const std::vector<std::string>& names_of_two() {
  static const std::vector<std::string> names = {"eq", "ne", "lt", "le", "gt", "ge", "in", "matches"};
  return names;
}

bool is_of_two(const std::string& name) {
  return std::find(names_of_two().begin(), names_of_two().end(), name) != names_of_two().end();
}

Result<bool> holds_of_all(const Json& conditions, bool until, LogicBounds& bounds) {
  if (!conditions.is_array()) return expected("a list of conditions", conditions);
  for (const Json& condition : conditions) {
    const Result<bool> one = holds(condition, bounds);
    if (!one || *one == until) return one;
  }
  return !until;
}

// --- numbers ---------------------------------------------------------------------------------------------------------

Result<Json> number(double value, const Json& from) {
  if (std::isfinite(value)) return Json(value);
  return expected("a result that is a number", from);
}

// Integers stay integers; what does not fit 64 bits is refused rather than made less exact.
Result<Json> folded(const Json& numbers, bool (*whole)(std::int64_t, std::int64_t, std::int64_t*),
                    double (*real)(double, double), std::int64_t begin) {
  if (!numbers.is_array()) return expected("a list of numbers", numbers);
  Json sum = begin;
  for (const Json& next : numbers) {
    if (!next.is_number()) return expected("a number", next);
    std::int64_t exact = 0;
    if (sum.is_number_integer() && next.is_number_integer()) {
      const bool is_beyond = next.is_number_unsigned() &&
                             next.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
      const bool fits = !is_beyond && !whole(sum.get<std::int64_t>(), next.get<std::int64_t>(), &exact);
      if (!fits) return expected("a result of at most 64 bits", numbers);
      sum = exact;
      continue;
    }
    Result<Json> approximate = number(real(sum.get<double>(), next.get<double>()), numbers);
    if (!approximate) return approximate;
    sum = *std::move(approximate);
  }
  return sum;
}

bool add(std::int64_t a, std::int64_t b, std::int64_t* sum) { return __builtin_add_overflow(a, b, sum); }
bool multiply(std::int64_t a, std::int64_t b, std::int64_t* product) { return __builtin_mul_overflow(a, b, product); }

Result<Json> difference(const Json& two) {
  if (!are(two, 2) || !two[0].is_number() || !two[1].is_number()) return expected("two numbers", two);
  std::int64_t exact = 0;
  if (two[0].is_number_integer() && two[1].is_number_integer() &&
      with_integers(two[0], two[1], [&exact](auto a, auto b) { return !__builtin_sub_overflow(a, b, &exact); }))
    return Json(exact);
  return number(two[0].get<double>() - two[1].get<double>(), two);
}

Result<Json> quotient(const Json& two) {
  if (!are(two, 2) || !two[0].is_number() || !two[1].is_number()) return expected("two numbers", two);
  if (two[1] == 0) return expected("a divisor that is not 0", two);
  return number(two[0].get<double>() / two[1].get<double>(), two);
}

// Half away from zero by the shortest digits that stand for the number: 1.005 is a little less than it says. Never -0.
double rounded(double value, std::size_t digits) {
  std::array<char, 400> text{};  // the smallest number has 324 zeros
  const auto written = std::to_chars(text.data(), text.data() + text.size(), std::abs(value), std::chars_format::fixed);
  std::string number = "0" + std::string(text.data(), written.ptr);
  const std::size_t point = number.find('.');
  if (point == std::string::npos || number.size() <= point + 1 + digits) return value == 0 ? 0.0 : value;
  const bool is_away = number[point + 1 + digits] >= '5';
  number.resize(digits == 0 ? point : point + 1 + digits);
  for (std::size_t at = number.size(); is_away && at-- > 0;) {
    if (number[at] == '.') continue;
    number[at] = number[at] == '9' ? '0' : static_cast<char>(number[at] + 1);
    if (number[at] != '0') break;
  }
  double size = 0;
  std::from_chars(number.data(), number.data() + number.size(), size);
  return size == 0 ? 0.0 : std::copysign(size, value);
}

Result<Json> rounded(const Json& two) {
  if (!are(two, 2) || !two[0].is_number() || !two[1].is_number_integer() || two[1] < 0 || two[1] > round_digits_max)
    return expected("a number and how many digits, 0 to " + std::to_string(round_digits_max), two);
  if (two[0].is_number_integer()) return two[0];
  const double value = rounded(two[0].get<double>(), two[1].get<std::size_t>());
  if (two[1] == 0 && std::abs(value) < 9.0e18) return Json(static_cast<std::int64_t>(value));
  return number(value, two);
}

Result<Json> extreme(const Json& values, int sign) {
  if (!values.is_array() || values.empty()) return expected("a list of at least one value", values);
  const Json* best = &values[0];
  for (const Json& value : values) {
    const Result<int> order = compared(value, *best);
    if (!order) return order.error();
    if (*order * sign > 0) best = &value;
  }
  return *best;
}

// --- lists -----------------------------------------------------------------------------------------------------------

// Null if there is none.
const Json* at(const Json& value, const std::string& pointer) {
  if (!value.is_structured()) return pointer.empty() ? &value : nullptr;
  try {
    return &value.at(Json::json_pointer(pointer));
  } catch (const Json::exception&) {
    return nullptr;
  }
}

// The value by which each element is sorted, compared or grouped.
Result<std::vector<Json>> keys_of(const Json& list, const Json& operation) {
  if (!list.is_array()) return expected("a list", list);
  const Json by = operation.value("by", Json(""));
  if (!by.is_string()) return expected("a JSON Pointer as \"by\"", by);
  std::vector<Json> keys;
  for (const Json& element : list) {
    const Json* key = at(element, by.get_ref<const std::string&>());
    if (key == nullptr) return expected("a member " + by.get<std::string>() + " in each element", element);
    keys.push_back(*key);
  }
  return keys;
}

// Numbers before texts. REQUIRES: each is one of them.
bool is_before(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return order_of(a, b) < 0;
  if (a.is_number() != b.is_number()) return a.is_number();
  return a.get_ref<const std::string&>() < b.get_ref<const std::string&>();
}

Result<Json> sorted(const Json& list, const Json& operation) {
  const auto keys = keys_of(list, operation);
  if (!keys) return keys.error();
  for (const Json& key : *keys)
    if (!key.is_number() && !key.is_string()) return expected("numbers or texts to sort by", key);
  std::vector<std::size_t> order(list.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const bool descending = operation.value("descending", Json(false)) == true;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return descending ? is_before((*keys)[b], (*keys)[a]) : is_before((*keys)[a], (*keys)[b]);
  });
  Json out = Json::array();
  for (const std::size_t i : order) out.push_back(list[i]);
  return out;
}

Result<Json> unique(const Json& list, const Json& operation) {
  const auto keys = keys_of(list, operation);
  if (!keys) return keys.error();
  std::set<std::string> seen;
  Json out = Json::array();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (seen.insert(canonical((*keys)[i])).second) out.push_back(list[i]);
  return out;
}

std::string as_text(const Json& value) { return value.is_string() ? value.get<std::string>() : canonical(value); }

Result<Json> grouped(const Json& list, const Json& operation) {
  if (!operation.contains("by")) return expected("a JSON Pointer as \"by\"", operation);
  const auto keys = keys_of(list, operation);
  if (!keys) return keys.error();
  Json out = Json::object();
  for (std::size_t i = 0; i < list.size(); ++i) out[as_text((*keys)[i])].push_back(list[i]);
  return out;
}

Result<Json> concatenated(const Json& parts) {
  const auto are_all = [&](bool (Json::*is)() const noexcept) {
    return std::all_of(parts.begin(), parts.end(), [&](const Json& part) { return (part.*is)(); });
  };
  if (!parts.is_array() || parts.empty() || !(are_all(&Json::is_array) || are_all(&Json::is_string)))
    return expected("a list of lists or of texts", parts);
  if (parts[0].is_array()) {
    Json whole = Json::array();
    for (const Json& part : parts) whole.insert(whole.end(), part.begin(), part.end());
    return whole;
  }
  std::string whole;
  for (const Json& part : parts) whole += part.get_ref<const std::string&>();
  return Json(whole);
}

Result<Json> joined(const Json& two, LogicBounds& bounds) {
  if (!are(two, 2) || !two[0].is_array() || !two[1].is_string()) return expected("a list and a separator", two);
  std::string whole;
  for (const Json& element : two[0]) {
    for (const Json* part : {&element, &two[1]})
      if (Status fits = bounds.make(*part); !fits) return fits.error();
    if (&element != &two[0].front()) whole += two[1].get_ref<const std::string&>();
    whole += as_text(element);
  }
  return Json(whole);
}

Result<Json> counted(const Json& value) {
  if (value.is_structured()) return Json(value.size());
  if (value.is_string()) return Json(value.get_ref<const std::string&>().size());
  return expected("a list, an object or a text to count", value);
}

using Operation = std::function<Result<Json>(const Json& value, const Json& operation, LogicBounds& bounds)>;

const std::map<std::string, Operation, std::less<>>& operations() {
  static const auto plus = [](double a, double b) { return a + b; };
  static const auto times = [](double a, double b) { return a * b; };
  static const std::map<std::string, Operation, std::less<>> table = {
      {"sum", [](const Json& value, const Json&, LogicBounds&) { return folded(value, add, plus, 0); }},
      {"product", [](const Json& value, const Json&, LogicBounds&) { return folded(value, multiply, times, 1); }},
      {"difference", [](const Json& value, const Json&, LogicBounds&) { return difference(value); }},
      {"quotient", [](const Json& value, const Json&, LogicBounds&) { return quotient(value); }},
      {"round", [](const Json& value, const Json&, LogicBounds&) { return rounded(value); }},
      {"count", [](const Json& value, const Json&, LogicBounds&) { return counted(value); }},
      {"min", [](const Json& value, const Json&, LogicBounds&) { return extreme(value, -1); }},
      {"max", [](const Json& value, const Json&, LogicBounds&) { return extreme(value, 1); }},
      {"concat", [](const Json& value, const Json&, LogicBounds&) { return concatenated(value); }},
      {"join", [](const Json& value, const Json&, LogicBounds& bounds) { return joined(value, bounds); }},
      {"sort", [](const Json& value, const Json& operation, LogicBounds&) { return sorted(value, operation); }},
      {"unique", [](const Json& value, const Json& operation, LogicBounds&) { return unique(value, operation); }},
      {"group", [](const Json& value, const Json& operation, LogicBounds&) { return grouped(value, operation); }}};
  return table;
}

Result<bool> keeps(const Json& where, const Json& element, LogicBounds& bounds) {
  if (where.is_null()) return true;
  if (!where.is_object() || !where.value("at", Json()).is_string())
    return expected("a condition with a JSON Pointer as \"at\"", where);
  const Json* found = at(element, where["at"].get_ref<const std::string&>());
  if (found == nullptr) return false;
  if (where.size() == 1) return true;
  const Result<std::string> name = name_of(where, {"at"});
  if (!name) return name.error();
  if (!is_of_two(*name)) return expected("a condition of two values", where);
  return holds_of_two(*name, *found, where[*name], bounds);
}

Result<Json> taken(const Json& element, const Json& pointer, const Json& otherwise, LogicBounds& bounds) {
  if (!pointer.is_string()) return expected("a JSON Pointer to take", pointer);
  const Json* found = at(element, pointer.get_ref<const std::string&>());
  if (found == nullptr && !otherwise.is_null()) found = &otherwise;
  if (found != nullptr) {
    Status fits = bounds.make(*found);
    return fits ? Result<Json>(*found) : std::move(fits).error();
  }
  return expected("a member " + pointer.get<std::string>() + " in each element", element);
}

}  // namespace

Result<bool> holds(const Json& condition, LogicBounds& bounds) {
  const Result<std::string> name = name_of(condition, {});
  if (!name) return name.error();
  const Json& value = condition[*name];
  if (*name == "and") return holds_of_all(value, false, bounds);
  if (*name == "or") return holds_of_all(value, true, bounds);
  if (*name == "exists") return !value.is_null();
  if (*name == "not") {
    const Result<bool> inner = holds(value, bounds);
    return inner ? Result<bool>(!*inner) : inner;
  }
  if (!is_of_two(*name)) return expected("a known condition", condition);
  if (!are(value, 2)) return expected("two values for " + *name, value);
  return holds_of_two(*name, value[0], value[1], bounds);
}

Result<Json> compute(const Json& operation, LogicBounds& bounds) {
  const Result<std::string> name = name_of(operation, {"by", "descending"});
  if (!name) return name.error();
  const auto known = operations().find(*name);
  if (known == operations().end()) return expected("a known operation", operation);
  return known->second(operation[*name], operation, bounds);
}

Result<Json> map_list(const Json& list, const MapSettings& how, LogicBounds& bounds) {
  if (!list.is_array()) return expected("a list", list);
  Json out = Json::array();
  for (const Json& element : list) {
    const Result<bool> kept = keeps(how.where, element, bounds);
    if (!kept) return kept.error();
    if (!*kept) continue;
    if (!how.take.is_object()) {
      Result<Json> one = taken(element, how.take, how.otherwise, bounds);
      if (!one) return one;
      out.push_back(*std::move(one));
      continue;
    }
    Json fields = Json::object();
    for (const auto& [field, pointer] : how.take.items()) {
      if (Status fits = bounds.make(field); !fits) return fits.error();
      Result<Json> one = taken(element, pointer, how.otherwise, bounds);
      if (!one) return one;
      fields[field] = *std::move(one);
    }
    out.push_back(std::move(fields));
  }
  return out;
}

// --- forms, before the values are known ------------------------------------------------------------------------------
namespace {

// An author may not know by heart which there are.
Error unknown(const std::string& what, const std::string& name, const std::vector<std::string>& known,
              const Json& found) {
  std::string names;
  for (const std::string& one : known) names += (names.empty() ? "" : ", ") + one;
  return {Code::invalid, "Expected a known " + what + ", but found " + excerpt(found, 100) + did_you_mean(name, known) +
                             "; there are " + names + "."};
}

Result<std::string> name_of_condition(const Json& condition) {
  if (!condition.is_object()) return expected("a condition as an object", condition);
  if (condition.size() != 1) return expected(condition.empty() ? "a condition" : "one condition", condition);
  return condition.begin().key();
}

Error unknown_condition(const std::string& name, const Json& condition) {
  std::vector<std::string> known = names_of_two();
  known.insert(known.end(), {"exists", "and", "or", "not"});
  return unknown("condition", name, known, condition);
}

Error unknown_operation(const std::string& name, const Json& operation) {
  std::vector<std::string> known;
  for (const auto& [one, computes] : operations()) known.push_back(one);
  return unknown("operation", name, known, operation);
}

// One whose text shows only when the step runs is checked there.
Status check_constant_pattern(const Json& setting) {
  if (has_reference(setting)) return Done{};
  const auto nothing = [](std::string_view) -> std::optional<Json> { return std::nullopt; };
  const Result<Json> pattern = resolve_references(setting, nothing, language_now);
  if (pattern && pattern->is_string()) {
    const Json schema = {{"pattern", *pattern}};
    if (check_schema(schema)) return Done{};
  }
  return expected("a regular expression of at most 256 bytes", setting);
}

// Stands for a value as a whole, whose form shows only when the step runs.
bool is_referred(const Json& value) {
  return (value.is_string() || (value.is_object() && value.contains("$"))) && has_reference(value);
}

Status check_conditions(const Json& list) {
  if (is_referred(list)) return Done{};
  if (!list.is_array()) return expected("a list of conditions", list);
  for (const Json& one : list)
    if (Status fits = check_condition(one); !fits) return fits;
  return Done{};
}

Status check_pointer(const Json& pointer) {
  if (is_referred(pointer)) return Done{};
  try {
    if (pointer.is_string()) {
      const Json::json_pointer read(pointer.get<std::string>());
      return Done{};
    }
  } catch (const Json::exception&) {
  }
  return expected("a JSON Pointer like /name", pointer);
}

// As a setting whose value is not known.
const Json& member_of_element() {
  static const Json member = {{"$", "item"}};
  return member;
}

Status check_two(const std::string& name, const Json& a, const Json& b) {
  if (const auto parts = parts_of_two(name, a, b); !parts) return parts.error();
  return name == "matches" ? check_constant_pattern(b) : Status(Done{});
}

// Calls `see` with the name and the values of each condition of two values. REQUIRES: it passed check_condition().
template <class See>
void each_of_two(const Json& condition, const See& see) {
  if (!condition.is_object() || condition.size() != 1 || is_referred(condition)) return;
  const std::string name = condition.begin().key();
  const Json& value = condition.begin().value();
  if (name == "not") return each_of_two(value, see);
  if (!value.is_array()) return;
  if (name == "and" || name == "or")
    for (const Json& one : value) each_of_two(one, see);
  else if (is_of_two(name) && value.size() == 2)
    see(name, value[0], value[1]);
}

}  // namespace

Status check_condition(const Json& condition) {
  if (is_referred(condition)) return Done{};
  const Result<std::string> name = name_of_condition(condition);
  if (!name) return name.error();
  const Json& value = condition[*name];
  if (*name == "and" || *name == "or") return check_conditions(value);
  if (*name == "exists") return Done{};
  if (*name == "not") return check_condition(value);
  if (!is_of_two(*name)) return unknown_condition(*name, condition);
  if (is_referred(value)) return Done{};
  if (!are(value, 2)) return expected("two values for " + *name, value);
  return check_two(*name, value[0], value[1]);
}

Status check_operation(const Json& operation) {
  if (is_referred(operation)) return Done{};
  const Result<std::string> name = name_of(operation, {"by", "descending"});
  if (!name) return name.error();
  if (!operations().contains(*name)) return unknown_operation(*name, operation);
  if (const auto parts = parts_of_operation(*name, operation); !parts) return parts.error();
  return operation.contains("by") ? check_pointer(operation["by"]) : Status(Done{});
}

Status check_map(const Json& take, const Json& where) {
  if (take.is_object() && !is_referred(take)) {
    for (const auto& [field, pointer] : take.items())
      if (Status fits = check_pointer(pointer); !fits) return fits;
  } else if (!take.is_null()) {
    if (Status fits = check_pointer(take); !fits) return fits;
  }
  if (where.is_null() || is_referred(where)) return Done{};
  if (!where.is_object() || !where.contains("at")) return expected("a condition with a JSON Pointer as \"at\"", where);
  if (Status fits = check_pointer(where["at"]); !fits) return fits;
  if (where.size() == 1) return Done{};
  const Result<std::string> name = name_of(where, {"at"});
  if (!name) return name.error();
  if (!is_of_two(*name)) return unknown("comparison next to \"at\"", *name, names_of_two(), where);
  return check_two(*name, member_of_element(), where[*name]);
}

LogicForms forms_of_condition(const Json& condition) {
  LogicForms forms;
  each_of_two(condition, [&forms](const std::string& name, const Json& a, const Json& b) {
    forms.add(parts_of_two(name, a, b), doubts_about_two(name, a, b));
  });
  return forms;
}

LogicForms forms_of_operation(const Json& operation) {
  LogicForms forms;
  const Result<std::string> name = name_of(operation, {"by", "descending"});
  if (!is_referred(operation) && name && operations().contains(*name))
    forms.add(parts_of_operation(*name, operation), doubts_about_operation(*name, operation[*name]));
  return forms;
}

LogicForms forms_of_where(const Json& where) {
  LogicForms forms;
  const Result<std::string> name = name_of(where, {"at"});
  if (!is_referred(where) && name && is_of_two(*name))
    forms.add(parts_of_two(*name, member_of_element(), where[*name]),
              doubts_about_two(*name, member_of_element(), where[*name]));
  return forms;
}

std::uint8_t kinds_of_operation(const Json& operation) {
  static const std::map<std::string, std::uint8_t> kinds = {
      {"sum", JsonKinds::number},      {"product", JsonKinds::number}, {"difference", JsonKinds::number},
      {"quotient", JsonKinds::number}, {"count", JsonKinds::number},   {"round", JsonKinds::number},
      {"join", JsonKinds::text},       {"sort", JsonKinds::list},      {"unique", JsonKinds::list},
      {"group", JsonKinds::object}};
  if (is_referred(operation)) return JsonKinds::any;
  const Result<std::string> name = name_of(operation, {"by", "descending"});
  const auto found = name ? kinds.find(*name) : kinds.end();
  return found == kinds.end() ? JsonKinds::any : found->second;
}

}  // namespace cairn
