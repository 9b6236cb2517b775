#include "workers/schemas/schema_dialect.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace cairn {
namespace {

constexpr std::size_t levels_max = 1'000;      // deeper ones are refused by the check
constexpr std::size_t names_max = 100'000;     // of properties that unevaluatedProperties leaves alone
constexpr std::size_t copied_max = 200'000;    // values that are said twice
constexpr std::size_t effort_max = 2'000'000;  // schemas and names that are gone through to find what is evaluated
constexpr std::string_view of_one[] = {
    "additionalProperties",  "additionalItems", "contains", "propertyNames", "not", "if", "then", "else", "items",
    "unevaluatedProperties", "unevaluatedItems"};
constexpr std::string_view of_names[] = {"properties",  "patternProperties", "$defs",
                                         "definitions", "dependentSchemas",  "dependencies"};
constexpr std::string_view of_list[] = {"allOf", "anyOf", "oneOf", "prefixItems", "items"};

// Calls `visit(schema, pointer)` for each schema right within one.
template <class Of, class Visit>
void for_schemas_within(Of& schema, const Json::json_pointer& at, const Visit& visit) {
  for (auto entry = schema.begin(); entry != schema.end(); ++entry) {
    const std::string& key = entry.key();
    auto& value = entry.value();
    const auto is_in = [&key](const auto& keywords) { return std::ranges::find(keywords, key) != std::end(keywords); };
    if (value.is_object() && is_in(of_names)) {
      for (auto one = value.begin(); one != value.end(); ++one)
        if (!one.value().is_array()) visit(one.value(), at / key / one.key());
    } else if (value.is_array() && is_in(of_list)) {
      for (std::size_t n = 0; n < value.size(); ++n) visit(value[n], at / key / n);
    } else if (is_in(of_one)) {
      visit(value, at / key);
    }
  }
}

const Json* member(const Json& schema, const char* key) {
  const auto found = schema.find(key);
  return found == schema.end() ? nullptr : &*found;
}

// The parts of an object or array that schemas evaluate, whatever it holds.
struct Evaluated {
  std::set<std::string> names, patterns;
  std::size_t items = 0;  // the first ones
  bool all_names = false, all_items = false;
  bool are_names_certain = true, are_items_certain = true;  // false: it depends on the value

  void add(const Evaluated& other) {
    names.insert(other.names.begin(), other.names.end());
    patterns.insert(other.patterns.begin(), other.patterns.end());
    items = std::max(items, other.items);
    all_names = all_names || other.all_names;
    all_items = all_items || other.all_items;
    are_names_certain = are_names_certain && other.are_names_certain;
    are_items_certain = are_items_certain && other.are_items_certain;
  }
  // Adds those of schemas that apply to some values only.
  void add_perhaps(const Evaluated& other) {
    const bool has_names = all_names || (!other.all_names && std::ranges::includes(names, other.names) &&
                                         std::ranges::includes(patterns, other.patterns));
    const bool has_items = all_items || (!other.all_items && items >= other.items);
    are_names_certain = are_names_certain && other.are_names_certain && has_names;
    are_items_certain = are_items_certain && other.are_items_certain && has_items;
  }
};

class Translation {
 public:
  explicit Translation(const Json& root) : root_(root) { find_anchors(root, Json::json_pointer(), 0); }

  SchemaInDraft7 made() {
    Json schema = of(root_, 0);
    return {std::move(schema), std::move(left_out_), copied_ > copied_max};
  }

 private:
  // Each level of a schema that is said twice doubles those below it, so what is copied is counted.
  Json copy_of(const Json& value) {
    count_copied(value);
    return copied_ > copied_max ? Json() : value;
  }
  void count_copied(const Json& value) {
    if (++copied_ > copied_max || !value.is_structured()) return;
    for (const Json& part : value) count_copied(part);
  }

  void leave_out(const std::string& clause) {
    if (!left_out_) left_out_ = clause;
  }

  void find_anchors(const Json& schema, const Json::json_pointer& at, std::size_t depth) {
    if (!schema.is_object() || depth > levels_max) return;
    for (const char* key : {"$anchor", "$dynamicAnchor"})
      if (const Json* name = member(schema, key); name != nullptr && name->is_string())
        anchors_[name->get<std::string>()].push_back(at.to_string());
    for_schemas_within(
        schema, at, [&](const Json& one, const Json::json_pointer& pointer) { find_anchors(one, pointer, depth + 1); });
  }

  // `#name` as `#/where/it/stands`.
  Json by_pointer(const Json& ref) const {
    if (!ref.is_string()) return ref;
    const std::string text = ref.get<std::string>();
    if (text.size() < 2 || text[0] != '#' || text[1] == '/') return ref;
    const auto found = anchors_.find(text.substr(1));
    return found == anchors_.end() || found->second.size() != 1 ? ref : Json("#" + found->second.front());
  }

  Json of(const Json& given, std::size_t depth) {
    if (!given.is_object() || depth > levels_max) return given;
    Json schema = given;
    for_schemas_within(schema, Json::json_pointer(),
                       [&](Json& one, const Json::json_pointer&) { one = of(one, depth + 1); });
    Json all = Json::array();  // what stands next to the rest
    unevaluated_names(given, schema, all);
    unevaluated_items(given, schema, all);
    items(schema);
    counted(schema);
    if (const Json* required = member(schema, "dependentRequired"))
      all.push_back({{"dependencies", copy_of(*required)}});
    if (const Json* schemas = member(schema, "dependentSchemas")) all.push_back({{"dependencies", copy_of(*schemas)}});
    references(schema, all);
    if (all.empty()) return schema;
    if (const Json* given_all = member(schema, "allOf"); given_all != nullptr && given_all->is_array()) {
      Json joined = *given_all;  // first, so that references to its members stay right
      for (Json& one : all) joined.push_back(std::move(one));
      all = std::move(joined);
    }
    schema["allOf"] = std::move(all);
    return schema;
  }

  // In draft 7 nothing else counts next to a $ref.
  void references(Json& schema, Json& all) {
    if (const Json* ref = member(schema, "$dynamicRef")) {
      const Json pointer = by_pointer(*ref);
      if (pointer == *ref)
        leave_out("$dynamicRef is known only to an anchor that occurs once");
      else
        all.push_back({{"$ref", pointer}});
    }
    const Json* ref = member(schema, "$ref");
    if (ref == nullptr) return;
    const Json pointer = by_pointer(*ref);
    if (schema.size() == 1 && all.empty()) {
      schema["$ref"] = pointer;
      return;
    }
    all.push_back({{"$ref", pointer}});
    schema.erase("$ref");
  }

  void items(Json& schema) {
    const Json* first = member(schema, "prefixItems");
    if (first == nullptr || !first->is_array()) return;
    if (const Json* rest = member(schema, "items")) schema["additionalItems"] = copy_of(*rest);
    schema["items"] = copy_of(schema["prefixItems"]);
  }

  void counted(Json& schema) {
    if (!schema.contains("contains")) return;
    if (schema.contains("maxContains")) leave_out("maxContains is not known");
    const Json* least = member(schema, "minContains");
    if (least == nullptr || *least == 1) return;
    if (*least == 0)
      schema.erase("contains");
    else
      leave_out("minContains is known with 0 and 1 only");
  }

  void unevaluated_names(const Json& given, Json& schema, Json& all) {
    const Json* rest = member(schema, "unevaluatedProperties");
    if (rest == nullptr) return;
    const Evaluated known = evaluated_next_to(given, "unevaluatedProperties");
    if (!known.are_names_certain) return leave_out("unevaluatedProperties is not known where it depends on the value");
    if (known.all_names) return;
    Json one = {{"properties", Json::object()},
                {"patternProperties", Json::object()},
                {"additionalProperties", copy_of(*rest)}};
    for (const std::string& name : known.names) one["properties"][name] = true;
    for (const std::string& pattern : known.patterns) one["patternProperties"][pattern] = true;
    all.push_back(std::move(one));
  }

  void unevaluated_items(const Json& given, Json& schema, Json& all) {
    const Json* rest = member(schema, "unevaluatedItems");
    if (rest == nullptr) return;
    const Evaluated known = evaluated_next_to(given, "unevaluatedItems");
    if (!known.are_items_certain) return leave_out("unevaluatedItems is not known where it depends on the value");
    if (known.all_items) return;
    all.push_back({{"items", Json(known.items, Json(true))}, {"additionalItems", copy_of(*rest)}});
  }

  Evaluated evaluated_next_to(const Json& schema, const char* keyword) {
    std::set<const Json*> seen;
    names_ = 0;
    return evaluated(schema, seen, keyword);
  }

  Evaluated evaluated(const Json& schema, std::set<const Json*>& seen, const char* but = "") {
    Evaluated known;
    if (!schema.is_object() || !seen.insert(&schema).second) return known;
    if (++effort_ > effort_max) {
      known.are_names_certain = known.are_items_certain = false;
      return known;
    }
    const auto has = [&](const char* key) { return schema.contains(key) && std::string_view(key) != but; };
    known.all_names = has("additionalProperties") || has("unevaluatedProperties");
    known.all_items = has("items") || has("unevaluatedItems");
    for (const auto& [keyword, names] : {std::pair{"properties", &known.names}, {"patternProperties", &known.patterns}})
      if (const Json* listed = member(schema, keyword); listed != nullptr && listed->is_object())
        for (const auto& [name, one] : listed->items()) names->insert(name);
    names_ += known.names.size() + known.patterns.size();
    if (const Json* first = member(schema, "prefixItems"); first != nullptr) known.items = first->size();
    for (const char* key : {"$ref", "$dynamicRef"})
      if (const Json* target = target_of(member(schema, key))) known.add(evaluated(*target, seen));
    if (const Json* parts = member(schema, "allOf"); parts != nullptr && parts->is_array())
      for (const Json& part : *parts) known.add(evaluated(part, seen));
    known.add_perhaps(perhaps_evaluated(schema, seen));
    effort_ += known.names.size() + known.patterns.size();  // they are joined once more for each schema above
    known.are_names_certain = known.are_names_certain && names_ <= names_max;
    return known;
  }

  // By those that apply to some values only.
  Evaluated perhaps_evaluated(const Json& schema, std::set<const Json*>& seen) {
    Evaluated perhaps;
    perhaps.all_items = schema.contains("contains");
    for (const char* key : {"anyOf", "oneOf", "dependentSchemas"})
      if (const Json* parts = member(schema, key); parts != nullptr && parts->is_structured())
        for (const Json& part : *parts) perhaps.add(evaluated(part, seen));
    for (const char* key : {"if", "then", "else"})
      if (const Json* part = member(schema, key)) perhaps.add(evaluated(*part, seen));
    return perhaps;
  }

  const Json* target_of(const Json* ref) const {
    if (ref == nullptr) return nullptr;
    const Json pointer = by_pointer(*ref);
    const bool is_here = pointer.is_string() && pointer.get_ref<const std::string&>().starts_with('#');
    if (!is_here) return nullptr;
    try {
      return &root_.at(Json::json_pointer(pointer.get_ref<const std::string&>().substr(1)));
    } catch (const Json::exception&) {
      return nullptr;
    }
  }

  const Json& root_;
  std::map<std::string, std::vector<std::string>> anchors_;  // their pointers
  std::optional<std::string> left_out_;
  std::size_t names_ = 0;
  std::size_t copied_ = 0;
  std::size_t effort_ = 0;
};

}  // namespace

SchemaInDraft7 in_draft_7(const Json& schema) { return Translation(schema).made(); }

}  // namespace cairn
