// A graph: a planner as data, that is nodes with one verb each and labelled edges between them. It is parsed and
// checked once (graph_parsing.hpp), then immutable and shared by every run of its version: safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/event.hpp"
#include "engine/json.hpp"
#include "engine/start_policy.hpp"

namespace cairn {

using NodeIndex = std::int32_t;  // position in Graph::nodes; -1 means none

enum class Verb : std::uint8_t { do_, ask, map, wait, call, end };
enum class Reducer : std::uint8_t { last, append, merge, sum, max };

// Delay before attempt n+1: min(max_ms, backoff_ms * factor^(n-1)) * (1 - jitter * draw), draw in [0,1).
struct Retry {
  int attempts = 1;  // errors allowed in all, the first try included
  int lost = 5;      // losses allowed where the step ran alone: the worker died or the step lapsed; 0: none at all
  std::int64_t backoff_ms = 0;
  double factor = 2;
  std::int64_t max_ms = 60'000;
  double jitter = 0;
  bool operator==(const Retry&) const = default;
};

// --- the settings of a node, one struct for each verb; parsed once, when the graph is loaded ------------------------

// A setting that says until when: a number of milliseconds, a moment (RFC 3339), or "$channel" that gives one of them
// when the step opens.
struct DueSetting {
  enum class Kind : std::uint8_t { after_ms, at_time };
  Kind kind = Kind::after_ms;
  Json value;
  bool operator==(const DueSetting&) const = default;
};

struct DoNode {
  std::string handler;
  Json with = Json::object();       // the handler's settings
  std::vector<std::string> labels;  // declared in the graph, for handlers that live elsewhere
  std::string queue = "default";
};
struct AskNode {
  std::string kind = "question";
  Json prompt;
  Json schema;                        // null: any value
  std::optional<Json> fallback;       // wire: "default"
  std::optional<DueSetting> expires;  // wire: "expires_ms"
};
struct WaitNode {  // for a signal, or for `due` alone
  std::optional<std::string> signal;
  std::optional<DueSetting> due;  // wire: "ms" or "until"; "timeout_ms" of a signal
};
struct CallNode {
  std::string graph;
  Json with = Json::object();  // the child's input
};
// Over the plan's sub-goals; or over the items of a list: each is a branch with a step of its own, which reads the
// channels `item` and `index`.
struct MapNode {
  struct Items {
    Json over;                            // "$channel" that gives the list, or the list
    std::variant<DoNode, CallNode> each;  // executes one item; its labels are not routed
    std::int32_t concurrency = 100;       // items open at once
    std::string failures;                 // channel for [{"index", "error", "message"}]; "" none
  };
  std::optional<Items> items;  // nothing: sub-goals
};
struct EndNode {
  RunStatus status = RunStatus::done;
  std::string reason;          // may be a "$channel"
  std::optional<Json> output;  // all channels if there is none
};

// In the order of Verb.
using NodeSettings = std::variant<DoNode, AskNode, MapNode, WaitNode, CallNode, EndNode>;

struct Node {
  std::string name;
  NodeSettings settings = EndNode{};
  std::string into;  // channel that also stores the value that arrived (answer, signal, child's output); "" none
  std::map<std::string, std::vector<NodeIndex>> on;  // label -> nodes, in edge order
  bool join = false;
  bool cache = false;
  std::int64_t timeout_ms = 0;  // 0: none
  std::string spends;           // a budget; "" none
  Retry retry;

  Verb verb() const { return static_cast<Verb>(settings.index()); }

  // The settings if the node is of that verb, else null.
  template <class Settings>
  const Settings* as() const {
    return std::get_if<Settings>(&settings);
  }
  // The settings of a map over items, else null.
  const MapNode::Items* items() const;
  // The handler or the run that executes a step of the node or of its items; null if none does.
  const DoNode* work() const;
  const CallNode* call() const;
  // "" if no handler does.
  const std::string& handler() const;
};

struct Budget {
  std::int64_t cap = 0;
};

struct Graph {
  std::string name;
  std::string version;  // lower-case hexadecimal SHA-256 of `text`
  std::string text;     // canonical JSON
  NodeIndex start = -1;
  NodeIndex finally = -1;   // where the cleanup of a run begins that ends otherwise than done; -1: it has none
  std::vector<Node> nodes;  // by name
  std::map<std::string, Reducer> channels;
  std::map<std::string, Budget> budgets;
  std::set<std::string, std::less<>> mapped;  // channels that a map goes over: they hold lists
  std::int32_t steps_max = 0;
  std::int64_t ms_max = 0;            // from a run's start to its end; 0: no limit
  Json input;                         // JSON Schema of a run's input; null: any object
  Json output;                        // JSON Schema of what a run gives that ends as done; null: anything
  std::optional<StartPolicy> starts;  // what becomes of starts with the same key
  Json context = Json::object();      // what a run that continues another takes over: {"keep_last": n}

  // -1 if there is none.
  NodeIndex find(std::string_view node) const;
  // REQUIRES: 0 <= at < nodes.size().
  const Node& node(NodeIndex at) const { return nodes[static_cast<std::size_t>(at)]; }
  Reducer reducer(std::string_view channel) const;

  // The nodes an edge leads to. Engine labels fall back (`aborted` to `failed`, `partial` to `joined`).
  // Null if the label has no edge.
  const std::vector<NodeIndex>* next(NodeIndex node, std::string_view label) const;
  // Their names; none if the label has no edge.
  std::vector<std::string> next_names(NodeIndex node, std::string_view label) const;
};

using GraphRef = std::shared_ptr<const Graph>;  // shared: runs of one version outlive any registry

// A registry of graphs: versions by hash, and the current version of each name. Not thread-safe: each thread that folds
// has a copy of its own (copying is cheap: pointers) or guards it.
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
