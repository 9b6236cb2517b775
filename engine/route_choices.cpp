#include "engine/route_choices.hpp"

#include <algorithm>

namespace cairn {
namespace {

bool is_for_failures(const Node& node, std::string_view label) {
  if (label == "error" || label == "exhausted") return true;
  if (node.verb() == Verb::call) return label == "failed" || label == "aborted";
  return node.verb() == Verb::map && label == "partial";
}

struct Departure {  // of one label
  NodeIndex from = -1;
  std::size_t undecided = 0;  // its targets from which no way around is known yet
};

}  // namespace

// The nodes from which the run may come to an end without `reached`, found from the ends backward. A node with several
// targets for one label leaves to all of them, so each must have a way around.
const std::vector<bool>& RouteChoices::avoiding(const GraphRef& graph, NodeIndex reached) {
  const auto [entry, is_new] = avoiding_.try_emplace({graph.get(), reached});
  std::vector<bool>& avoids = entry->second;
  if (!is_new) return avoids;
  if (std::find(kept_.begin(), kept_.end(), graph) == kept_.end()) kept_.push_back(graph);
  avoids.resize(graph->nodes.size());
  std::vector<Departure> departures;
  std::vector<std::vector<std::size_t>> arriving(graph->nodes.size());
  std::vector<NodeIndex> found;
  for (NodeIndex at = 0; at < std::ssize(graph->nodes); ++at) {
    const Node& node = graph->node(at);
    if (at != reached && node.verb() == Verb::end) {
      avoids[static_cast<std::size_t>(at)] = true;
      found.push_back(at);
    }
    for (const auto& [label, targets] : node.on) {
      if (is_for_failures(node, label)) continue;
      for (const NodeIndex target : targets) arriving[static_cast<std::size_t>(target)].push_back(departures.size());
      departures.push_back({at, targets.size()});
    }
  }
  while (!found.empty()) {
    const NodeIndex around = found.back();
    found.pop_back();
    for (const std::size_t place : arriving[static_cast<std::size_t>(around)]) {
      Departure& departure = departures[place];
      const auto from = static_cast<std::size_t>(departure.from);
      if (--departure.undecided > 0 || departure.from == reached || avoids[from]) continue;
      avoids[from] = true;
      found.push_back(departure.from);
    }
  }
  return avoids;
}

bool RouteChoices::decides(const GraphRef& graph, NodeIndex at, std::string_view label, NodeIndex reached) {
  const std::vector<bool>& avoids = avoiding(graph, reached);
  const Node& node = graph->node(at);
  const std::vector<NodeIndex>* taken = graph->next(at, label);
  return std::any_of(node.on.begin(), node.on.end(), [&](const auto& edge) {
    if (is_for_failures(node, edge.first) && &edge.second != taken) return false;
    return std::all_of(edge.second.begin(), edge.second.end(),
                       [&](NodeIndex target) { return avoids[static_cast<std::size_t>(target)]; });
  });
}

}  // namespace cairn
