#include "ops/mcp/graph_resources.hpp"

#include <algorithm>
#include <set>

#include "workers/ports/untrusted_text.hpp"
#include "workers/schemas/percent_encoding.hpp"

namespace cairn {
namespace {

bool is_value_letter(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return is_letter || c == '-' || c == '.' || c == '_' || c == '~' || c == '%';
}

// Nothing: no value is written so.
std::optional<std::string> value_written(std::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_value_letter) || !is_percent_encoded(text))
    return std::nullopt;
  std::string value = without_percents(text);
  return is_utf8(value) ? std::optional(std::move(value)) : std::nullopt;
}

// Where the value ends that `rest` begins with; npos: nowhere.
std::size_t end_of_value(std::string_view rest, const std::string& after, bool is_last) {
  if (!is_last) return rest.find(after, 1);
  return rest.ends_with(after) ? rest.size() - after.size() : std::string_view::npos;
}

}  // namespace

std::vector<ExposedGraph> graph_resources(const McpHost& host) {
  std::vector<ExposedGraph> resources = exposed_graphs(host);
  std::set<std::string> claimed;
  std::erase_if(resources, [&claimed](const ExposedGraph& one) {
    return one.exposed.resource.empty() || !claimed.insert(one.exposed.resource).second;
  });
  return resources;
}

bool is_template(const ExposedGraph& resource) { return resource.exposed.resource.find('{') != std::string::npos; }

Json resource_json(const ExposedGraph& resource) {
  Json shown = {{is_template(resource) ? "uriTemplate" : "uri", resource.exposed.resource},
                {"name", resource.graph->name},
                {"description", resource.exposed.description}};
  if (!resource.exposed.mime_type.empty()) shown["mimeType"] = resource.exposed.mime_type;
  return shown;
}

std::optional<Json> values_in(const std::string& uri, const ResourceAddress& address) {
  if (!uri.starts_with(address.texts.front())) return std::nullopt;
  std::string_view rest = std::string_view(uri).substr(address.texts.front().size());
  Json values = Json::object();
  for (std::size_t at = 0; at < address.names.size(); ++at) {
    const std::string& after = address.texts[at + 1];
    const std::size_t end = end_of_value(rest, after, at + 1 == address.names.size());
    if (end == std::string_view::npos) return std::nullopt;
    std::optional<std::string> value = value_written(rest.substr(0, end));
    if (!value) return std::nullopt;
    values[address.names[at]] = *std::move(value);
    rest.remove_prefix(end + after.size());
  }
  return rest.empty() ? std::optional(std::move(values)) : std::nullopt;
}

std::optional<GraphCall> graph_read(const McpHost& host, const std::string& uri) {
  std::optional<GraphCall> read;
  for (const ExposedGraph& one : graph_resources(host)) {
    const bool is_other = read && is_template(one);  // one that names the URI itself goes before a template
    const std::optional<ResourceAddress> address = resource_address(one.exposed.resource);
    std::optional<Json> values = is_other || !address ? std::nullopt : values_in(uri, *address);
    if (!values) continue;
    read = GraphCall{one.graph, "resource " + excerpt(Json(uri), 100), *std::move(values),
                     ResourceRead{uri, one.exposed.mime_type}};
    if (!is_template(one)) break;
  }
  return read;
}

}  // namespace cairn
