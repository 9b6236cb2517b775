// Readers for the fields of a request's body. Each refuses `invalid` with one sentence that says what was expected and
// what was found. Plain values; not thread-safe.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/command.hpp"
#include "ops/http/transport/message.hpp"

namespace cairn {

using FieldNames = std::initializer_list<std::string_view>;

Error bad_request(std::string sentence);
std::string joined(FieldNames names);  // for a sentence
bool is_one_of(std::string_view name, FieldNames names);

// A name of at most as many bytes as the database looks up; `as` stands in the sentence.
Status check_name_here(const std::string& given, const std::string& as);

Result<Json> json_body(const ApiRequest& request);
// An object with only known fields.
Result<Json> known_fields(Json body, FieldNames known);
// A body that is one, or empty.
Result<Json> object_body(const ApiRequest& request, FieldNames known);

// The fields of such an object. The first fault is kept: result() gives it in place of what was read.
class Fields {
 public:
  Fields(const ApiRequest& request, FieldNames known) : Fields(object_body(request, known)) {}
  explicit Fields(Result<Json> body);

  // `read`, if no field had a fault.
  template <class T>
  Result<T> result(T read) const {
    if (fault_) return *fault_;
    return read;
  }

  bool has(const char* name) const { return fields_.contains(name) && !fields_[name].is_null(); }
  const Json& value(const char* name) const { return fields_.at(name); }  // REQUIRES: has(name)

  // Without the field: null, "", an empty list or object, false. The needed ones refuse then.
  Json needed(const char* name);
  std::string text(const char* name);
  std::string needed_text(const char* name);
  std::string name(const char* field);  // a text that is looked up in the database
  std::string needed_name(const char* field);
  std::vector<std::string> texts(const char* name);
  std::vector<std::string> names(const char* name);
  Json object(const char* name);
  std::vector<Json> objects(const char* name);
  bool flag(const char* name);
  std::int64_t number(const char* name);  // needed, and above 0
  std::int64_t number_between(const char* name, std::int64_t least, std::int64_t most, std::int64_t without);
  Tags tags();
  Options options();

  void refuse(const Error& fault);

 private:
  void check(const Status& fine);
  void refuse_kind(const char* name, const std::string& kind);
  // False without the field, and for a fault.
  bool is_of_kind(const char* name, bool (Json::*is_kind)() const noexcept, const std::string& kind);

  Json fields_ = Json::object();
  std::optional<Error> fault_;
};

}  // namespace cairn
