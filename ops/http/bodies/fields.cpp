#include "ops/http/bodies/fields.hpp"

#include <algorithm>

#include "engine/bounds.hpp"
#include "ops/requests/arguments.hpp"

namespace cairn {
namespace {

constexpr std::size_t tags_max = 100;

}  // namespace

Error bad_request(std::string sentence) { return {Code::invalid, std::move(sentence)}; }

std::string joined(FieldNames names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "nothing" : text;
}

bool is_one_of(std::string_view name, FieldNames names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status check_name_here(const std::string& given, const std::string& as) {
  const Status fits = check_name(given, as);
  return fits ? fits : Status(bad_request(fits.error().message));
}

Result<Json> json_body(const ApiRequest& request) {
  Result<Json> value = parse_json(request.body, "the body");
  if (!value) return bad_request(value.error().message);
  return value;
}

Result<Json> known_fields(Json body, FieldNames known) {
  if (!body.is_object()) return bad_request("Expected a JSON object as the body, but found " + excerpt(body, 60) + ".");
  for (const auto& [name, value] : body.items())
    if (!is_one_of(name, known))
      return bad_request("Expected " + joined(known) + " in the body, but found " + excerpt(Json(name), 60) + ".");
  return body;
}

Result<Json> object_body(const ApiRequest& request, FieldNames known) {
  Result<Json> body = request.body.empty() ? Result<Json>(Json::object()) : json_body(request);
  return body ? known_fields(*std::move(body), known) : body;
}

Fields::Fields(Result<Json> body) {
  if (body)
    fields_ = *std::move(body);
  else
    refuse(body.error());
}

Json Fields::needed(const char* name) {
  if (fields_.contains(name)) return fields_[name];
  refuse(bad_request("Expected " + std::string(name) + " in the body, but it is missing."));
  return nullptr;
}

std::string Fields::text(const char* name) {
  if (!is_of_kind(name, &Json::is_string, "a text")) return "";
  return fields_[name];
}

std::string Fields::needed_text(const char* name) {
  if (needed(name).is_null() && fields_.contains(name)) refuse_kind(name, "a text");
  return text(name);
}

std::string Fields::name(const char* field) {
  std::string given = text(field);
  check(check_name_here(given, field));
  return given;
}

std::string Fields::needed_name(const char* field) {
  if (needed(field).is_null() && !fields_.contains(field)) return "";
  std::string given = name(field);
  if (given.empty()) refuse_kind(field, "a text");
  return given;
}

std::vector<std::string> Fields::texts(const char* name) {
  if (!has(name)) return {};
  const Json& given = fields_[name];
  const auto is_text = [](const Json& one) { return one.is_string(); };
  if (given.is_array() && std::all_of(given.begin(), given.end(), is_text)) return given;
  refuse_kind(name, "a list of texts");
  return {};
}

std::vector<std::string> Fields::names(const char* name) {
  std::vector<std::string> given = texts(name);
  for (const std::string& one : given) {
    check(check_name_here(one, name));
    if (one.empty()) refuse_kind(name, "a list of names");
  }
  return given;
}

Json Fields::object(const char* name) {
  if (!is_of_kind(name, &Json::is_object, "an object")) return Json::object();
  return fields_[name];
}

std::vector<Json> Fields::objects(const char* name) {
  if (!has(name)) return {};
  const Json& given = fields_[name];
  const auto is_object = [](const Json& one) { return one.is_object(); };
  if (given.is_array() && std::all_of(given.begin(), given.end(), is_object)) return given;
  refuse_kind(name, "a list of objects");
  return {};
}

bool Fields::flag(const char* name) {
  if (!is_of_kind(name, &Json::is_boolean, "true or false")) return false;
  return fields_[name];
}

std::int64_t Fields::number(const char* name) {
  const Json given = needed(name);
  if (given.is_number_integer() && given >= 1) return given;
  refuse_kind(name, "a number above 0");
  return 0;
}

std::int64_t Fields::number_between(const char* name, std::int64_t least, std::int64_t most, std::int64_t without) {
  if (!has(name)) return without;
  const Json& given = fields_[name];
  if (given.is_number_integer() && given >= least && given <= most) return given;
  refuse_kind(name, "a number from " + std::to_string(least) + " to " + std::to_string(most));
  return without;
}

Tags Fields::tags() {
  Tags tags;
  const Json given = object("tags");
  if (given.size() > tags_max)
    refuse(bad_request("Expected at most " + std::to_string(tags_max) + " tags, but found " +
                       std::to_string(given.size()) + "."));
  for (const auto& [name, value] : given.items()) {
    if (name.empty() || !value.is_string()) {
      refuse_kind("tags", "an object of texts");
      break;
    }
    check(check_name_here(name, "the name of a tag"));
    check(check_name_here(value, "the value of a tag"));
    tags[name] = value;
  }
  return tags;
}

Options Fields::options() {
  const Result<Options> read = options_of(object("options"));
  if (read) return *read;
  refuse(read.error());
  return {};
}

void Fields::refuse(const Error& fault) {
  if (!fault_) fault_ = fault;
}

void Fields::check(const Status& fine) {
  if (!fine) refuse(fine.error());
}

void Fields::refuse_kind(const char* name, const std::string& kind) {
  refuse(bad_request("Expected " + kind + " as " + name + ", but found " + excerpt(fields_.value(name, Json()), 60) +
                     "."));
}

bool Fields::is_of_kind(const char* name, bool (Json::*is_kind)() const noexcept, const std::string& kind) {
  if (!has(name)) return false;
  if ((fields_[name].*is_kind)()) return true;
  refuse_kind(name, kind);
  return false;
}

}  // namespace cairn
