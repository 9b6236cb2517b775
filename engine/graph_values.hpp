// The faults of a graph that the values in its channels show: a pointer into what is never an object or a list, a
// channel that is given what its reducer cannot take, a value to pick by that has no label. Pure functions, safe from
// any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/graph_check.hpp"

namespace cairn {

// One plain sentence for each, in the order of the nodes' names. A run's input, an operator or a handler without
// declared settings may bring anything; a channel with more than 60 writers counts as one of those.
std::vector<std::string> value_faults(const Graph& graph, const Handlers& handlers);

}  // namespace cairn
