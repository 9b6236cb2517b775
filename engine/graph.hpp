// A graph: the planner as data. Parsed once, checked once, immutable, shared by every run of its version.
// Immutable after parse_graph: safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

using NodeIndex = std::int32_t;  // position in Graph::nodes; -1 means none

enum class Verb : std::uint8_t { do_, ask, map, wait, call, end };
enum class Reducer : std::uint8_t { last, append, merge, sum, max };

// Delay before attempt n+1: min(max_ms, backoff_ms * factor^(n-1)) * (1 - jitter * draw), draw in [0,1).
struct Retry {
  int attempts = 1;  // errors allowed in all, the first try included
  int lost = 5;      // losses allowed: the worker died or the step lapsed
  std::int64_t backoff_ms = 0;
  double factor = 2;
  std::int64_t max_ms = 60'000;
  double jitter = 0;
  bool operator==(const Retry&) const = default;
};

struct Node {
  std::string name;
  Verb verb = Verb::end;
  std::string target;               // do: handler; map: "sub_goals"; call: graph name
  Json spec;                        // ask: its object; wait: its object; end: {"status","reason","output"?}
  Json with = Json::object();       // do: the handler's settings; call: the child's input
  std::string into;                 // channel that also stores what came (answer, signal, child's output); "" none
  std::vector<std::string> labels;  // declared in the graph, for handlers that live elsewhere
  std::map<std::string, std::vector<NodeIndex>> on;  // label -> nodes, in edge order
  bool join = false;
  bool cache = false;
  std::string queue = "default";
  std::int64_t timeout_ms = 0;  // 0: none
  std::string spends;           // a budget; "" none
  Retry retry;
};

struct Budget {
  std::int64_t cap = 0;
};

struct Graph {
  std::string name;
  std::string version;  // lower-case hexadecimal SHA-256 of `text`
  std::string text;     // canonical JSON
  NodeIndex start = -1;
  std::vector<Node> nodes;  // by name
  std::map<std::string, Reducer> channels;
  std::map<std::string, Budget> budgets;
  std::int32_t steps_max = 0;
  Json context = Json::object();  // what a run that continues another takes over: {"keep_last": n}

  // -1 if there is none.
  NodeIndex find(std::string_view node) const;
  Reducer reducer(std::string_view channel) const;

  // The nodes an edge leads to. Engine labels fall back (`aborted` to `failed`, `partial` to `joined`).
  // Null if the label has no edge.
  const std::vector<NodeIndex>* next(NodeIndex node, std::string_view label) const;
};

using GraphRef = std::shared_ptr<const Graph>;  // shared: runs of one version outlive any registry

// What a graph's check must know of handlers: the labels each may leave by.
struct HandlerLabels {
  std::set<std::string> labels;
  bool declared_by_node = false;  // a node's own "labels" are the list; `labels` if it has none
  bool is_pure = true;            // only such a one may be cached
};
using Handlers = std::map<std::string, HandlerLabels, std::less<>>;

// Every fault of a graph, one plain sentence each, in the order of the text; empty if it may run.
// Known handlers come from `handlers`; a `do` that is not there must declare its labels in the graph.
std::vector<std::string> graph_faults(const Json& graph, const Handlers& handlers);

// Refuses `invalid` with the first faults. `version` is the hash of canonical(graph), made by the caller
// (the engine does not hash).
Result<GraphRef> parse_graph(const Json& graph, std::string version, const Handlers& handlers);

// A graph that was checked when it was stored: builds it without a second check. Throws CorruptHistory if it is none.
GraphRef stored_graph(const Json& graph, std::string version);

// Drawings; they come from the data alone.
std::string mermaid(const Graph& graph);
std::string dot(const Graph& graph);

// Versions by hash and the current version of each name. Not thread-safe; give each thread that folds its own
// copy or guard it. Copying is cheap (pointers).
class Graphs {
 public:
  void add(GraphRef graph, bool make_current);
  GraphRef by_version(std::string_view version) const;  // null if unknown
  GraphRef current(std::string_view name) const;        // null if unknown

 private:
  std::map<std::string, GraphRef, std::less<>> by_version_;
  std::map<std::string, GraphRef, std::less<>> current_;
};

std::string_view to_string(Verb verb);
std::string_view to_string(Reducer reducer);

}  // namespace cairn
