#include "ops/http/graph_routes.hpp"

#include "ops/answers/graph_formats.hpp"
#include "ops/answers/graph_surroundings.hpp"
#include "ops/http/bodies/bodies.hpp"

namespace cairn {
namespace {

// Looks at the name alone, so that nothing is kept of a graph that may not be brought.
ApiStatus check_graph_name(const RouteCall& call, const Json& graph) {
  const Access& access = call.caller->access;
  if (!access.may(ApiRole::operate)) return role_refusal(*call.caller, ApiRole::operate);
  const Json name = graph.is_object() ? graph.value("name", Json()) : Json();
  if (!name.is_string()) return Done{};  // a fault of the graph
  if (is_built_in(*call.side.opened.catalogue, name) && !access.may(ApiRole::admin))
    return forbidden_response("Expected a token with the role admin for the built-in graph " + name.get<std::string>() +
                              ", but " + call.caller->token + " has it not.");
  if (!access.scope.covers_graph(name))
    return forbidden_response("Expected a graph of this token's scope, but found " + name.get<std::string>() + ".");
  return Done{};
}

ApiStatus check_limits(const RouteCall& call, const Graph& graph) {
  const GraphLimits& most = call.parts.graphs;
  if (call.caller->access.may(ApiRole::admin)) return Done{};
  if (graph.steps_max > most.steps)
    return forbidden_response("Expected limits.steps of at most " + std::to_string(most.steps) + ", but found " +
                              std::to_string(graph.steps_max) + "; more needs the role admin.");
  for (const Node& node : graph.nodes)
    if (node.retry.attempts > most.attempts)
      return forbidden_response("Expected retry.attempts of at most " + std::to_string(most.attempts) + " at node " +
                                node.name + ", but found " + std::to_string(node.retry.attempts) +
                                "; more needs the role admin.");
  return Done{};
}

ApiStatus check_graph(const RouteCall& call, const Graph& graph) {
  if (ApiStatus passed = check_limits(call, graph); !passed) return passed;
  if (ApiStatus passed = check_queues(call.scope(), graph); !passed) return passed;
  for (const Node& node : graph.nodes)
    if (const auto* calls = node.call(); calls != nullptr && !call.scope().covers_graph(calls->graph))
      return forbidden_response("Expected calls within this token's scope, but node " + node.name + " calls " +
                                calls->graph + ".");
  return Done{};
}

// Names of graphs beyond the scope are left out.
Surroundings surroundings(RouteCall& call) {
  Surroundings around = deployed_surroundings(*call.side.opened.catalogue, call.client, call.store());
  std::erase_if(*around.graphs, [&call](const std::string& name) { return !call.scope().covers_graph(name); });
  return around;
}

// All faults, which a person mends one by one, next to a sentence that has the first.
ApiResponse faulty_response(const std::vector<std::string>& faults) {
  const std::string first = faults.front();
  const std::string says = faults.size() == 1
                               ? first
                               : "Expected a graph without faults, but found " + std::to_string(faults.size()) +
                                     ", of which this is the first: " + first;
  return error_response(400, to_string(Code::invalid), says, {{"faults", faults}});
}

}  // namespace

ApiStatus check_queues(const Scope& scope, const Graph& graph) {
  const Status covered = queues_in_scope(scope, graph);
  if (covered) return Done{};
  return forbidden_response(covered.error().message);
}

Result<GraphRef, ApiResponse> brought_graph(RouteCall& call, const Json& text) {
  if (ApiStatus passed = check_graph_name(call, text); !passed) return std::move(passed).error();
  const Result<GraphRef> graph = call.client.try_graph(text);
  if (!graph) {
    const GraphReview review = review_graph(text, surroundings_of(*call.side.opened.catalogue));
    return review.faults.empty() ? error_response(graph.error()) : faulty_response(review.faults);
  }
  if (ApiStatus passed = check_graph(call, **graph); !passed) return std::move(passed).error();
  return *graph;
}

RouteReply add_graph(RouteCall& call) {
  const Result<Json> graph = graph_body(call.request);
  if (!graph) return graph.error();
  Result<GraphRef, ApiResponse> added = brought_graph(call, *graph);
  if (!added) return std::move(added).error();
  call.client.store_graph(*added, true);
  const GraphReview review = review_graph(*graph, surroundings(call));
  const std::string& name = (*added)->name;
  return created_response({{"name", name}, {"version", (*added)->version}, {"warnings", review.warnings}}, "graphs",
                          name);
}

RouteReply check_a_graph(RouteCall& call) {
  const Result<Json> graph = graph_body(call.request);
  if (!graph) return graph.error();
  return json_response(review_json(review_graph(*graph, surroundings(call))), 200);
}

}  // namespace cairn
