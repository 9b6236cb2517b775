// Graphs that a caller brings: POST /graphs and /graphs/check, and the graph of a fork or a move. Used by one thread.
#pragma once

#include <optional>

#include "engine/graph.hpp"
#include "ops/http/route_call.hpp"

namespace cairn {

RouteReply add_graph(RouteCall& call);
RouteReply check_a_graph(RouteCall& call);

// The graph, checked and not stored yet. The answer is 403 for one that the caller may not bring, and 400 with all
// `faults` for one that has some.
Result<GraphRef, ApiResponse> brought_graph(RouteCall& call, const Json& text);

// 403 for a graph that works on queues beyond the scope.
ApiStatus check_queues(const Scope& scope, const Graph& graph);

}  // namespace cairn
