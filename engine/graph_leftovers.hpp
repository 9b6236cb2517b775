// The warnings about a graph that may run, but has what likely is a slip: braces that nothing closes, references with a
// key too many, fields that $error has not, budgets and channels that nothing uses, fewer steps than any way to an end
// has, waits beyond the time of a run, calls of the graph itself that no way avoids. Pure functions, safe from any
// thread.
#pragma once

#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/graph_check.hpp"

namespace cairn {

// One plain sentence for each. Nothing is said of budgets and channels that a handler without declared settings may
// use.
std::vector<std::string> leftovers(const Graph& graph, const Handlers& handlers);

}  // namespace cairn
