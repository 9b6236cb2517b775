// Drawings of a graph as Mermaid and Graphviz text, from the graph alone. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "engine/graph.hpp"

namespace cairn {

std::string mermaid(const Graph& graph);
std::string dot(const Graph& graph);

}  // namespace cairn
