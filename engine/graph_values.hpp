// The findings about a graph that the values in its channels show: a pointer into what is never an object or a list, a
// channel that is given what its reducer cannot take, a value to pick by that has no label. Pure functions, safe from
// any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/graph_check.hpp"

namespace cairn {

struct ValueFindings {
  std::vector<std::string> faults;
  std::vector<std::string> warnings;  // a condition on the way may keep such a value from the node
};

// One plain sentence for each, in the order of the nodes' names. A run's input, an operator or a handler without
// declared settings may bring anything; a channel with more than 60 writers counts as one of those.
ValueFindings value_findings(const Graph& graph, const Handlers& handlers);

}  // namespace cairn
