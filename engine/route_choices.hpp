// Route choices: the steps whose choice of an edge decided that a node was reached, which is the dynamic control
// dependence of a run on its graph. A node that is reached whatever a step chose does not depend on that step: not the
// node after a join, and not the one at which two edges meet again. An edge for failures (`error`, `exhausted`, a
// call's `failed`, a map's `partial`) counts where it was taken: that a step might have failed is no choice of its own.
// A fan-out takes all of its edges. Not thread-safe.
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/graph.hpp"

namespace cairn {

class RouteChoices {
 public:
  // Whether a step on `at`, which left by `label`, had an edge by which the run may have ended without `reached`.
  // REQUIRES: both are nodes of the graph.
  bool decides(const GraphRef& graph, NodeIndex at, std::string_view label, NodeIndex reached);

 private:
  const std::vector<bool>& avoiding(const GraphRef& graph, NodeIndex reached);

  std::map<std::pair<const Graph*, NodeIndex>, std::vector<bool>> avoiding_;
  std::vector<GraphRef> kept_;  // the graphs of those keys
};

}  // namespace cairn
