#include "engine/graph_leftovers.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "engine/graph_texts.hpp"
#include "engine/graph_uses.hpp"
#include "engine/graph_walk.hpp"
#include "engine/nearest.hpp"
#include "engine/references.hpp"

namespace cairn {
namespace {

using Warnings = std::vector<std::string>;

void add_unclosed(const Graph& graph, Warnings& warnings) {
  for (const Node& node : graph.nodes)
    each_setting(node, [&](const Json& setting, bool) {
      const std::string unclosed = unclosed_reference(setting);
      if (!unclosed.empty())
        warnings.push_back("Expected braces that close, but node " + in_quotes(node.name) + " has " +
                           in_quotes(unclosed) + " without }} after it.");
    });
}

void add_stray_keys(const Graph& graph, Warnings& warnings) {
  for (const Node& node : graph.nodes)
    each_setting(node, [&](const Json& setting, bool) {
      const std::string key = stray_key(setting);
      if (!key.empty())
        warnings.push_back("Expected \"$\" and \"default\" alone in a reference, but node " + in_quotes(node.name) +
                           " has " + in_quotes(key) + did_you_mean(key, {"default"}) +
                           " next to it: the object stands for itself.");
    });
}

// Reads of the cause of a failure; nothing is said where a node writes a channel of that name.
void add_unknown_fields_of_error(const Graph& graph, const Handlers& handlers, Warnings& warnings) {
  static const std::vector<std::string> fields = {"error", "message", "node", "step", "attempt"};
  bool is_written = false;
  for (const Node& node : graph.nodes)
    each_write(node, handlers, [&](const ChannelWrite& write) { is_written = is_written || write.channel == "error"; });
  if (const Json* properties = find_member(graph.input, "properties"))
    is_written = is_written || find_member(*properties, "error") != nullptr;
  if (is_written) return;
  for (const Node& node : graph.nodes)
    each_setting(node, [&](const Json& setting, bool) {
      each_reference(setting, [&](std::string_view reference, bool) {
        if (!reference.starts_with("error/")) return;
        const std::string field(reference.substr(6));
        if (std::find(fields.begin(), fields.end(), field) == fields.end())
          warnings.push_back("Expected error, message, node, step or attempt of $error, but node " +
                             in_quotes(node.name) + " reads " + in_quotes(field) + did_you_mean(field, fields) + ".");
      });
    });
}

// "default" of a schema describes; no run gets it.
void add_unread_defaults(const Graph& graph, const Handlers& handlers, Warnings& warnings) {
  ChannelNames written;
  for (const Node& node : graph.nodes)
    each_write(node, handlers, [&](const ChannelWrite& write) { written.insert(write.channel); });
  const Json* properties = find_member(graph.input, "properties");
  if (properties == nullptr || !properties->is_object()) return;
  const Json* required = find_member(graph.input, "required");
  const auto may_lack = [&](const std::string& channel) {
    const bool is_required =
        required != nullptr && std::find(required->begin(), required->end(), Json(channel)) != required->end();
    return !is_required && !written.contains(channel);
  };
  for (const Node& node : graph.nodes) {
    ChannelNames named;
    each_setting(node, [&](const Json& setting, bool) {
      each_reference(setting, [&](std::string_view reference, bool has_default) {
        const std::string channel(reference);
        const Json* schema = find_member(*properties, channel);
        const Json* given = schema == nullptr ? nullptr : find_member(*schema, "default");
        if (has_default || given == nullptr || !may_lack(channel) || !named.insert(channel).second) return;
        warnings.push_back("Expected a default where node " + in_quotes(node.name) + " reads " + in_quotes(channel) +
                           ", as no run gets the one of the graph's \"input\": write " +
                           Json{{"$", channel}, {"default", *given}}.dump() + ".");
      });
    });
  }
}

// The steps of the shortest way to an end, which is none itself. REQUIRES: there is one.
std::int32_t steps_to_an_end(const Graph& graph) {
  std::vector<bool> seen(graph.nodes.size());
  std::vector<NodeIndex> open{graph.start};
  for (std::int32_t steps = 0; !open.empty(); ++steps) {
    std::vector<NodeIndex> next;
    for (const NodeIndex at : open) {
      if (graph.node(at).as<EndNode>() != nullptr) return steps;
      seen[static_cast<std::size_t>(at)] = true;
      for (const auto& [label, targets] : graph.node(at).on)
        for (const NodeIndex target : targets)
          if (!seen[static_cast<std::size_t>(target)]) next.push_back(target);
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    open = std::move(next);
  }
  return 0;
}

void add_too_few_steps(const Graph& graph, Warnings& warnings) {
  const std::int32_t least = steps_to_an_end(graph);
  if (graph.steps_max < least)
    warnings.push_back("Expected limits.steps to allow a way to an end, but it is " + std::to_string(graph.steps_max) +
                       ", and the shortest way has " + std::to_string(least) + " steps.");
}

// The time after which the node leaves by itself, where it stands in the graph.
std::optional<std::int64_t> own_time_ms(const Node& node) {
  const auto* ask = node.as<AskNode>();
  const auto* wait = node.as<WaitNode>();
  const std::optional<DueSetting> due = ask != nullptr ? ask->expires : wait != nullptr ? wait->due : std::nullopt;
  if (!due || due->kind == DueSetting::Kind::at_time || !due->value.is_number_integer()) return std::nullopt;
  return due->value.get<std::int64_t>();
}

// A cleanup has as long again.
void add_times_beyond_the_run(const Graph& graph, Warnings& warnings) {
  if (graph.ms_max == 0) return;
  for (const Node& node : graph.nodes)
    if (const auto ms = own_time_ms(node); ms && *ms >= graph.ms_max)
      warnings.push_back("Expected node " + in_quotes(node.name) + " to leave within the time of a run, limits.ms " +
                         std::to_string(graph.ms_max) + ", but it waits for " + std::to_string(*ms) + " ms.");
}

void add_unspent(const Graph& graph, Warnings& warnings) {
  for (const auto& [name, budget] : graph.budgets) {
    const auto spends = [&, &budget_name = name](const Node& node) { return node.spends == budget_name; };
    if (std::none_of(graph.nodes.begin(), graph.nodes.end(), spends))
      warnings.push_back("Expected a node that spends budget " + in_quotes(name) + ", but none does.");
  }
}

void add_unused_channels(const Graph& graph, const Handlers& handlers, Warnings& warnings) {
  std::set<std::string> used{"history"};  // of a run that continues another
  for (const Node& node : graph.nodes) {
    each_write(node, handlers, [&](const ChannelWrite& write) { used.insert(write.channel); });
    if (node.items() != nullptr) used.insert({"item", "index"});
    each_setting(node, [&](const Json& setting, bool) {
      each_reference(setting,
                     [&](std::string_view reference, bool) { used.emplace(reference.substr(0, reference.find('/'))); });
    });
  }
  if (graph.starts && graph.starts->key.starts_with('/'))
    used.insert(graph.starts->key.substr(1, graph.starts->key.find('/', 1) - 1));
  const Json* properties = find_member(graph.input, "properties");
  for (const auto& [channel, reducer] : graph.channels) {
    const bool is_input = properties != nullptr && find_member(*properties, channel) != nullptr;
    if (!is_input && !used.contains(channel))
      warnings.push_back("Expected channel " + in_quotes(channel) +
                         " of \"channels\" to be used, but no node reads or writes it, and the graph's \"input\" does "
                         "not name it.");
  }
}

using NodeSet = std::set<NodeIndex>;
using LeavesBy = std::function<bool(const Node&, std::string_view label)>;

// The nodes that a walk comes to which leaves each of them by these edges.
NodeSet reach_of(const Graph& graph, NodeIndex first, const LeavesBy& leaves_by) {
  NodeSet reached;
  for (std::vector<NodeIndex> open{first}; !open.empty();) {
    const NodeIndex at = open.back();
    open.pop_back();
    if (!reached.insert(at).second) continue;
    const Node& node = graph.node(at);
    for (const auto& [label, targets] : node.on)
      if (leaves_by(node, label)) open.insert(open.end(), targets.begin(), targets.end());
  }
  return reached;
}

// A run whose cleanup has no done end is one that failed to clean up, although all that was held may be given back.
void add_failed_cleanups(const Graph& graph, Warnings& warnings) {
  if (graph.finally < 0) return;
  Warnings ends;
  for (const NodeIndex at : reach_of(graph, graph.finally, [](const Node&, std::string_view) { return true; })) {
    const Node& node = graph.node(at);
    const auto* end = node.as<EndNode>();
    if (end != nullptr && end->status == RunStatus::done) return;
    if (end != nullptr)
      ends.push_back("Expected an end of the cleanup that is done, but " + in_quotes(node.name) + " is " +
                     std::string(to_string(end->status)) +
                     ": however it went, it would count as a cleanup that failed.");
  }
  std::sort(ends.begin(), ends.end());
  warnings.insert(warnings.end(), ends.begin(), ends.end());
}

bool calls_itself(const Graph& graph, const Node& node) {
  const auto* call = node.as<CallNode>();
  return call != nullptr && call->graph == graph.name;
}

// A node that calls the graph is passed only where it may leave without having called it.
bool has_way_without_itself(const Graph& graph) {
  const NodeSet reached = reach_of(graph, graph.start, [&](const Node& node, std::string_view label) {
    return !calls_itself(graph, node) || label == "error" || label == "exhausted";
  });
  return std::any_of(reached.begin(), reached.end(),
                     [&](NodeIndex at) { return graph.node(at).as<EndNode>() != nullptr; });
}

// --- maps and branches ----------------------------------------------------------------------------------------------

void add_lost_results(const Graph& graph, Warnings& warnings) {
  for (const Node& node : graph.nodes) {
    const MapNode::Items* items = node.items();
    if (items != nullptr && node.into.empty() && items->failures.empty() && !node.on.contains("partial"))
      warnings.push_back("Expected \"into\", \"failures\" or an edge \"partial\" of map " + in_quotes(node.name) +
                         ", but it has none: what its items give and why they fail is lost.");
  }
}

// The nodes that one branch may come to before it joins others.
NodeSet nodes_of_branch(const Graph& graph, NodeIndex first) {
  NodeSet nodes = reach_of(graph, first, [](const Node& node, std::string_view) { return !node.join; });
  std::erase_if(nodes, [&](NodeIndex at) { return graph.node(at).join; });
  return nodes;
}

ChannelNames written_in(const Graph& graph, const Handlers& handlers, const NodeSet& nodes) {
  ChannelNames written;
  for (const NodeIndex at : nodes)
    each_write(graph.node(at), handlers, [&](const ChannelWrite& write) { written.insert(write.channel); });
  return written;
}

ChannelNames needed_by(const Node& node) {
  ChannelNames needed;
  each_setting(node, [&](const Json& setting, bool) {
    each_reference(setting, [&](std::string_view reference, bool may_lack) {
      if (!may_lack) needed.emplace(reference.substr(0, reference.find('/')));
    });
  });
  return needed;
}

// Two branches come to the node: a channel that only the first one writes, and one that only the second one does; "":
// there is none.
std::pair<std::string, std::string> of_each(const ChannelNames& needed, const ChannelNames& one,
                                            const ChannelNames& other) {
  std::pair<std::string, std::string> found;
  for (const std::string& channel : needed) {
    const bool is_first = one.contains(channel), is_second = other.contains(channel);
    if (is_first && !is_second) found.first = channel;
    if (is_second && !is_first) found.second = channel;
  }
  return found;
}

// The ways of each two branches are walked: with very many branches that takes as long as the square of the graph.
constexpr std::size_t walked_nodes_max = 1'000'000;

class ForgottenJoins {
 public:
  ForgottenJoins(const Graph& graph, const Handlers& handlers, Warnings& warnings)
      : graph_(graph), handlers_(handlers), warnings_(warnings) {}

  // Two of the branches are enough: it is not about how many there are.
  void check(const std::vector<NodeIndex>& targets) {
    if (walked_ > walked_nodes_max) return;  // the first ones are enough for a warning
    const NodeSet one = nodes_of_branch(graph_, targets[0]), other = nodes_of_branch(graph_, targets[1]);
    walked_ += one.size() + other.size();
    NodeSet common, of_one, of_other;
    for (const NodeIndex at : one) (other.contains(at) ? common : of_one).insert(at);
    for (const NodeIndex at : other)
      if (!common.contains(at)) of_other.insert(at);
    const ChannelNames first = written_in(graph_, handlers_, of_one), second = written_in(graph_, handlers_, of_other);
    for (const NodeIndex at : common) {
      const Node& node = graph_.node(at);
      const auto [a, b] = of_each(needed_by(node), first, second);
      if (a.empty() || b.empty() || !named_.insert(at).second) continue;
      warnings_.push_back("Expected \"join\": true at node " + in_quotes(node.name) + ", which reads " + in_quotes(a) +
                          " and " + in_quotes(b) + " of two branches, but it is executed once for each of them.");
    }
  }

 private:
  const Graph& graph_;
  const Handlers& handlers_;
  Warnings& warnings_;
  NodeSet named_;
  std::size_t walked_ = 0;
};

void add_forgotten_joins(const Graph& graph, const Handlers& handlers, Warnings& warnings) {
  ForgottenJoins joins(graph, handlers, warnings);
  for (const Node& node : graph.nodes)
    for (const auto& [label, targets] : node.on)
      if (targets.size() > 1) joins.check(targets);
}

}  // namespace

std::vector<std::string> leftovers(const Graph& graph, const Handlers& handlers) {
  Warnings warnings;
  add_unclosed(graph, warnings);
  add_stray_keys(graph, warnings);
  for (std::string& says : texts_for_themselves(graph, handlers)) warnings.push_back(std::move(says));
  add_lost_results(graph, warnings);
  add_forgotten_joins(graph, handlers, warnings);
  add_too_few_steps(graph, warnings);
  add_times_beyond_the_run(graph, warnings);
  add_failed_cleanups(graph, warnings);
  if (are_all_settings_declared(graph, handlers)) {
    add_unknown_fields_of_error(graph, handlers, warnings);
    add_unspent(graph, warnings);
    add_unread_defaults(graph, handlers, warnings);
    add_unused_channels(graph, handlers, warnings);
  }
  if (!has_way_without_itself(graph))
    warnings.emplace_back(
        "Expected a way to an end on which the graph does not call itself, but there is none: each run starts another, "
        "as "
        "deep as calls may be.");
  return warnings;
}

}  // namespace cairn
