#include "engine/graph_review.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "engine/findings.hpp"
#include "engine/graph_leftovers.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/graph_uses.hpp"
#include "engine/graph_values.hpp"
#include "engine/graph_walk.hpp"
#include "engine/nearest.hpp"
#include "engine/references.hpp"

namespace cairn {
namespace {

using Means = HandlerSetting::Means;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string node_named(const std::string& node) { return "node " + in_quotes(node); }

// --- the parts of a graph, one by one -------------------------------------------------------------------------------

struct Found {
  Findings faults;
  Findings warnings;

  bool has_hints() const { return faults.size() + warnings.size() < hinted_findings_max; }
  std::string hint(std::string_view word, const Names& known) const {
    return has_hints() ? did_you_mean(word, known) : std::string();
  }
};

class Parts {
 public:
  Parts(const Json& graph, const Surroundings& around, Found& found) : graph_(graph), around_(around), found_(found) {}

  void check() {
    for (const char* key : {"input", "output"})
      if (const Json* given = find_member(graph_, key)) schema("the graph's " + std::string(key), *given);
    input();
    const Json* nodes = find_member(graph_, "nodes");
    if (nodes == nullptr || !nodes->is_object()) return;
    for (const auto& [name, node] : nodes->items()) {
      if (!node.is_object()) continue;
      if (const Json* ask = find_member(node, "ask")) question(node_named(name), *ask);
      if (const Json* end = find_member(node, "end")) output_of_end(name, *end);
      executed(name, node);
      if (const Json* map = find_member(node, "map"); map != nullptr) executed(name, *map);
    }
  }

 private:
  // A node or the map of one: `do` or `call`, with the settings that come with it.
  void executed(const std::string& name, const Json& json) {
    if (const Json* work = find_member(json, "do"); work != nullptr && work->is_string()) do_node(name, json, *work);
    if (const Json* called = find_member(json, "call"); called != nullptr && called->is_string())
      call(name, json, called->get_ref<const std::string&>());
  }

  void fault(std::string says) { found_.faults.add(std::move(says)); }
  void warn(std::string says) { found_.warnings.add(std::move(says)); }

  // A run's input is an object.
  void input() {
    const Json* given = find_member(graph_, "input");
    if (given != nullptr && is_never_met(*given, JsonKinds::object))
      fault("In the graph's input: Expected a schema that some object fits, but none does: no run could begin.");
  }

  // False if it cannot be used, or is not known before a step runs.
  bool schema(const std::string& what, const Json& schema) {
    if (!around_.check_schema || has_reference(schema)) return false;
    const Status usable = around_.check_schema(schema);
    if (!usable) fault("In " + what + ": " + usable.error().message);
    return usable.ok();
  }

  // --- do ---
  void do_node(const std::string& name, const Json& node, const std::string& handler) {
    known_handler(name, node, handler);
    queue(name, node);
    const auto known = around_.handlers.find(handler);
    if (known == around_.handlers.end()) return;
    if (!known->second.schema.is_null()) declared_settings(name, node, handler, known->second.schema);
    if (!known->second.settings) return;
    const Json* with = find_member(node, "with");
    if (with != nullptr && !with->is_object()) return;  // named already
    const Json none = Json::object();
    keys(name, handler, with == nullptr ? none : *with, *known->second.settings);
    for (const HandlerSetting& setting : *known->second.settings)
      if (const Json* value = with == nullptr ? nullptr : find_member(*with, setting.name))
        one_setting(name, node, handler, setting, *value);
    together(name, known->second, with == nullptr ? none : *with);
  }

  // One that lacks a setting that it must have is named already.
  void together(const std::string& name, const HandlerLabels& handler, const Json& with) {
    const auto lacks = [&with](const HandlerSetting& one) { return one.is_required && !with.contains(one.name); };
    if (std::any_of(handler.settings->begin(), handler.settings->end(), lacks)) return;
    const Status fits = handler.check == nullptr ? Status(Done{}) : handler.check(with);
    if (!fits) return fault("In the \"with\" of " + node_named(name) + ": " + fits.error().message);
    if (handler.doubts == nullptr) return;
    for (const std::string& says : handler.doubts(with)) warn("In the \"with\" of " + node_named(name) + ": " + says);
  }

  void known_handler(const std::string& name, const Json& node, const std::string& handler) {
    Names names;
    for (const auto& [one, labels] : around_.handlers) names.push_back(one);
    const bool is_fault = !contains(names, handler) && find_member(node, "labels") == nullptr;
    if (around_.handler_names) names = *around_.handler_names;
    if (is_fault || contains(names, handler)) return;
    const auto known = around_.handlers.find(handler);
    const std::string need = known == around_.handlers.end() ? "" : known->second.need;
    warn("Expected a handler that " + around_.who + " has, but " + node_named(name) + " names " + in_quotes(handler) +
         (need.empty() ? found_.hint(handler, names) : "; " + need) + ".");
  }

  void queue(const std::string& name, const Json& node) {
    const Json* given = find_member(node, "queue");
    const std::string queue = given != nullptr && given->is_string() ? given->get<std::string>() : "default";
    if (!around_.queues) return maybe_misspelt(name, queue);
    if (contains(*around_.queues, queue)) return;
    warn("Expected a queue that " + around_.who + " serves, but " + node_named(name) + " waits in " + in_quotes(queue) +
         found_.hint(queue, *around_.queues) + ".");
  }

  // Without workers a queue of any name may be served later; one that is nearly that of another is likely a typo.
  void maybe_misspelt(const std::string& name, const std::string& queue) {
    if (contains(around_.usual_queues, queue)) return;
    const std::string meant = found_.hint(queue, around_.usual_queues);
    if (!meant.empty())
      warn("Expected a queue that is known, but " + node_named(name) + " waits in " + in_quotes(queue) + meant + ".");
  }

  void keys(const std::string& name, const std::string& handler, const Json& with,
            const std::vector<HandlerSetting>& settings) {
    Names known;
    for (const HandlerSetting& setting : settings) known.push_back(setting.name);
    for (const auto& [key, value] : with.items())
      if (!contains(known, key))
        fault("Expected the \"with\" of " + node_named(name) + " to have settings of " + handler + ", but it has " +
              in_quotes(key) + found_.hint(key, known) + ".");
    for (const HandlerSetting& setting : settings)
      if (setting.is_required && !with.contains(setting.name))
        fault("Expected the \"with\" of " + node_named(name) + " to have " + in_quotes(setting.name) + ", which " +
              handler + " needs, but it has not.");
  }

  void one_setting(const std::string& name, const Json& node, const std::string& handler, const HandlerSetting& setting,
                   const Json& value) {
    form(name, setting, value);
    switch (setting.means) {
      case Means::schema:
        schema(in_quotes(setting.name) + " of " + node_named(name), value);
        return;
      case Means::tool:
        return tool(name, value);
      case Means::inputs:
        return inputs(name, node, handler, value);
      case Means::label_field:
        return label_field(name, node, handler, value);
      case Means::label:
        return label(name, labels_of(node, handler), &value);
      case Means::labels:
      case Means::cases:
        return labels_of_cases(name, node, handler, value);
      case Means::value:
      case Means::picked:
      case Means::channel:
      case Means::channels:
        return;
    }
  }

  // {TEXT: LABEL}, or [{"label": LABEL, ...}, ...].
  void labels_of_cases(const std::string& name, const Json& node, const std::string& handler, const Json& value) {
    if (!value.is_structured()) return;
    const std::set<std::string> labels = labels_of(node, handler);
    for (const Json& one : value) label(name, labels, value.is_object() ? &one : find_member(one, "label"));
  }

  void form(const std::string& name, const HandlerSetting& setting, const Json& value) {
    const bool has_references = has_reference(value);
    if (has_references && setting.is_constant)
      return fault("Expected " + in_quotes(setting.name) + " of " + node_named(name) +
                   " to stand in the graph, but it refers to a channel.");
    if (has_references || setting.check == nullptr) return;
    if (const Status fits = setting.check(value); !fits)
      fault("In " + in_quotes(setting.name) + " of " + node_named(name) + ": " + fits.error().message);
  }

  void tool(const std::string& name, const Json& value) {
    const std::string* tool = constant_text(&value);
    if (tool == nullptr || !around_.tools || contains(*around_.tools, *tool)) return;
    warn("Expected a tool that " + around_.who + " has, but " + node_named(name) + " calls " + in_quotes(*tool) +
         found_.hint(*tool, *around_.tools) + ".");
  }

  // The setting of the node that means such a thing; null if it has none.
  const Json* setting_that_means(const Json& node, const std::string& handler, Means means) const {
    const Json* with = find_member(node, "with");
    for (const HandlerSetting& setting : *around_.handlers.find(handler)->second.settings)
      if (setting.means == means && with != nullptr) return find_member(*with, setting.name);
    return nullptr;
  }

  // Another worker may have another tool of that name.
  void inputs(const std::string& name, const Json& node, const std::string& handler, const Json& value) {
    const std::string* tool = constant_text(setting_that_means(node, handler, Means::tool));
    const auto known = tool == nullptr ? around_.tool_inputs.end() : around_.tool_inputs.find(*tool);
    if (known == around_.tool_inputs.end() || !value.is_object() || value.contains("$")) return;
    for (const auto& [key, one] : value.items())
      if (!contains(known->second, key))
        warn("Expected inputs that tool " + *tool + " takes, but " + node_named(name) + " gives it " + in_quotes(key) +
             found_.hint(key, known->second) + ".");
  }

  // The values that the schema of the reply lets a model choose as its label.
  void label_field(const std::string& name, const Json& node, const std::string& handler, const Json& value) {
    const std::string* field = constant_text(&value);
    const Json* schema = setting_that_means(node, handler, Means::schema);
    if (field == nullptr || schema == nullptr || has_reference(*schema) || schema->contains("$ref")) return;
    const Json* edges = find_member(node, "on");
    if (edges != nullptr && find_member(*edges, "error") != nullptr) return;  // it may be meant to leave so
    const Json* properties = find_member(*schema, "properties");
    const Json* choice = properties == nullptr ? nullptr : find_member(*properties, *field);
    if (choice == nullptr) return;
    const std::set<std::string> labels = labels_of(node, handler);
    if (const auto values = space_of_schema(*choice).values)
      for (const Json& one : *values) label(name, labels, &one);
  }

  std::set<std::string> labels_of(const Json& node, const std::string& handler) const {
    const Json* declared = find_member(node, "labels");
    if (declared == nullptr || !declared->is_array()) return around_.handlers.find(handler)->second.labels;
    std::set<std::string> labels;
    for (const Json& one : *declared)
      if (one.is_string()) labels.insert(one.get<std::string>());
    return labels;
  }

  void label(const std::string& name, const std::set<std::string>& labels, const Json* value) {
    const std::string* label = constant_text(value);
    if (label == nullptr || labels.contains(*label)) return;
    const std::string meant = found_.has_hints() ? did_you_mean(*label, {labels.begin(), labels.end()}) : "";
    fault("Expected " + node_named(name) + " to leave by one of its labels, but its \"with\" names " +
          in_quotes(*label) + meant + ".");
  }

  // --- ask ---
  void question(const std::string& what, const Json& ask) {
    const Json* given = find_member(ask, "schema");
    if (given == nullptr || !schema("the schema of the question of " + what, *given)) return;
    if (is_never_met(*given))
      return fault("In the schema of the question of " + what + ": Expected one that some value fits, but none does.");
    const Json* fallback = find_member(ask, "default");
    if (fallback == nullptr || has_reference(*fallback)) return;
    if (const Status fits = around_.check_value(*given, *fallback); !fits)
      fault("In the default of the question of " + what + ": " + fits.error().message);
  }

  // --- call ---
  void call(const std::string& name, const Json& node, const std::string& called) {
    if (!around_.graphs || called == graph_.value("name", Json())) return;
    const bool is_known = contains(*around_.graphs, called);
    const GraphRef graph = is_known && around_.find_graph ? around_.find_graph(called) : nullptr;
    if (!is_known)
      return warn("Expected a graph that " + around_.who + " has, but " + node_named(name) + " calls " +
                  in_quotes(called) + found_.hint(called, *around_.graphs) + ".");
    if (graph == nullptr) return;
    if (graph->starts && graph->starts->singleton() != nullptr)
      warn("Expected a graph of which any number of runs may be open, but " + node_named(name) + " calls " +
           in_quotes(called) + ": its singleton counts starts, and a call is none.");
    child_keys(name, node, *graph);
    child_input(name, node, *graph);
  }

  // A graph may read what its input does not describe; a key that is nearly one that it does is likely a typo.
  void child_keys(const std::string& name, const Json& node, const Graph& graph) {
    const Json* with = find_member(node, "with");
    if (with == nullptr || !with->is_object() || with->contains("$")) return;
    Names known = channels_of(graph, around_.handlers).value_or(Names{});
    if (const Json* properties = find_member(graph.input, "properties"); properties != nullptr && known.empty())
      for (const auto& [key, schema] : properties->items()) known.push_back(key);
    const std::set<std::string_view> found(known.begin(), known.end());
    for (const auto& [key, value] : with->items()) {
      const std::string meant = found.contains(key) ? "" : found_.hint(key, known);
      if (!meant.empty())
        warn("Expected inputs that graph " + graph.name + " reads, but " + node_named(name) + " gives it " +
             in_quotes(key) + meant + ".");
    }
  }

  // Values that come from channels cannot be looked at; that they are there can.
  void child_input(const std::string& name, const Json& node, const Graph& graph) {
    if (graph.input.is_null()) return;
    const Json* given = find_member(node, "with");
    const Json with = given == nullptr ? Json::object() : *given;
    warn_misfit("In the \"with\" of " + node_named(name) + ", the input of graph " + graph.name + ": ", graph.input,
                with);
  }

  // A worker that claims over HTTP has declared a schema of them; another one may come with another schema.
  void declared_settings(const std::string& name, const Json& node, const std::string& handler, const Json& schema) {
    const Json* given = find_member(node, "with");
    const Json with = given == nullptr ? Json::object() : *given;
    warn_misfit("In the \"with\" of " + node_named(name) + ", the settings of " + handler + ": ", schema, with);
  }

  // --- end ---
  void output_of_end(const std::string& name, const Json& end) {
    const Json* given = find_member(graph_, "output");
    const Json* output = end.is_object() ? find_member(end, "output") : nullptr;
    if (given == nullptr || output == nullptr || end.value("status", Json()) != "done") return;
    warn_misfit("In the output of " + node_named(name) + ": ", *given, *output);
  }

  void warn_misfit(const std::string& what, const Json& schema, const Json& value) {
    if (around_.check_value && !has_reference(value)) {
      if (const Status fits = around_.check_value(schema, value); !fits) warn(what + fits.error().message);
      return;
    }
    if (!value.is_object() || value.contains("$")) return;
    const Json* required = find_member(schema, "required");
    if (required != nullptr && required->is_array())
      for (const Json& key : *required)
        if (key.is_string() && !value.contains(key.get_ref<const std::string&>()))
          warn(what + "Expected " + in_quotes(key.get_ref<const std::string&>()) + ", but it is missing.");
    members_misfit(what, schema, value);
  }

  // The members next to references, one by one: a key that the schema does not allow, and a value that does not fit.
  void members_misfit(const std::string& what, const Json& schema, const Json& value) {
    const Json* properties = find_member(schema, "properties");
    const Json* others = find_member(schema, "additionalProperties");
    const bool is_closed = others != nullptr && *others == false && find_member(schema, "patternProperties") == nullptr;
    Json alone = {{"properties", properties == nullptr ? Json::object() : *properties}};
    for (const char* key : {"$schema", "$defs", "definitions"})
      if (const Json* shared = find_member(schema, key)) alone[key] = *shared;
    const bool is_usable = around_.check_value && around_.check_schema && around_.check_schema(alone);
    for (const auto& [key, member] : value.items()) {
      if (properties == nullptr || find_member(*properties, key) == nullptr) {
        if (is_closed) warn(what + "Expected keys that its schema allows, but found " + in_quotes(key) + ".");
        continue;
      }
      if (!is_usable || has_reference(member)) continue;
      if (const Status fits = around_.check_value(alone, {{key, member}}); !fits) warn(what + fits.error().message);
    }
  }

  const Json& graph_;
  const Surroundings& around_;
  Found& found_;
};

// --- which channels may have been written before a node -------------------------------------------------------------

// A set of channels, by number; or all there are.
struct ChannelSet {
  std::vector<bool> has;
  bool is_any = false;

  // True if it grew.
  bool add(const ChannelSet& other) {
    bool grew = other.is_any && !is_any;
    is_any = is_any || other.is_any;
    for (std::size_t i = 0; i < has.size(); ++i) {
      if (!other.has[i] || has[i]) continue;
      has[i] = true;
      grew = true;
    }
    return grew;
  }
};

// Such an edge leaves a cause, which the channel `error` shows while nothing is written there.
bool leaves_a_cause(std::string_view label) {
  return label == "error" || label == "exhausted" || label == "failed" || label == "aborted" || label == "partial";
}

// Where nothing arrived in time, nothing is written.
bool brings_writes(const Node& node, std::string_view label) {
  const bool waits = node.as<AskNode>() != nullptr || node.as<WaitNode>() != nullptr;
  const bool is_late = waits && (label == "expired" || label == "timeout");
  return !is_late && label != "error" && label != "exhausted";
}

class Reads {
 public:
  Reads(const Graph& graph, const Handlers& handlers, Found& found)
      : graph_(graph), handlers_(handlers), found_(found) {}

  void check() {
    for (const Node& node : graph_.nodes) each_read(node, [&](const std::string& channel) { number_of(channel); });
    if (numbers_.empty()) return;
    number_of("error");
    std::map<NodeIndex, ChannelSet> begins{{graph_.start, at_the_start()}};
    if (graph_.finally >= 0) begins.insert_or_assign(graph_.finally, at_the_cleanup());
    const std::vector<ChannelSet> before = spread(begins);
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      if (before[at].is_any) continue;
      std::set<std::string> reported;
      each_read(graph_.nodes[at], [&](const std::string& channel) {
        if (before[at].has[numbers_.at(channel)] || !reported.insert(channel).second) return;
        report(graph_.nodes[at], channel, before[at]);
      });
    }
    if (graph_.finally >= 0) cleanup(before);
  }

 private:
  std::size_t number_of(const std::string& channel) {
    return numbers_.try_emplace(channel, numbers_.size()).first->second;
  }

  // References with a default are left out: only a missing value without one fails the step.
  template <class See>
  void each_read(const Node& node, const See& see) {
    each_setting(node, [&](const Json& setting, bool of_item) {
      each_reference(setting, [&](std::string_view reference, bool may_lack) {
        const std::string channel(reference.substr(0, reference.find('/')));
        if (!may_lack && !(of_item && is_channel_of_item(channel))) see(channel);
      });
    });
  }

  void note(const std::string& channel, ChannelSet& into) const {
    if (const auto found = numbers_.find(channel); found != numbers_.end()) into.has[found->second] = true;
  }

  ChannelSet written_by(const Node& node) const {
    ChannelSet written{std::vector<bool>(numbers_.size()), false};
    written.is_any = !each_write(node, handlers_, [&](const ChannelWrite& write) { note(write.channel, written); });
    return written;
  }

  ChannelSet at_the_start() const {
    ChannelSet known{std::vector<bool>(numbers_.size()), false};
    note("history", known);  // of a run that continues another
    if (const Json* properties = find_member(graph_.input, "properties"))
      if (properties->is_object())
        for (const auto& [name, schema] : properties->items()) note(name, known);
    return known;
  }

  // A run may end anywhere: what any node writes may be there, and why it ends.
  ChannelSet at_the_cleanup() const {
    ChannelSet known = at_the_start();
    for (const Node& node : graph_.nodes) known.add(written_by(node));
    note("error", known);
    return known;
  }

  // A run may end before any of its nodes has written.
  ChannelSet sure_at_the_cleanup() const {
    ChannelSet known{std::vector<bool>(numbers_.size()), false};
    note("history", known);
    note("error", known);
    if (const Json* required = find_member(graph_.input, "required"); required != nullptr && required->is_array())
      for (const Json& name : *required)
        if (name.is_string()) note(name.get<std::string>(), known);
    return known;
  }

  // Channels that a node of the cleanup reads with a default, perhaps to decide whether others read them.
  std::set<std::string> expected_to_lack(const std::vector<ChannelSet>& cleanup) const {
    std::set<std::string> channels;
    for (std::size_t at = 0; at < cleanup.size(); ++at)
      if (!cleanup[at].is_any)
        each_setting(graph_.nodes[at], [&channels](const Json& setting, bool) {
          each_reference(setting, [&channels](std::string_view reference, bool may_lack) {
            if (may_lack) channels.emplace(reference.substr(0, reference.find('/')));
          });
        });
    return channels;
  }

  // `may_be`: what was written on some way; what never is has been reported.
  void cleanup(const std::vector<ChannelSet>& may_be) {
    const std::vector<ChannelSet> sure = spread({{graph_.finally, sure_at_the_cleanup()}});
    const std::set<std::string> expected = expected_to_lack(sure);
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      if (sure[at].is_any) continue;
      std::set<std::string> reported;
      each_read(graph_.nodes[at], [&](const std::string& channel) {
        const std::size_t number = numbers_.at(channel);
        if (sure[at].has[number] || !may_be[at].has[number] || expected.contains(channel)) return;
        if (!reported.insert(channel).second) return;
        found_.warnings.add("Expected a default for channel " + in_quotes(channel) + " where " +
                            node_named(graph_.nodes[at].name) +
                            " of the cleanup reads it, as a run may end before anything has written it.");
      });
    }
  }

  // For each node, what may have been written on some way to it; anything at all where no way leads.
  std::vector<ChannelSet> spread(const std::map<NodeIndex, ChannelSet>& begins) const {
    const ChannelSet nothing{std::vector<bool>(numbers_.size()), false};
    std::vector<ChannelSet> before(graph_.nodes.size(), nothing);
    std::vector<bool> seen(graph_.nodes.size());
    std::vector<NodeIndex> open;
    for (const auto& [node, known] : begins) {
      open.push_back(node);
      before[static_cast<std::size_t>(node)].add(known);
    }
    while (!open.empty()) {
      const auto from = static_cast<std::size_t>(open.back());
      open.pop_back();
      seen[from] = true;
      const ChannelSet written = written_by(graph_.nodes[from]);
      for (const auto& [label, targets] : graph_.nodes[from].on) {
        ChannelSet after = before[from];
        if (brings_writes(graph_.nodes[from], label)) after.add(written);
        if (leaves_a_cause(label)) note("error", after);
        for (const NodeIndex target : targets) {
          const auto to = static_cast<std::size_t>(target);
          if (before[to].add(after) || !seen[to]) open.push_back(target);
          seen[to] = true;
        }
      }
    }
    for (std::size_t at = 0; at < before.size(); ++at) before[at].is_any = before[at].is_any || !seen[at];
    return before;
  }

  void report(const Node& node, const std::string& channel, const ChannelSet& before) {
    if (channel == "error") {
      found_.faults.add("Expected an edge for a failure before " + node_named(node.name) +
                        ", which reads $error, but none leads there.");
      return;
    }
    Names others;
    if (found_.has_hints())
      for (const auto& [name, number] : numbers_)
        if (before.has[number] && name != "history") others.push_back(name);
    if (found_.has_hints() && node.items() != nullptr) others.insert(others.end(), {"item", "index"});
    const Json* more = find_member(graph_.input, "additionalProperties");
    const bool is_certain = more != nullptr && *more == false;
    std::string says = "Expected channel " + in_quotes(channel) + found_.hint(channel, others) +
                       " to be written before " + node_named(node.name) + " reads it, but ";
    if (is_certain)
      found_.faults.add(says + "nothing does, and the graph's \"input\" forbids it.");
    else
      found_.warnings.add(says + "only a run's input may bring it, and the graph's \"input\" does not name it.");
  }

  const Graph& graph_;
  const Handlers& handlers_;
  Found& found_;
  std::map<std::string, std::size_t> numbers_;
};

// A graph without faults of its own is asked further: which channels its steps read, and which values they get.
void check_ways(const Json& graph, const Surroundings& surroundings, Found& found) {
  const GraphRef parsed = stored_graph(graph, "");
  Reads(*parsed, surroundings.handlers, found).check();
  ValueFindings values = value_findings(*parsed, surroundings.handlers);
  for (std::string& says : values.faults) found.faults.add(std::move(says));
  for (std::string& says : values.warnings) found.warnings.add(std::move(says));
  for (std::string& says : leftovers(*parsed, surroundings.handlers)) found.warnings.add(std::move(says));
}

}  // namespace

GraphReview review_graph(const Json& graph, const Surroundings& surroundings) {
  std::vector<std::string> faults = graph_faults(graph, surroundings.handlers);
  if (faults.size() > findings_max) return {std::move(faults), {}};
  Found found;
  for (std::string& says : faults) found.faults.add(std::move(says));
  Parts(graph, surroundings, found).check();
  if (faults.empty()) check_ways(graph, surroundings, found);
  return {std::move(found.faults).listed("faults"), std::move(found.warnings).listed("warnings")};
}

std::optional<Names> channels_of(const Graph& graph, const Handlers& handlers) {
  if (!are_all_settings_declared(graph, handlers)) return std::nullopt;
  ChannelNames channels;
  if (!filled_channels(graph, handlers, channels)) return std::nullopt;
  for (const Node& node : graph.nodes)
    each_setting(node, [&](const Json& setting, bool) {
      each_reference(setting, [&](std::string_view reference, bool) {
        channels.emplace(reference.substr(0, reference.find('/')));
      });
    });
  return Names(channels.begin(), channels.end());
}

Result<GraphRef> parse_reviewed_graph(const Json& graph, std::string version, const Surroundings& surroundings) {
  if (const GraphReview review = review_graph(graph, surroundings); !review.faults.empty())
    return faulty_graph(review.faults);
  return stored_graph(graph, std::move(version));
}

}  // namespace cairn
