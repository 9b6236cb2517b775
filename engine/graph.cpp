#include "engine/graph.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cairn {
namespace {

constexpr std::array<std::string_view, 6> verb_words{"do", "ask", "map", "wait", "call", "end"};
constexpr std::array<std::string_view, 5> reducer_words{"last", "append", "merge", "sum", "max"};

}  // namespace

const MapNode::Items* Node::items() const {
  const auto* map = as<MapNode>();
  return map != nullptr && map->items ? &*map->items : nullptr;
}

const DoNode* Node::work() const { return items() == nullptr ? as<DoNode>() : std::get_if<DoNode>(&items()->each); }

const CallNode* Node::call() const {
  return items() == nullptr ? as<CallNode>() : std::get_if<CallNode>(&items()->each);
}

const std::string& Node::handler() const {
  static const std::string none;
  return work() == nullptr ? none : work()->handler;
}

NodeIndex Graph::find(std::string_view node) const {
  const auto found = std::lower_bound(nodes.begin(), nodes.end(), node,
                                      [](const Node& one, std::string_view sought) { return one.name < sought; });
  return found != nodes.end() && found->name == node ? static_cast<NodeIndex>(found - nodes.begin()) : -1;
}

Reducer Graph::reducer(std::string_view channel) const {
  const auto found = channels.find(std::string(channel));
  return found == channels.end() ? Reducer::last : found->second;
}

const std::vector<NodeIndex>* Graph::next(NodeIndex node, std::string_view label) const {
  const Node& from = this->node(node);
  if (const auto edge = from.on.find(std::string(label)); edge != from.on.end()) return &edge->second;
  if (from.verb() == Verb::call && label == "aborted") return next(node, "failed");
  if (from.verb() == Verb::map && label == "partial") return next(node, "joined");
  return nullptr;
}

std::vector<std::string> Graph::next_names(NodeIndex node, std::string_view label) const {
  std::vector<std::string> names;
  if (const auto* targets = next(node, label))
    for (const NodeIndex target : *targets) names.push_back(this->node(target).name);
  return names;
}

void Graphs::add(GraphRef graph, bool make_current) {
  if (make_current) current_[graph->name] = graph;
  by_version_[graph->version] = std::move(graph);
}

GraphRef Graphs::by_version(std::string_view version) const {
  const auto found = by_version_.find(version);
  return found == by_version_.end() ? nullptr : found->second;
}

GraphRef Graphs::current(std::string_view name) const {
  const auto found = current_.find(name);
  return found == current_.end() ? nullptr : found->second;
}

std::string_view to_string(Verb verb) { return verb_words.at(static_cast<std::size_t>(verb)); }

std::string_view to_string(Reducer reducer) { return reducer_words.at(static_cast<std::size_t>(reducer)); }

}  // namespace cairn
