// The review of a graph with what surrounds it, after the checks of its text: the settings of its handlers, JSON
// Schemas, channels that are read before anything writes them, and the tools, graphs, handlers and queues that it
// names. Pure functions, safe from any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/graph_check.hpp"
#include "engine/result.hpp"

namespace cairn {

using Names = std::vector<std::string>;

// The knowledge around a graph; a list that is missing is not known, and nothing is said of it.
struct Surroundings {
  Handlers handlers;
  std::string who = "this program";  // as sentences name who knows the handlers, tools and queues
  std::function<Status(const Json& schema)> check_schema;
  std::function<Status(const Json& schema, const Json& value)> check_value;
  std::optional<Names> handler_names;  // of `who`; missing: those of `handlers`
  std::optional<Names> tools;
  std::optional<Names> queues;  // that are served
  Names usual_queues;           // that a queue may be meant to be while it is not known which are served
  std::map<std::string, Names, std::less<>> tool_inputs = {};  // of the tools that say which inputs they take
  std::optional<Names> graphs;
  std::function<GraphRef(const std::string& name)> find_graph;  // null if it is not among `graphs`
};

// One plain sentence each, in the order of the text, as Findings lists them. A fault is certain from the graph alone: a
// run would meet it. A warning depends on workers, on other graphs, or on the input of a run.
struct GraphReview {
  std::vector<std::string> faults;  // those of graph_faults first
  std::vector<std::string> warnings;
};
GraphReview review_graph(const Json& graph, const Surroundings& surroundings);

// The channels that the graph's text names: declared, read or written by a node, or a field of its input. Nothing if it
// has a handler that may read and write others.
std::optional<Names> channels_of(const Graph& graph, const Handlers& handlers);

// Refuses `invalid` with the first faults.
Result<GraphRef> parse_reviewed_graph(const Json& graph, std::string version, const Surroundings& surroundings);

}  // namespace cairn
