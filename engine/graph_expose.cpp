#include "engine/graph_expose.hpp"

#include <algorithm>

#include "engine/corrupt_history.hpp"

namespace cairn {
namespace {

constexpr std::size_t tool_name_max = 64;
constexpr std::size_t description_max = 4'096;

bool is_tool_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

bool is_tool_name(const Json& value) {
  if (!value.is_string()) return false;
  const auto& name = value.get_ref<const std::string&>();
  return !name.empty() && name.size() <= tool_name_max && std::all_of(name.begin(), name.end(), is_tool_letter);
}

bool is_description(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return !text.empty() && text.size() <= description_max;
}

std::string found(const Json& expose, const char* key) {
  return expose.contains(key) ? "it is " + excerpt(expose[key], 60) : "it is missing";
}

}  // namespace

std::vector<std::string> expose_faults(const Json& expose) {
  if (!expose.is_object())
    return {"Expected the graph's expose to be an object, but it is " + excerpt(expose, 60) + "."};
  std::vector<std::string> faults;
  for (const auto& entry : expose.items())
    if (entry.key() != "tool" && entry.key() != "description")
      faults.push_back("Expected the graph's expose to have only the keys tool, description, but it has " +
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
  return faults;
}

std::optional<Exposed> exposed(const Graph& graph) {
  if (graph.text.find("\"expose\"") == std::string::npos) return std::nullopt;
  const Json text = Json::parse(graph.text, nullptr, false);
  const auto expose = text.find("expose");
  if (expose == text.end()) return std::nullopt;
  if (const auto faults = expose_faults(*expose); !faults.empty()) throw CorruptHistory(faults.front());
  return Exposed{expose->value("tool", graph.name), expose->at("description").get<std::string>()};
}

}  // namespace cairn
