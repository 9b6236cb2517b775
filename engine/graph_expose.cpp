#include "engine/graph_expose.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/corrupt_history.hpp"

namespace cairn {
namespace {

constexpr std::size_t tool_name_max = 64;
constexpr std::size_t description_max = 4'096;
constexpr std::size_t resource_max = 500;
constexpr std::size_t mime_type_max = 100;
constexpr std::array<std::string_view, 4> keys = {"tool", "description", "resource", "mime_type"};

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return is_small(c) || (c >= 'A' && c <= 'Z'); }
bool is_one_of(char c, std::string_view letters) { return letters.find(c) != std::string_view::npos; }

bool is_tool_letter(char c) { return is_letter(c) || is_digit(c) || is_one_of(c, "_-."); }
bool is_name_letter(char c) { return is_small(c) || is_digit(c) || c == '_'; }
bool is_scheme_letter(char c) { return is_small(c) || is_digit(c) || is_one_of(c, "+.-"); }
bool is_type_letter(char c) { return is_letter(c) || is_digit(c) || is_one_of(c, "+.-"); }
// Without a fragment and without percent encoding.
bool is_uri_letter(char c) { return is_letter(c) || is_digit(c) || is_one_of(c, "._~:/?@!$&'()*+,;=-"); }
bool is_printed(char c) { return c >= ' ' && c <= '~'; }

bool are_all(std::string_view text, bool (*is_it)(char)) { return std::all_of(text.begin(), text.end(), is_it); }

bool is_tool_name(const Json& value) {
  if (!value.is_string()) return false;
  const auto& name = value.get_ref<const std::string&>();
  return !name.empty() && name.size() <= tool_name_max && are_all(name, is_tool_letter);
}

bool is_description(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return !text.empty() && text.size() <= description_max;
}

bool is_resource(const Json& value) {
  return value.is_string() && resource_address(value.get_ref<const std::string&>()).has_value();
}

// "text/plain", with parameters after a semicolon.
bool is_mime_type(const Json& value) {
  if (!value.is_string()) return false;
  const std::string_view text = value.get_ref<const std::string&>();
  const std::string_view type = text.substr(0, text.find(';'));
  const std::size_t slash = type.find('/');
  if (text.size() > mime_type_max || slash == std::string_view::npos || slash == 0 || slash + 1 == type.size())
    return false;
  return are_all(type.substr(0, slash), is_type_letter) && are_all(type.substr(slash + 1), is_type_letter) &&
         are_all(text, is_printed);
}

bool has_scheme(std::string_view resource) {
  const std::size_t end = resource.find(':');
  return end != std::string_view::npos && end + 1 < resource.size() && end > 0 && is_small(resource.front()) &&
         are_all(resource.substr(0, end), is_scheme_letter);
}

std::string found(const Json& expose, const char* key) {
  return expose.contains(key) ? "it is " + excerpt(expose[key], 60) : "it is missing";
}

void add_resource_faults(const Json& expose, std::vector<std::string>& faults) {
  if (expose.contains("resource") && !is_resource(expose["resource"]))
    faults.push_back(
        "Expected the resource's address to be a URI of at most 500 bytes, with {name} where a value stands, but " +
        found(expose, "resource") + ".");
  else if (expose.contains("resource") &&
           expose["resource"].get_ref<const std::string&>().starts_with(own_resource_prefix))
    faults.push_back("Expected the resource's address not to begin with cairn:, as Cairn's own resources do, but " +
                     found(expose, "resource") + ".");
  if (!expose.contains("mime_type")) return;
  if (!is_mime_type(expose["mime_type"]))
    faults.push_back("Expected the resource's mime_type to be one like text/plain of at most 100 bytes, but " +
                     found(expose, "mime_type") + ".");
  if (!expose.contains("resource"))
    faults.push_back("Expected a resource where the graph's expose has a mime_type, but it is missing.");
}

}  // namespace

std::vector<std::string> expose_faults(const Json& expose) {
  if (!expose.is_object())
    return {"Expected the graph's expose to be an object, but it is " + excerpt(expose, 60) + "."};
  std::vector<std::string> faults;
  for (const auto& entry : expose.items())
    if (std::find(keys.begin(), keys.end(), entry.key()) == keys.end())
      faults.push_back(
          "Expected the graph's expose to have only the keys tool, description, resource, mime_type, but it has " +
          excerpt(Json(entry.key()), 60) + ".");
  if (expose.contains("tool") && !is_tool_name(expose["tool"]))
    faults.push_back("Expected the tool's name to be 1 to 64 letters, digits and _-., but " + found(expose, "tool") +
                     ".");
  else if (expose.contains("tool") && expose["tool"].get_ref<const std::string&>().starts_with(own_tool_prefix))
    faults.push_back("Expected the tool's name not to begin with cairn_, as Cairn's own tools do, but " +
                     found(expose, "tool") + ".");
  if (!expose.contains("description") || !is_description(expose["description"]))
    faults.push_back("Expected the tool's description to be a text of 1 to 4096 bytes, but " +
                     found(expose, "description") + ".");
  add_resource_faults(expose, faults);
  return faults;
}

std::optional<Exposed> exposed(const Graph& graph) {
  if (graph.text.find("\"expose\"") == std::string::npos) return std::nullopt;
  const Json text = Json::parse(graph.text, nullptr, false);
  const auto expose = text.find("expose");
  if (expose == text.end()) return std::nullopt;
  if (const auto faults = expose_faults(*expose); !faults.empty()) throw CorruptHistory(faults.front());
  const bool is_resource_alone = expose->contains("resource") && !expose->contains("tool");
  return Exposed{is_resource_alone ? "" : expose->value("tool", graph.name),
                 expose->at("description").get<std::string>(), expose->value("resource", ""),
                 expose->value("mime_type", "")};
}

std::optional<ResourceAddress> resource_address(std::string_view resource) {
  if (resource.size() > resource_max || !has_scheme(resource)) return std::nullopt;
  ResourceAddress address;
  std::string text;
  for (std::size_t at = 0; at < resource.size(); ++at) {
    if (resource[at] != '{') {
      if (!is_uri_letter(resource[at])) return std::nullopt;
      text += resource[at];
      continue;
    }
    const std::size_t end = resource.find('}', at);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string name(resource.substr(at + 1, end - at - 1));
    const bool is_name = !name.empty() && is_small(name.front()) && are_all(name, is_name_letter);
    const bool is_twice = std::find(address.names.begin(), address.names.end(), name) != address.names.end();
    if (text.empty() || !is_name || is_twice) return std::nullopt;
    address.texts.push_back(std::exchange(text, ""));
    address.names.push_back(name);
    at = end;
  }
  address.texts.push_back(text);
  return address;
}

}  // namespace cairn
