#include "engine/graph_parsing.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/corrupt_history.hpp"
#include "engine/references.hpp"

namespace cairn {
namespace {

constexpr std::array<Reducer, 5> reducers{Reducer::last, Reducer::append, Reducer::merge, Reducer::sum, Reducer::max};

constexpr std::size_t faults_named_max = 5;

// An unknown word means a corrupt stored graph: the check refuses it in every other one.
Reducer reducer_in(const Json& word) {
  const auto found = std::find_if(reducers.begin(), reducers.end(),
                                  [&](Reducer one) { return word.get_ref<const std::string&>() == to_string(one); });
  if (found == reducers.end()) throw CorruptHistory("Expected a word of a graph, but found " + excerpt(word, 40) + ".");
  return *found;
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

// --- verbs ----------------------------------------------------------------------------------------------------------

const Json& settings_at(const Json& node, const char* verb) {
  const Json& settings = node.at(verb);
  if (!settings.is_object())
    throw CorruptHistory(std::string("Expected the settings of ") + verb + " to be an object, but found " +
                         excerpt(settings, 40) + ".");
  return settings;
}

std::optional<Json> read_if(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::nullopt : std::optional<Json>(*found);
}

std::optional<DueSetting> due_in(const Json& object, const char* key, DueSetting::Kind kind) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  return DueSetting{kind, *found};
}

DoNode built_do(const Json& node) {
  DoNode work;
  work.handler = node.at("do").get<std::string>();
  read(node, "with", work.with);
  read(node, "labels", work.labels);
  read(node, "queue", work.queue);
  return work;
}

AskNode built_ask(const Json& node) {
  const Json& json = settings_at(node, "ask");
  AskNode ask;
  read(json, "kind", ask.kind);
  read(json, "prompt", ask.prompt);
  read(json, "schema", ask.schema);
  ask.fallback = read_if(json, "default");
  ask.expires = due_in(node, "expires_ms", DueSetting::Kind::after_ms);
  return ask;
}

// With a signal, "timeout_ms" is its timeout; a moment counts before a duration.
WaitNode built_wait(const Json& node) {
  const Json& json = settings_at(node, "wait");
  WaitNode wait;
  if (json.contains("signal")) wait.signal = json.at("signal").get<std::string>();
  wait.due = due_in(json, "until", DueSetting::Kind::at_time);
  if (!wait.due) wait.due = due_in(json, wait.signal ? "timeout_ms" : "ms", DueSetting::Kind::after_ms);
  return wait;
}

CallNode built_call(const Json& node) {
  CallNode call;
  call.graph = node.at("call").get<std::string>();
  read(node, "with", call.with);
  return call;
}

MapNode built_map(const Json& node) {
  if (node.at("map") == "sub_goals") return {};
  const Json& json = settings_at(node, "map");
  MapNode::Items items;
  items.over = json.at("over");
  if (json.contains("do"))
    items.each = built_do(json);
  else
    items.each = built_call(json);
  read(json, "concurrency", items.concurrency);
  read(json, "failures", items.failures);
  return {std::move(items)};
}

RunStatus built_status(const Json& word) {
  const std::optional<RunStatus> status = parse_run_status(word.get_ref<const std::string&>());
  if (!status || !is_ended(*status))
    throw CorruptHistory("Expected an end to be done, failed or aborted, but found " + excerpt(word, 40) + ".");
  return *status;
}

// A status alone stands for an end with nothing else.
EndNode built_end(const Json& node) {
  EndNode end;
  if (node.at("end").is_string()) {
    end.status = built_status(node.at("end"));
    return end;
  }
  const Json& json = settings_at(node, "end");
  if (json.contains("status")) end.status = built_status(json.at("status"));
  read(json, "reason", end.reason);
  end.output = read_if(json, "output");
  return end;
}

NodeSettings built_settings(const Json& node) {
  if (node.contains("do")) return built_do(node);
  if (node.contains("ask")) return built_ask(node);
  if (node.contains("map")) return built_map(node);
  if (node.contains("wait")) return built_wait(node);
  if (node.contains("call")) return built_call(node);
  return built_end(node);
}

// --- nodes and edges ------------------------------------------------------------------------------------------------

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
  node.settings = built_settings(json);
  const bool maps_items = node.items() != nullptr;
  read(maps_items ? json.at("map") : json, "into", node.into);
  read(json, "join", node.join);
  read(json, "cache", node.cache);
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
  read(json.at("limits"), "ms", graph->ms_max);
  read(json, "input", graph->input);
  read(json, "output", graph->output);
  read(json, "context", graph->context);
  Result<std::optional<StartPolicy>> starts = parse_start_policy(json);
  if (!starts) throw CorruptHistory(starts.error().message);
  graph->starts = *std::move(starts);
  for (const auto& [channel, settings] : object_at(json, "channels").items()) {
    graph->channels[channel] = reducer_in(settings.value("reducer", Json("last")));
  }
  for (const auto& [name, budget] : object_at(json, "budgets").items()) {
    graph->budgets[name].cap = budget.at("cap").get<std::int64_t>();
  }
  const Json& nodes = json.at("nodes");
  for (const auto& [name, settings] : nodes.items()) graph->nodes.emplace_back().name = name;
  for (Node& node : graph->nodes) build_node(*graph, nodes.at(node.name), node);
  for (const Node& node : graph->nodes)
    if (const MapNode::Items* items = node.items())
      each_reference(items->over, [&](std::string_view list, bool) { graph->mapped.emplace(list); });
  graph->start = graph->find(json.at("start").get_ref<const std::string&>());
  if (graph->start < 0) throw CorruptHistory("Expected the start of graph " + graph->name + " to be a node.");
  if (const auto finally = json.find("finally"); finally != json.end()) {
    graph->finally = graph->find(finally->get_ref<const std::string&>());
    if (graph->finally < 0)
      throw CorruptHistory("Expected the cleanup of graph " + graph->name + " to begin at a node.");
  }
  return graph;
}

}  // namespace

Result<GraphRef> parse_graph(const Json& graph, std::string version, const Handlers& handlers) {
  if (const auto faults = graph_faults(graph, handlers); !faults.empty()) return faulty_graph(faults);
  return built_graph(graph, std::move(version));
}

Error faulty_graph(const std::vector<std::string>& faults) {
  std::string text;
  for (std::size_t i = 0; i < std::min(faults.size(), faults_named_max); ++i) text += (i == 0 ? "" : " ") + faults[i];
  if (faults.size() > faults_named_max)
    text += " (" + std::to_string(faults.size() - faults_named_max) + " more faults.)";
  return {Code::invalid, std::move(text)};
}

GraphRef stored_graph(const Json& graph, std::string version) {
  try {
    return built_graph(graph, version);
  } catch (const Json::exception& error) {
    throw CorruptHistory("Expected graph version " + version + " to be a graph, but " + error.what() + ".");
  }
}

}  // namespace cairn
