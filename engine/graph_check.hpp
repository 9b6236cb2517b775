// The check of a graph before it is accepted: finds every fault of its text at once, so that no fault is left for a run
// to meet. Pure functions, safe from any thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/json.hpp"

namespace cairn {

// A handler as the check sees it: the labels it may leave by.
struct HandlerLabels {
  std::set<std::string> labels;
  bool declared_by_node = false;  // a node's own "labels" are the list; `labels` if it has none
  bool is_pure = true;            // only a pure handler may be cached
};
using Handlers = std::map<std::string, HandlerLabels, std::less<>>;

// Every fault of a graph, one plain sentence each, in the order of the text; empty if it may run.
// Known handlers are those of `handlers`; a `do` with any other must declare its labels in the graph.
std::vector<std::string> graph_faults(const Json& graph, const Handlers& handlers);

}  // namespace cairn
