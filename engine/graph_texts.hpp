// Texts of a graph that resemble references to its channels and stand for themselves, as "Total is $n" does. Pure
// functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/graph_check.hpp"

namespace cairn {

// A sentence for each, in the order of the nodes' names. Only names of known channels are suspected: others may be
// prices, patterns or templates of another program.
std::vector<std::string> texts_for_themselves(const Graph& graph, const Handlers& handlers);

}  // namespace cairn
