#include "engine/definition_fields.hpp"

#include <algorithm>
#include <utility>

#include "engine/nearest.hpp"

namespace cairn {

DefinitionFields::DefinitionFields(const Json& asked, std::string of, const std::vector<std::string>& known)
    : asked_(asked), of_(std::move(of)) {
  if (!asked.is_object()) {
    keep({Code::invalid, "Expected a " + of_ + " as an object, but found another value."});
    return;
  }
  for (auto field = asked.begin(); field != asked.end(); ++field)
    if (std::find(known.begin(), known.end(), field.key()) == known.end())
      keep({Code::invalid, "Expected the fields of a " + of_ + ", but found " + excerpt(Json(field.key()), 60) +
                               did_you_mean(field.key(), known) + "."});
}

const Json* DefinitionFields::find(const char* name) const {
  if (!asked_.is_object()) return nullptr;
  const auto found = asked_.find(name);
  return found == asked_.end() || found->is_null() ? nullptr : &*found;
}

std::string DefinitionFields::text(const char* name, std::size_t bytes_max) {
  const Json* value = find(name);
  if (value == nullptr) return "";
  if (value->is_string()) {
    const std::string& text = value->get_ref<const std::string&>();
    if (!text.empty() && text.size() <= bytes_max && text.find('\0') == std::string::npos) return text;
  }
  refuse("a text of 1 to " + std::to_string(bytes_max) + " bytes as " + name, *value);
  return "";
}

std::int64_t DefinitionFields::number(const char* name, std::int64_t least, std::int64_t most, std::int64_t without) {
  const Json* value = find(name);
  if (value == nullptr) return without;
  if (value->is_number_integer() && *value >= least && *value <= most) return value->get<std::int64_t>();
  refuse("a whole number from " + std::to_string(least) + " to " + std::to_string(most) + " as " + name, *value);
  return without;
}

Error DefinitionFields::unlike(const std::string& expected, const Json& found) const {
  return {Code::invalid, "Expected " + expected + " of a " + of_ + ", but found " + excerpt(found, 60) + "."};
}

void DefinitionFields::keep(Error fault) {
  if (!fault_) fault_ = std::move(fault);
}

Status check_definition_name(std::string_view name, const std::string& of, std::size_t bytes_max) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto may_stand = [&](char c) { return is_plain(c) || c == '.' || c == '_' || c == '-'; };
  if (!name.empty() && name.size() <= bytes_max && is_plain(name.front()) &&
      std::all_of(name.begin(), name.end(), may_stand))
    return Done{};
  return Error{Code::invalid, "Expected a name of a " + of + " of 1 to " + std::to_string(bytes_max) +
                                  " letters, digits, dots, underscores and hyphens, but found " +
                                  excerpt(Json(name), 60) + "."};
}

}  // namespace cairn
