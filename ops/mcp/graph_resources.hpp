// The graphs that are resources: how resources/list and resources/templates/list show them, and which one a URI names.
// Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/mcp/graph_calls.hpp"

namespace cairn {

// Those of the caller, by the graph's name. If two graphs claim one address, the one that comes first is the resource.
std::vector<ExposedGraph> graph_resources(const McpHost& host);

bool is_template(const ExposedGraph& resource);
// As the lists show it.
Json resource_json(const ExposedGraph& resource);

// The values that stand in the URI for the names of the address, without percent encoding. Nothing: the URI is not of
// this address. A value has at least one byte, all of them unreserved or encoded, and is UTF-8; it ends where the text
// after its name stands first, the last one where that text ends the URI.
std::optional<Json> values_in(const std::string& uri, const ResourceAddress& address);

// The read of a URI. Nothing: no graph of the caller is that resource.
std::optional<GraphCall> graph_read(const McpHost& host, const std::string& uri);

}  // namespace cairn
