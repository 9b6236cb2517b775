#include "workers/planners/venture_scope/profile.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>

#include "engine/embedded.hpp"
#include "workers/planners/venture_scope/formula.hpp"

namespace cairn {
namespace {

constexpr std::size_t fields_max = 500;
constexpr std::string_view ending = ".json";

using Faults = std::vector<std::string>;

// [a-z_][a-z0-9_]*, several with dots between: as formulas write names.
bool is_path(const std::string& text) {
  bool begins = true;
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || c == '_';
    const bool is_inner = is_letter || (c >= '0' && c <= '9');
    if (begins ? !is_letter : !(is_inner || c == '.')) return false;
    begins = c == '.';
  }
  return !begins;
}

bool is_one_of(const Json& value, std::initializer_list<const char*> words) {
  return value.is_string() && std::any_of(words.begin(), words.end(), [&](const char* word) { return value == word; });
}

bool is_texts(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& text) { return text.is_string() && text != ""; });
}

// One profile's faults, gathered while it is walked over.
class ProfileCheck {
 public:
  explicit ProfileCheck(const Json& profile) : profile_(profile) {}

  Status verify() {
    shape();
    if (faults_.empty()) names();
    if (faults_.empty()) cycles();
    return faults_.empty() ? Status(Done{}) : Error{Code::invalid, faults_.front()};
  }

 private:
  void expected(const std::string& what, const Json& found) {
    faults_.push_back("Expected " + what + ", but found " + excerpt(found, 100) + ".");
  }

  void shape() {
    if (!profile_.is_object() || !profile_.value("fields", Json()).is_object() || profile_["fields"].empty())
      return expected("a profile with fields", profile_);
    if (profile_["fields"].size() > fields_max)
      return expected("at most " + std::to_string(fields_max) + " fields", profile_["fields"].size());
    if (!profile_.value("name", Json("")).is_string()) expected("a text as the profile's name", profile_["name"]);
    if (!profile_.value("auto_finish", Json(true)).is_boolean())
      expected("true or false as auto_finish", profile_["auto_finish"]);
    search(profile_.value("search", Json::object()));
    fields(profile_["fields"]);
    const Json decompositions = profile_.value("decompositions", Json::object());
    if (!decompositions.is_object()) return expected("an object as decompositions", decompositions);
    for (const auto& [path, rule] : decompositions.items()) {
      const bool is_whole = rule.is_object() && rule.value("formula", Json()).is_string() &&
                            rule.value("fields", Json::object()).is_object();
      if (!is_whole) return expected("a decomposition of " + path + " with a formula and fields", rule);
      fields(rule.value("fields", Json::object()));
      if (!paths_.contains(path)) expected("a field that " + path + " could be", "a decomposition without one");
    }
  }

  void search(const Json& search) {
    if (!search.is_object()) return expected("an object as search", search);
    for (const char* name : {"tool", "corpus"})
      if (!search.value(name, Json("")).is_string()) expected(std::string("a text as search/") + name, search[name]);
    const Json limit = search.value("limit", Json(5));
    if (!limit.is_number_integer() || limit < 1 || limit > 20) expected("search/limit to be 1 to 20", limit);
  }

  void fields(const Json& fields) {
    for (const auto& [path, field] : fields.items()) {
      paths_.insert(path);
      if (!is_path(path)) expected("a field's path like product.price", path);
      if (!field.is_object()) return expected("field " + path + " to be an object", field);
      one_field("field " + path, field);
    }
  }

  void one_field(const std::string& what, const Json& field) {
    const Json type = field.value("type", Json("number"));
    if (!is_one_of(type, {"number", "share", "money", "text"}))
      expected("the type of " + what + " to be number, share, money or text", type);
    for (const char* name : {"title", "unit", "formula", "query", "question"})
      if (!field.value(name, Json("")).is_string()) expected(std::string("a text as ") + name + " of " + what, field);
    if (field.contains("reads") && (field["reads"] != "product" || type != "text"))
      expected(what + " to be a text that reads \"product\"", field);
    for (const char* name : {"min", "max"})
      if (!field.value(name, Json(0)).is_number()) expected(std::string("a number as ") + name + " of " + what, field);
    for (const char* name : {"required", "requires_components"})
      if (!field.value(name, Json(true)).is_boolean())
        expected(std::string(name) + " of " + what + " to be true", field);
    const Json sources = field.value("sources", Json::array({"user"}));
    const bool are_sources = is_texts(sources) && std::all_of(sources.begin(), sources.end(), [](const Json& source) {
                               return is_one_of(source, {"search", "user"});
                             });
    if (!are_sources) return expected("the sources of " + what + " to be search or user", sources);
    const bool is_searched = std::find(sources.begin(), sources.end(), "search") != sources.end();
    const Json find = field.value("find", Json::object());
    const bool can_find = find.is_object() && is_texts(find.value("about", Json())) && !find["about"].empty() &&
                          is_texts(find.value("context", Json::array()));
    if (is_searched && (!can_find || type == "text"))
      expected(what + " to be a number and to say what to find it by, for it is searched", field);
  }

  void names() {
    const auto check = [this](const std::string& path, const Json& formula) {
      const Result<std::vector<std::string>> names = names_in(formula.get<std::string>());
      if (!names) return faults_.push_back(names.error().message);
      for (const std::string& name : *names) {
        if (!paths_.contains(name)) expected("the formula of " + path + " to name fields", name);
        after_[path].insert(name);
      }
    };
    const Json decompositions = profile_.value("decompositions", Json::object());
    const auto check_fields = [&check](const Json& fields) {
      for (const auto& [path, field] : fields.items())
        if (field.contains("formula")) check(path, field["formula"]);
    };
    check_fields(profile_["fields"]);
    for (const auto& [path, rule] : decompositions.items()) {
      check(path, rule["formula"]);
      check_fields(rule.value("fields", Json::object()));
    }
    const Json calculator = profile_.value("calculator", Json());
    if (calculator.is_null()) return;
    const Json target = calculator.is_object() ? calculator.value("target", Json()) : Json();
    const bool has_formula = target.is_string() && profile_["fields"].contains(target.get<std::string>()) &&
                             profile_["fields"][target.get<std::string>()].contains("formula");
    if (!has_formula) expected("the calculator's target to be a field with a formula", calculator);
  }

  void cycles() {
    std::set<std::string> done;
    std::set<std::string> above;
    const std::function<void(const std::string&)> walk = [&](const std::string& path) {
      if (above.contains(path)) return expected("formulas without a cycle", path);
      if (!done.insert(path).second) return;
      above.insert(path);
      for (const std::string& name : after_[path]) walk(name);
      above.erase(path);
    };
    for (const std::string& path : paths_) walk(path);
  }

  const Json& profile_;
  Faults faults_;
  std::set<std::string> paths_;
  std::map<std::string, std::set<std::string>> after_;
};

void write_out(Json& fields) {
  for (const auto& [path, field] : fields.items()) {
    Json whole = {
        {"title", path}, {"type", "number"}, {"unit", ""}, {"required", true}, {"requires_components", false}};
    if (!field.contains("formula")) whole["sources"] = {"user"};
    whole.update(field);
    fields[path] = std::move(whole);
  }
}

Result<Json> named_profile(const std::string& name) {
  for (const EmbeddedFile& file : profile_files())
    if (file.name == name + std::string(ending)) return parse_json(file.text, "the profile " + name);
  std::string known;
  for (const std::string& each : profile_names()) known += (known.empty() ? "" : ", ") + each;
  return Error{Code::not_found, "Expected a profile (" + known + "), but there is none named \"" + name + "\"."};
}

}  // namespace

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : profile_files())
    names.emplace_back(file.name.substr(0, file.name.size() - ending.size()));
  return names;
}

Result<Json> read_profile(const Json& wanted) {
  const bool is_name = wanted.is_null() || wanted.is_string();
  Result<Json> read =
      is_name ? named_profile(wanted.is_null() ? profile_default : wanted.get<std::string>()) : Result<Json>(wanted);
  if (!read) return read;
  Json profile = *std::move(read);
  if (const Status verified = ProfileCheck(profile).verify(); !verified) return verified.error();
  Json whole = {{"name", "given"}, {"auto_finish", true}, {"decompositions", Json::object()}};
  whole.update(profile);
  Json search = {{"tool", "corpus_search"}, {"corpus", "example"}, {"limit", 5}};
  search.update(profile.value("search", Json::object()));
  whole["search"] = std::move(search);
  write_out(whole["fields"]);
  for (auto& [path, rule] : whole["decompositions"].items()) {
    if (!rule.contains("fields")) rule["fields"] = Json::object();
    write_out(rule["fields"]);
  }
  return whole;
}

}  // namespace cairn
