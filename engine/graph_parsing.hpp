// Parsing of graphs: from JSON text to the immutable Graph, with every setting of every verb read here and nowhere
// else. A fault of a graph therefore shows when it is loaded, never in the middle of a run. Pure functions, safe from
// any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/graph_check.hpp"
#include "engine/result.hpp"

namespace cairn {

// Refuses `invalid` with the first faults. `version` is the hash of canonical(graph), made by the caller
// (the engine does not hash).
Result<GraphRef> parse_graph(const Json& graph, std::string version, const Handlers& handlers);

// The refusal of a graph with these faults: `invalid`, the first ones and how many more. REQUIRES: there is one.
Error faulty_graph(const std::vector<std::string>& faults);

// A graph that was checked when it was stored: built without a second check. Throws CorruptHistory if it is none, a
// setting of another kind included.
GraphRef stored_graph(const Json& graph, std::string version);

}  // namespace cairn
