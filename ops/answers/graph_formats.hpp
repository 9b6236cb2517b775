// Graphs as text: list entries, JSON and drawings. Not thread-safe.
#pragma once

#include <string>

#include "workers/catalogue.hpp"
#include "workers/client.hpp"

namespace cairn {

// A list entry: {"name", "version", "current", "built_in", "at"?, "actor"?}: when and by whom it was added or last made
// current; whether the program brings along a graph of that name.
Json graph_json(const GraphRow& row, const Catalogue& catalogue);

Error no_such_graph(const std::string& name);  // `not_found`

// By its name (the current version) or a version. Refuses `not_found`, and as Client::find_graph does.
Result<GraphRef> find_graph(Client& client, const std::string& name);

// As indented JSON, or drawn: `format` is json, mermaid, dot or svg, which the program dot draws. Refuses
// `unsupported`: that program is missing; `limit`: it takes more than 10 s, 512 MiB or 8 MiB of drawing, or two of this
// process draw now.
Result<std::string> graph_as(const Graph& graph, const std::string& format);

}  // namespace cairn
