#include "workers/schemas/schema_check.hpp"

#include <algorithm>
#include <boost/regex.hpp>
#include <cmath>
#include <ctime>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#define VALIJSON_USE_EXCEPTIONS 1
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "engine/id.hpp"
#include "engine/nearest.hpp"
#include "workers/schemas/percent_encoding.hpp"
#include "workers/schemas/schema_dialect.hpp"

namespace cairn {
namespace {

constexpr std::size_t levels_max = 1'000;       // of schema in schema, through references too: the library recurses
constexpr std::size_t key_bytes_max = 1024;     // of keys that are matched against patterns
constexpr std::size_t pattern_bytes_max = 256;  // the cost of a search grows with the square of the pattern
constexpr std::int64_t check_ms_max = 2'000;    // processor time of one check
constexpr std::size_t errors_max = 1'000;       // the library notes one for each element that does not fit

std::int64_t processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000 + now.tv_nsec / 1'000'000;
}

// The budget of one check of a value. The thread has it, because the library's visitors do not know their caller.
class Budget {
 public:
  Budget() : before_(of_this_thread) { of_this_thread = this; }
  ~Budget() { of_this_thread = before_; }
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // Before each schema that is applied to a value. Throws when the budget is used up.
  void take_visit(const valijson::ValidationResults* errors) {
    if (++visits_ % 16 == 0) check_time();
    if (errors != nullptr && errors->numErrors() >= errors_max) throw std::runtime_error("it has too many faults");
  }

  // Throws if the search takes too many steps, or the budget is used up.
  bool matches(const std::string& text, const std::string& pattern) {
    auto found = patterns_.find(pattern);
    if (found == patterns_.end())
      found = patterns_.emplace(pattern, boost::regex(pattern, boost::regex::ECMAScript)).first;
    const bool is_match = boost::regex_search(text, found->second, boost::regex_constants::match_single_line);
    check_time();
    return is_match;
  }

  static thread_local Budget* of_this_thread;

 private:
  void check_time() const {
    if (processor_ms() - started_ms_ > check_ms_max)
      throw std::runtime_error("that takes more than " + std::to_string(check_ms_max) + " ms of processor time");
  }

  Budget* before_;
  std::int64_t started_ms_ = processor_ms();
  std::size_t visits_ = 0;
  std::map<std::string, boost::regex> patterns_;
};

thread_local Budget* Budget::of_this_thread = nullptr;

Budget& budget() {
  CHECK(Budget::of_this_thread != nullptr);
  return *Budget::of_this_thread;
}

template <class Adapter, class Constraint>
bool matches_pattern(const Adapter& target, const Constraint& constraint, valijson::ValidationResults* errors,
                     const std::vector<std::string>& place) {
  if (!target.isString()) return true;
  const auto pattern = constraint.template getPattern<std::string::allocator_type>();
  if (budget().matches(target.asString(), pattern)) return true;
  if (errors != nullptr) errors->pushError(place, "it does not match the pattern " + pattern);
  return false;
}

template <class Adapter, class Constraint>
bool has_format(const Adapter& target, const Constraint& constraint, valijson::ValidationResults* errors,
                const std::vector<std::string>& place) {
  if (!target.isString()) return true;
  const std::string text = target.asString();
  const std::string format = constraint.getFormat();
  const bool fits = format == "date-time" ? parse_time(text).has_value()
                    : format == "date"    ? parse_time(text + "T00:00:00Z").has_value()
                    : format == "time"    ? parse_time("2000-01-01T" + text).has_value()
                                          : true;
  if (!fits && errors != nullptr) errors->pushError(place, "it is no " + format);
  return fits;
}

// One text for all values that JSON Schema calls equal: 1 and 1.0 are, and objects whatever the order of their keys.
void append_comparable(std::string& text, const valijson::adapters::NlohmannJsonAdapter& value) {
  if (value.isObject()) {
    text += '{';
    for (const auto member : value.getObject()) {
      text += Json(member.first).dump() + ':';
      append_comparable(text, member.second);
    }
    text += '}';
  } else if (value.isArray()) {
    text += '[';
    for (const auto element : value.getArray()) {
      append_comparable(text, element);
      text += ',';
    }
    text += ']';
  } else if (value.isString()) {
    text += Json(value.asString()).dump();
  } else if (value.isInteger()) {
    text += std::to_string(value.getInteger());
  } else if (value.isDouble()) {
    const double number = value.getDouble();
    const bool is_whole = std::trunc(number) == number && std::abs(number) < 9e15;
    text += is_whole ? std::to_string(static_cast<std::int64_t>(number)) : Json(number).dump();
  } else {
    text += value.isNull() ? "null" : value.getBool() ? "true" : "false";
  }
}

}  // namespace
}  // namespace cairn

// Visits of the library that are unsafe with foreign text, done otherwise: its own use std::regex, which overflows the
// stack on long patterns and texts, compare each pair of items that must be unique, and have no bound of work.
namespace valijson {

using adapters::NlohmannJsonAdapter;
using adapters::StdStringAdapter;  // keys, for `propertyNames`

template <>
bool ValidationVisitor<NlohmannJsonAdapter>::validateSchema(const Subschema& subschema) {
  cairn::budget().take_visit(m_results);
  if (subschema.getAlwaysInvalid()) return false;
  Subschema::ApplyFunction apply = [this](const constraints::Constraint& constraint) {
    return validationCallback(constraint, *this);
  };
  return m_results == nullptr ? subschema.applyStrict(apply) : subschema.apply(apply);
}

template <>
bool ValidationVisitor<NlohmannJsonAdapter>::visit(const PatternConstraint& constraint) {
  return cairn::matches_pattern(m_target, constraint, m_results, m_context);
}

template <>
bool ValidationVisitor<StdStringAdapter>::visit(const PatternConstraint& constraint) {
  return cairn::matches_pattern(m_target, constraint, m_results, m_context);
}

// The library's own throws for a value that is no string.
template <>
bool ValidationVisitor<NlohmannJsonAdapter>::visit(const FormatConstraint& constraint) {
  return cairn::has_format(m_target, constraint, m_results, m_context);
}

template <>
bool ValidationVisitor<StdStringAdapter>::visit(const FormatConstraint& constraint) {
  return cairn::has_format(m_target, constraint, m_results, m_context);
}

template <>
bool ValidationVisitor<NlohmannJsonAdapter>::visit(const UniqueItemsConstraint&) {
  if (!m_target.isArray()) return true;
  std::map<std::string, std::size_t> first;
  std::size_t at = 0;
  for (const NlohmannJsonAdapter item : m_target.getArray()) {
    std::string text;
    cairn::append_comparable(text, item);
    const auto [same, is_new] = first.emplace(std::move(text), at);
    if (!is_new) {
      if (m_results != nullptr)
        m_results->pushError(m_context, "Elements at indexes #" + std::to_string(same->second) + " and #" +
                                            std::to_string(at) + " violate uniqueness constraint.");
      return false;
    }
    ++at;
  }
  return true;
}

template <>
bool ValidationVisitor<NlohmannJsonAdapter>::visit(const PropertiesConstraint& constraint) {
  if (!m_target.isObject()) return true;
  const NlohmannJsonAdapter::Object object = m_target.getObject();
  std::set<std::string> matched;
  bool fits = true;
  const auto check = [&](const std::string& key, const NlohmannJsonAdapter& value, const Subschema& subschema,
                         const char* why) {
    std::vector<std::string> place = m_context;
    place.push_back("[" + key + "]");
    ValidationVisitor visitor(value, place, m_strictTypes, m_results, m_regexesCache);
    if (visitor.validateSchema(subschema)) return;
    if (m_results != nullptr) m_results->pushError(m_context, why + (" '" + key + "'."));
    fits = false;
  };
  constraint.applyToProperties([&](const auto& name, const Subschema* subschema) {
    const std::string key(name.data(), name.size());
    const auto member = object.find(key);
    if (member == object.end()) return true;
    matched.insert(key);
    check(key, member->second, *subschema, "Failed to validate against schema associated with property name");
    return fits || m_results != nullptr;
  });
  if (!fits && m_results == nullptr) return false;
  constraint.applyToPatternProperties([&](const auto& text, const Subschema* subschema) {
    const std::string pattern(text.data(), text.size());
    for (const NlohmannJsonAdapter::ObjectMember member : object) {
      if (!cairn::budget().matches(member.first, pattern)) continue;
      matched.insert(member.first);
      check(member.first, member.second, *subschema, "Failed to validate against the pattern of property");
      if (!fits && m_results == nullptr) return false;
    }
    return true;
  });
  if (!fits && m_results == nullptr) return false;
  const Subschema* others = constraint.getAdditionalPropertiesSubschema();
  for (const NlohmannJsonAdapter::ObjectMember member : object) {
    if (matched.contains(member.first)) continue;
    if (others == nullptr) {
      if (m_results != nullptr)
        m_results->pushError(m_context,
                             "Object contains a property that could not be validated using 'properties' or "
                             "'additionalProperties' constraints: '" +
                                 member.first + "'.");
      return false;
    }
    check(member.first, member.second, *others, "Failed to validate against additional properties schema:");
    if (!fits && m_results == nullptr) return false;
  }
  return fits;
}

}  // namespace valijson

namespace cairn {
namespace {

const Json* at_pointer(const Json& root, const std::string& pointer) {
  try {
    return &root.at(Json::json_pointer(pointer));
  } catch (const Json::exception&) {
    return nullptr;
  }
}

Error unusable(std::string clause) {
  while (clause.ends_with('.')) clause.pop_back();
  return {Code::invalid, "Expected a JSON Schema that can be used, but " + clause + "."};
}

// Walks every schema of the document before the library sees it: finds what would make it abort, loop or fetch.
class SchemaWalk {
 public:
  explicit SchemaWalk(const Json& root) : root_(root) {}

  Status check() {
    visit(root_);
    std::size_t levels = depth(root_);
    for (const Json* target : targets_) levels += depth(*target);
    if (!fault_ && levels > levels_max) {
      fault_ =
          "it nests up to " + std::to_string(levels) + " levels where " + std::to_string(levels_max) + " are allowed";
    }
    if (fault_) return unusable(*fault_);
    return Done{};
  }

 private:
  static std::size_t depth(const Json& node) {
    std::size_t deepest = 0;
    if (node.is_structured()) {
      for (const Json& element : node) deepest = std::max(deepest, depth(element));
    }
    return deepest + 1;
  }

  void visit(const Json& node) {
    if (fault_) return;
    if (node.is_array()) {
      for (const Json& element : node) visit(element);
    } else if (node.is_object()) {
      check_keywords(node);
      follow_in_place(node);
      for (const auto& [key, value] : node.items()) {
        if (key != "enum" && key != "const" && key != "default" && key != "examples") visit(value);
      }
    }
  }

  void check_keywords(const Json& node) {
    const auto pattern = node.find("pattern");
    if (pattern != node.end() && pattern->is_string()) check_pattern(pattern->get_ref<const std::string&>());
    const auto patterns = node.find("patternProperties");
    if (patterns != node.end() && patterns->is_object()) {
      for (const auto& [key, value] : patterns->items()) check_pattern(key);
    }
    const auto ref = node.find("$ref");
    if (ref != node.end() && ref->is_string()) {
      if (const Json* target = target_of(*ref)) targets_.insert(target);
    }
  }

  void check_pattern(const std::string& pattern) {
    if (pattern.size() > pattern_bytes_max) {
      fault_ = "its pattern " + excerpt(Json(pattern), 40) + " has " + std::to_string(pattern.size()) +
               " bytes where " + std::to_string(pattern_bytes_max) + " are allowed";
      return;
    }
    try {
      const boost::regex usable(pattern, boost::regex::ECMAScript);
    } catch (const std::exception&) {
      fault_ = "its pattern " + excerpt(Json(pattern), 100) + " is no regular expression";
    }
  }

  const Json* target_of(const Json& ref) {
    const std::string& text = ref.get_ref<const std::string&>();
    if (text.empty() || text[0] != '#') {
      fault_ = "it refers to " + excerpt(ref, 100) + ", which is not in the same document";
      return nullptr;
    }
    const Json* target = at_pointer(root_, without_percents(std::string_view(text).substr(1)));
    if (target == nullptr) fault_ = "it refers to " + excerpt(ref, 100) + ", which does not exist";
    return target;
  }

  // The schemas that apply to the same value as `node` does: a way back to `node` would never end.
  std::vector<const Json*> in_place(const Json& node) {
    std::vector<const Json*> next;
    const auto ref = node.find("$ref");
    if (ref != node.end() && ref->is_string()) {
      if (const Json* target = target_of(*ref)) next.push_back(target);
      return next;
    }
    for (const char* key : {"allOf", "anyOf", "oneOf", "dependencies"}) {
      if (const auto found = node.find(key); found != node.end() && found->is_structured()) {
        for (const Json& element : *found) next.push_back(&element);
      }
    }
    for (const char* key : {"not", "if", "then", "else"}) {
      if (const auto found = node.find(key); found != node.end()) next.push_back(&*found);
    }
    return next;
  }

  void follow_in_place(const Json& node) {
    if (fault_ || !node.is_object() || clear_.contains(&node)) return;
    if (!on_the_way_.insert(&node).second) {
      fault_ = "it refers to itself without end";
      return;
    }
    if (on_the_way_.size() > levels_max) {
      fault_ = "its references lead through more than " + std::to_string(levels_max) + " schemas";
      return;
    }
    for (const Json* next : in_place(node)) follow_in_place(*next);
    on_the_way_.erase(&node);
    clear_.insert(&node);
  }

  const Json& root_;
  std::set<const Json*> targets_;
  std::set<const Json*> on_the_way_;
  std::set<const Json*> clear_;
  std::optional<std::string> fault_;
};

// `left_out`: gets what of the schema cannot be checked.
Status compile(const Json& schema, valijson::Schema& compiled, std::optional<std::string>& left_out) {
  if (!schema.is_object() && !schema.is_boolean()) return unusable("it is " + excerpt(schema, 100));
  SchemaInDraft7 translated = in_draft_7(schema);
  if (translated.is_too_large)
    return unusable(
        "prefixItems, dependentSchemas, unevaluatedProperties or unevaluatedItems are nested in one another too deep");
  left_out = std::move(translated.left_out);
  Json& local = translated.schema;
  if (Status walked = SchemaWalk(local).check(); !walked) return walked;
  if (local.is_object()) {  // names of the document: with them the library takes local references for remote ones
    local.erase("$id");
    local.erase("id");
  }
  try {
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(valijson::adapters::NlohmannJsonAdapter(local), compiled);
  } catch (const std::exception& error) {
    return unusable(std::string("the parser says: ") + error.what());
  }
  return Done{};
}

// "[owners][0]" parts of the library's path as a JSON pointer.
std::string pointer_of(const std::vector<std::string>& path) {
  std::string pointer;
  for (std::size_t i = 1; i < path.size(); ++i) {
    Json::json_pointer part;
    part.push_back(path[i].size() > 2 ? path[i].substr(1, path[i].size() - 2) : path[i]);
    pointer += part.to_string();
  }
  return pointer;
}

// The schema of an object's member or an array's element; null: none is written, or it takes more than a step to know.
const Json* schema_below(const Json& at, const std::string& key) {
  const auto in = [&](const char* table) { return at_pointer(at, (Json::json_pointer(table) / key).to_string()); };
  if (!at.is_object()) return nullptr;
  for (const char* table : {"/properties", "/prefixItems"})
    if (const Json* member = in(table)) return member;
  const Json* items = at_pointer(at, "/items");
  if (items != nullptr && items->is_array()) {  // as draft 7 has it
    const Json* element = in("/items");
    return element != nullptr ? element : at_pointer(at, "/additionalItems");
  }
  if (items != nullptr) return items;
  return at.contains("patternProperties") ? nullptr : at_pointer(at, "/additionalProperties");
}

// The schema written for the place, if plain steps lead there: it says best what was expected.
const Json* schema_at(const Json& root, const std::vector<std::string>& path) {
  const Json* at = &root;
  for (std::size_t i = 0; at != nullptr && i < path.size(); ++i) {
    if (i > 0) {
      at = schema_below(*at, path[i].size() > 2 ? path[i].substr(1, path[i].size() - 2) : path[i]);
    }
    for (std::size_t hops = 0; at != nullptr && at->is_object() && at->contains("$ref"); ++hops) {
      const Json& ref = at->at("$ref");
      const bool followable = hops < levels_max && ref.is_string() && !ref.get_ref<const std::string&>().empty();
      at = followable ? at_pointer(root, without_percents(ref.get_ref<const std::string&>().substr(1))) : nullptr;
    }
  }
  return at;
}

// The name in single quotes that the library's words end with; "": they end otherwise.
std::string name_at_the_end(const std::string& why) {
  const std::size_t begin = why.find('\'', why.starts_with("Object") ? why.rfind(": '") : 0);
  const bool is_named = begin != std::string::npos && begin + 1 < why.size() && why.back() == '\'';
  return is_named ? why.substr(begin + 1, why.size() - begin - 2) : std::string();
}

// The end of a sentence that begins with "Expected": the value at the place, and the schema's part for it. A property
// that it requires or does not allow comes first, because the part may be long.
std::string expected_text(const Json* part, const std::string& place, const std::string& why) {
  if (part == nullptr) return place + " to fit its schema";
  const std::string name = name_at_the_end(why);
  const Json none = Json::object();
  const Json& described = part->is_object() && part->contains("properties") ? (*part)["properties"] : none;
  const Json required = part->is_object() ? part->value("required", Json()) : Json();
  const bool is_required = std::find(required.begin(), required.end(), Json(name)) != required.end();
  if (is_required && why.starts_with("Missing required")) {
    const bool is_described = described.is_object() && described.contains(name);
    return excerpt(Json(name), 100) + " in " + place + (is_described ? " to fit " + excerpt(described[name], 300) : "");
  }
  if (part->is_object() && part->value("additionalProperties", Json()) == false && why.starts_with("Object contains")) {
    std::vector<std::string> names;
    for (const auto& [known, schema] : described.items()) names.push_back(known);
    return "no " + excerpt(Json(name), 100) + did_you_mean(name, names) + " in " + place;
  }
  return place + " to fit " + excerpt(*part, 300);
}

Error misfit(const Json& schema, const Json& value, const valijson::ValidationResults::Error& error) {
  const std::string pointer = pointer_of(error.context);
  const Json* found = at_pointer(value, pointer);
  std::string why = error.description;
  while (!why.empty() && why.back() == '.') why.pop_back();
  const std::string place = pointer.empty() ? std::string("the value") : "the value at " + pointer;
  return {Code::invalid, "Expected " + expected_text(schema_at(schema, error.context), place, why) + ", but found " +
                             (found != nullptr ? excerpt(*found, 200) : std::string("nothing")) + " (" + why + ")."};
}

bool has_long_key(const Json& value) {
  if (!value.is_structured()) return false;
  for (const auto& [key, member] : value.items()) {
    if ((value.is_object() && key.size() > key_bytes_max) || has_long_key(member)) return true;
  }
  return false;
}

// The sentence that says why a value does not fit; nothing if it does. Refuses what cannot be checked.
Result<std::optional<Error>> find_misfit(const Json& schema, const Json& value) {
  if (schema.is_null()) return std::optional<Error>();
  valijson::Schema compiled;
  std::optional<std::string> left_out;  // a graph may have it that was added before that was refused
  if (Status usable = compile(schema, compiled, left_out); !usable) return usable.error();
  if (has_long_key(value)) {
    return Error{Code::invalid,
                 "Expected keys of at most " + std::to_string(key_bytes_max) + " bytes, but found a longer one."};
  }
  try {
    const Budget counted;
    const valijson::adapters::NlohmannJsonAdapter target(value);
    valijson::Validator validator;
    if (validator.validate(compiled, target, nullptr)) return std::optional<Error>();
    valijson::ValidationResults faults;  // a second time, for the sentence
    validator.validate(compiled, target, &faults);
    if (faults.begin() == faults.end())
      return std::optional(Error{Code::invalid, "Expected no value here, but found " + excerpt(value, 200) + "."});
    return std::optional(misfit(schema, value, *faults.begin()));
  } catch (const std::exception& error) {
    return Error{Code::invalid,
                 "Expected to check " + excerpt(value, 200) + " against its schema, but " + error.what() + "."};
  }
}

}  // namespace

Status check_schema(const Json& schema) {
  if (schema.is_null()) return Done{};
  valijson::Schema compiled;
  std::optional<std::string> left_out;
  if (Status usable = compile(schema, compiled, left_out); !usable) return usable;
  if (left_out) return unusable(*left_out);
  return Done{};
}

Status check_value(const Json& schema, const Json& value) {
  Result<std::optional<Error>> found = find_misfit(schema, value);
  if (!found) return found.error();
  if (*found) return **std::move(found);
  return Done{};
}

Result<bool> fits_schema(const Json& schema, const Json& value) {
  const Result<std::optional<Error>> found = find_misfit(schema, value);
  if (!found) return found.error();
  return !found->has_value();
}

}  // namespace cairn
