// The description of the API for the runs of one graph: an OpenAPI 3.1 document with the start of a run, whose input is
// the graph's, and the run, whose output is. Pure functions, safe from any thread.
#pragma once

#include "engine/graph.hpp"

namespace cairn {

Json graph_description(const Graph& graph);

}  // namespace cairn
