#include "workers/ports/schema_check.hpp"

#include <algorithm>
#include <boost/regex.hpp>
#include <cctype>
#include <regex>
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

namespace valijson {

using adapters::NlohmannJsonAdapter;

// The library's own uses std::regex, which overflows the stack on long strings; Boost's gives up with an exception.
template <>
bool ValidationVisitor<NlohmannJsonAdapter>::visit(const PatternConstraint& constraint) {
  if (!m_target.isString()) return true;
  const auto pattern = constraint.getPattern<std::string::allocator_type>();
  const boost::regex regex(pattern, boost::regex::ECMAScript);
  if (boost::regex_search(m_target.asString(), regex, boost::regex_constants::match_single_line)) return true;
  if (m_results) m_results->pushError(m_context, "it does not match the pattern " + pattern);
  return false;
}

// The library's own throws for a value that is no string.
template <>
bool ValidationVisitor<NlohmannJsonAdapter>::visit(const FormatConstraint& constraint) {
  if (!m_target.isString()) return true;
  const std::string text = m_target.asString();
  const std::string format = constraint.getFormat();
  const bool fits = format == "date-time" ? cairn::parse_time(text).has_value()
                    : format == "date"    ? cairn::parse_time(text + "T00:00:00Z").has_value()
                    : format == "time"    ? cairn::parse_time("2000-01-01T" + text).has_value()
                                          : true;
  if (!fits && m_results) m_results->pushError(m_context, "it is no " + format);
  return fits;
}

}  // namespace valijson

namespace cairn {
namespace {

constexpr std::size_t levels_max = 1'000;    // of schema in schema, through references too: the library recurses
constexpr std::size_t key_bytes_max = 1024;  // of keys that are matched against patterns by std::regex

const Json* at_pointer(const Json& root, const std::string& pointer) {
  try {
    return &root.at(Json::json_pointer(pointer));
  } catch (const Json::exception&) {
    return nullptr;
  }
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
        std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0) {
      decoded += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

Error unusable(const std::string& clause) {
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
    try {
      const boost::regex as_value_pattern(pattern, boost::regex::ECMAScript);
      const std::regex as_key_pattern(pattern);
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
    const Json* target = at_pointer(root_, percent_decoded(std::string_view(text).substr(1)));
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

Status compile(const Json& schema, valijson::Schema& compiled) {
  if (!schema.is_object() && !schema.is_boolean()) return unusable("it is " + excerpt(schema, 100));
  if (Status walked = SchemaWalk(schema).check(); !walked) return walked;
  Json local = schema;
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

// The schema written for the place, if plain steps lead there: it says best what was expected.
const Json* schema_at(const Json& root, const std::vector<std::string>& path) {
  const Json* at = &root;
  for (std::size_t i = 0; at != nullptr && i < path.size(); ++i) {
    if (i > 0) {
      const std::string key = path[i].size() > 2 ? path[i].substr(1, path[i].size() - 2) : path[i];
      const Json* member = at_pointer(*at, (Json::json_pointer("/properties") / key).to_string());
      if (member == nullptr) member = at_pointer(*at, "/items");
      at = member;
    }
    for (std::size_t hops = 0; at != nullptr && at->is_object() && at->contains("$ref"); ++hops) {
      const Json& ref = at->at("$ref");
      const bool followable = hops < levels_max && ref.is_string() && !ref.get_ref<const std::string&>().empty();
      at = followable ? at_pointer(root, percent_decoded(ref.get_ref<const std::string&>().substr(1))) : nullptr;
    }
  }
  return at;
}

Error misfit(const Json& schema, const Json& value, const valijson::ValidationResults::Error& error) {
  const std::string pointer = pointer_of(error.context);
  const Json* found = at_pointer(value, pointer);
  const Json* expected = schema_at(schema, error.context);
  std::string sentence = "Expected " + (pointer.empty() ? std::string("the value") : "the value at " + pointer);
  sentence += expected != nullptr ? " to fit " + excerpt(*expected, 300) : std::string(" to fit its schema");
  sentence += ", but found " + (found != nullptr ? excerpt(*found, 200) : std::string("nothing"));
  std::string why = error.description;
  while (!why.empty() && why.back() == '.') why.pop_back();
  return {Code::invalid, sentence + " (" + why + ")."};
}

bool has_long_key(const Json& value) {
  if (!value.is_structured()) return false;
  for (const auto& [key, member] : value.items()) {
    if ((value.is_object() && key.size() > key_bytes_max) || has_long_key(member)) return true;
  }
  return false;
}

}  // namespace

Status check_schema(const Json& schema) {
  if (schema.is_null()) return Done{};
  valijson::Schema compiled;
  return compile(schema, compiled);
}

Status check_value(const Json& schema, const Json& value) {
  if (schema.is_null()) return Done{};
  valijson::Schema compiled;
  if (Status usable = compile(schema, compiled); !usable) return usable;
  if (has_long_key(value)) {
    return Error{Code::invalid,
                 "Expected keys of at most " + std::to_string(key_bytes_max) + " bytes, but found a longer one."};
  }
  try {
    valijson::Validator validator;
    valijson::ValidationResults results;
    if (validator.validate(compiled, valijson::adapters::NlohmannJsonAdapter(value), &results)) return Done{};
    if (results.begin() == results.end())
      return Error{Code::invalid, "Expected no value here, but found " + excerpt(value, 200) + "."};
    return misfit(schema, value, *results.begin());
  } catch (const std::exception& error) {
    return Error{Code::invalid,
                 "Expected to check " + excerpt(value, 200) + " against its schema, but " + error.what() + "."};
  }
}

}  // namespace cairn
