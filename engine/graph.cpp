#include "engine/graph.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/codec.hpp"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 6> verb_words{"do", "ask", "map", "wait", "call", "end"};
constexpr std::array<std::string_view, 5> reducer_words{"last", "append", "merge", "sum", "max"};

constexpr std::size_t faults_told_max = 5;

// `word` is one of `words`; anything else is a bug of the check, or a stored graph that is none.
template <class Enum, std::size_t n>
Enum word_in(const std::array<std::string_view, n>& words, const Json& word) {
  const auto found = std::find(words.begin(), words.end(), word.get_ref<const std::string&>());
  if (found == words.end()) throw CorruptHistory("Expected a word of a graph, but found " + excerpt(word, 40) + ".");
  return static_cast<Enum>(found - words.begin());
}

template <class T>
void read(const Json& object, const char* key, T& into) {
  if (const auto found = object.find(key); found != object.end()) found->get_to(into);
}

const Json& object_at(const Json& object, const char* key) {
  static const Json empty = Json::object();
  const auto found = object.find(key);
  return found == object.end() ? empty : *found;
}

Retry built_retry(const Json& json) {
  Retry retry;
  read(json, "attempts", retry.attempts);
  read(json, "lost", retry.lost);
  read(json, "backoff_ms", retry.backoff_ms);
  read(json, "factor", retry.factor);
  read(json, "max_ms", retry.max_ms);
  read(json, "jitter", retry.jitter);
  return retry;
}

Json ask_spec(const Json& node) {
  Json spec = {{"kind", "question"}, {"prompt", nullptr}, {"schema", nullptr}};
  spec.update(node.at("ask"));
  if (const auto expiry = node.find("expires_ms"); expiry != node.end()) spec["expires_ms"] = *expiry;
  return spec;
}

void build_verb(const Json& json, Node& node) {
  for (const std::string_view word : verb_words) {
    if (json.contains(word)) node.verb = word_in<Verb>(verb_words, Json(word));
  }
  const Json& value = json.at(to_string(node.verb));
  switch (node.verb) {
    case Verb::do_:
    case Verb::map:
    case Verb::call:
      node.target = value.get<std::string>();
      break;
    case Verb::ask:
      node.spec = ask_spec(json);
      break;
    case Verb::wait:
      node.spec = value;
      break;
    case Verb::end:
      node.spec = value.is_string() ? Json::object({{"status", value}}) : value;
      break;
  }
}

std::vector<NodeIndex> built_edge(const Graph& graph, const Json& edge) {
  std::vector<NodeIndex> targets;
  for (const Json& target : edge.is_array() ? edge : Json::array({edge})) {
    targets.push_back(graph.find(target.get_ref<const std::string&>()));
    if (targets.back() < 0)
      throw CorruptHistory("Expected an edge to lead to a node, but there is no " + target.dump());
  }
  return targets;
}

void build_node(const Graph& graph, const Json& json, Node& node) {
  build_verb(json, node);
  read(json, "with", node.with);
  read(json, "into", node.into);
  read(json, "labels", node.labels);
  read(json, "join", node.join);
  read(json, "cache", node.cache);
  read(json, "queue", node.queue);
  read(json, "timeout_ms", node.timeout_ms);
  read(json, "spends", node.spends);
  if (const auto retry = json.find("retry"); retry != json.end()) node.retry = built_retry(*retry);
  for (const auto& [label, edge] : object_at(json, "on").items()) node.on[label] = built_edge(graph, edge);
}

// REQUIRES: graph_faults finds none, else it throws.
GraphRef built_graph(const Json& json, std::string version) {
  auto graph = std::make_shared<Graph>();
  graph->name = json.at("name").get<std::string>();
  graph->version = std::move(version);
  graph->text = canonical(json);
  graph->steps_max = json.at("limits").at("steps").get<std::int32_t>();
  read(json, "context", graph->context);
  for (const auto& [channel, settings] : object_at(json, "channels").items()) {
    graph->channels[channel] = word_in<Reducer>(reducer_words, settings.value("reducer", Json("last")));
  }
  for (const auto& [name, budget] : object_at(json, "budgets").items()) {
    graph->budgets[name].cap = budget.at("cap").get<std::int64_t>();
  }
  const Json& nodes = json.at("nodes");
  for (const auto& [name, settings] : nodes.items()) graph->nodes.emplace_back().name = name;
  for (Node& node : graph->nodes) build_node(*graph, nodes.at(node.name), node);
  graph->start = graph->find(json.at("start").get_ref<const std::string&>());
  if (graph->start < 0) throw CorruptHistory("Expected the start of graph " + graph->name + " to be a node.");
  return graph;
}

std::string first_of(const std::vector<std::string>& faults) {
  std::string text;
  for (std::size_t i = 0; i < std::min(faults.size(), faults_told_max); ++i) text += (i == 0 ? "" : " ") + faults[i];
  if (faults.size() > faults_told_max) {
    text += " (" + std::to_string(faults.size() - faults_told_max) + " more faults.)";
  }
  return text;
}

}  // namespace

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
  const Node& from = nodes.at(static_cast<std::size_t>(node));
  if (const auto edge = from.on.find(std::string(label)); edge != from.on.end()) return &edge->second;
  if (from.verb == Verb::call && label == "aborted") return next(node, "failed");
  if (from.verb == Verb::map && label == "partial") return next(node, "joined");
  return nullptr;
}

Result<GraphRef> parse_graph(const Json& graph, std::string version, const Handlers& handlers) {
  if (const auto faults = graph_faults(graph, handlers); !faults.empty()) {
    return Error{Code::invalid, first_of(faults)};
  }
  return built_graph(graph, std::move(version));
}

GraphRef stored_graph(const Json& graph, std::string version) {
  try {
    return built_graph(graph, version);
  } catch (const Json::exception& error) {
    throw CorruptHistory("Expected graph version " + version + " to be a graph, but " + error.what() + ".");
  }
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
