#include "engine/graph_check.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <set>
#include <utility>

#include "engine/bounds.hpp"
#include "engine/findings.hpp"
#include "engine/graph.hpp"
#include "engine/graph_expose.hpp"
#include "engine/graph_keep.hpp"
#include "engine/graph_walk.hpp"
#include "engine/id.hpp"
#include "engine/nearest.hpp"

namespace cairn {
namespace {

constexpr std::int64_t steps_max = 1'000'000'000;
constexpr std::int64_t ms_max = 1'000'000'000'000;  // some thirty years: never overflows a time in microseconds
constexpr std::size_t nodes_max = 10'000;
constexpr std::size_t listed_max = 50;
constexpr std::int64_t count_max = 1'000'000'000;
constexpr std::array<Verb, 6> verbs{Verb::do_, Verb::ask, Verb::map, Verb::wait, Verb::call, Verb::end};
constexpr std::array<Reducer, 5> known_reducers{Reducer::last, Reducer::append, Reducer::merge, Reducer::sum,
                                                Reducer::max};

using Words = std::vector<std::string>;

template <class Kind, std::size_t count>
Words words_of(const std::array<Kind, count>& kinds) {
  Words words;
  for (const Kind kind : kinds) words.emplace_back(to_string(kind));
  return words;
}

// The first words of a long list: each fault of a node names all its labels.
std::string listed(const Words& words) {
  if (words.empty()) return "none";
  std::string text = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (i == listed_max) return text + " and " + std::to_string(words.size() - i) + " others";
    text += (i + 1 == words.size() ? " and " : ", ") + words[i];
  }
  return text;
}

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// [a-z][a-z0-9_]*
bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), fits);
}

// Names with dots between: planner.node
bool is_handler_name(std::string_view text) {
  std::size_t parts = 0;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_name(text.substr(0, dot))) return false;
    ++parts;
    if (dot == std::string_view::npos) return parts > 1;
    text.remove_prefix(dot + 1);
  }
}

bool is_channel_name(std::string_view text) {
  return !text.empty() && text[0] != '$' && text.find('/') == std::string_view::npos;
}

bool is_text(const Json& value) { return value.is_string() && !value.get_ref<const std::string&>().empty(); }

// "$channel": known only when the step runs.
bool is_from_channel(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.size() > 1 && text[0] == '$' && text[1] != '$';
}

bool is_integer(const Json& value, std::int64_t lowest, std::int64_t highest) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(highest)) return false;
  return value.is_number_integer() && value.get<std::int64_t>() >= lowest && value.get<std::int64_t>() <= highest;
}

bool is_number(const Json& value, double lowest, double highest) {
  return value.is_number() && value.get<double>() >= lowest && value.get<double>() <= highest;
}

class GraphCheck {
 public:
  GraphCheck(const Json& graph, const Handlers& handlers) : graph_(graph), handlers_(handlers) {}

  std::vector<std::string> faults() {
    if (!graph_.is_object()) {
      expected("the graph to be an object", graph_);
      return std::move(faults_).listed("faults");
    }
    keys(graph_, "the graph",
         {"name", "start", "finally", "input", "output", "channels", "limits", "budgets", "context", "keep", "expose",
          "nodes", "description", "$schema", "singleton", "debounce", "batch"});
    name("the graph's name", member(graph_, "name"));
    if (graph_.contains("description") && !graph_["description"].is_string()) {
      expected("the graph's description to be a text", graph_["description"]);
    }
    schema_of("input");
    schema_of("output");
    const Json& schema = member(graph_, "$schema");  // for editors
    if (!schema.is_discarded() && !schema.is_string()) expected("the graph's $schema to be a text", schema);
    channels();
    limits();
    budgets();
    context();
    keep();
    expose();
    if (const auto starts = parse_start_policy(graph_); !starts) add(starts.error().message);
    nodes();
    shape_.start = begins("the graph's start", member(graph_, "start"));
    if (graph_.contains("finally")) finally();
    if (walkable_) {
      for (std::string& fault : walk_faults(shape_)) add(std::move(fault));
    }
    return std::move(faults_).listed("faults");
  }

 private:
  // --- telling --------------------------------------------------------------------------------------------------
  void fault(const std::string& expectation, const std::string& but) {
    add("Expected " + expectation + ", but " + but + ".");
  }
  void add(std::string says) { faults_.add(std::move(says)); }
  void expected(const std::string& expectation, const Json& found) {
    fault(expectation, found.is_discarded() ? "it is missing" : "it is " + excerpt(found, 60));
  }

  bool has_hints() const { return faults_.size() < hinted_findings_max; }
  std::string hint(std::string_view word, const Words& known) const {
    return has_hints() ? did_you_mean(word, known) : std::string();
  }

  // --- parts ----------------------------------------------------------------------------------------------------
  // A discarded value stands for a missing one.
  static const Json& member(const Json& object, const char* key) {
    static const Json missing(Json::value_t::discarded);
    const auto found = object.find(key);
    return found == object.end() ? missing : *found;
  }

  void keys(const Json& object, const std::string& what, const Words& known) {
    for (const auto& entry : object.items()) {
      if (has(known, entry.key())) continue;
      fault(what + " to have only the keys " + listed(known),
            "it has " + in_quotes(entry.key()) + hint(entry.key(), known));
    }
  }

  void name(const std::string& what, const Json& value) {
    bounded(what, value);
    if (value.is_string() && is_name(value.get_ref<const std::string&>())) return;
    expected(what + " to be lower-case letters, digits and _", value);
  }

  // A name of any kind, if it is one.
  void bounded(const std::string& what, const Json& value) {
    if (!value.is_string()) return;
    const auto& text = value.get_ref<const std::string&>();
    if (const Status fits = check_name(text, what); !fits) add(fits.error().message);
  }

  // `expectation` says of which words it is one.
  void one_word(const std::string& expectation, const Json& value, const Words& known) {
    if (!value.is_string()) return expected(expectation, value);
    const auto& word = value.get_ref<const std::string&>();
    if (!has(known, word)) fault(expectation, "it is " + excerpt(value, 60) + hint(word, known));
  }

  void integer(const std::string& what, const Json& value, std::int64_t lowest, std::int64_t highest) {
    if (is_integer(value, lowest, highest)) return;
    expected(what + " to be an integer from " + std::to_string(lowest) + " to " + std::to_string(highest), value);
  }

  bool object(const std::string& what, const Json& value) {
    if (!value.is_object()) expected(what + " to be an object", value);
    return value.is_object();
  }

  // True if there is such a part and it is an object; a missing one may be left out.
  bool optional_object(const std::string& what, const Json& value) {
    return !value.is_discarded() && object(what, value);
  }

  // --- the graph ------------------------------------------------------------------------------------------------
  void channels() {
    const Json& channels = member(graph_, "channels");
    if (!optional_object("the graph's channels", channels)) return;
    for (const auto& entry : channels.items()) {
      const std::string what = "channel " + in_quotes(entry.key());
      bounded("the name of a channel", entry.key());
      if (!is_channel_name(entry.key())) fault(what + " to have a name without / and without $ in front", "it has not");
      if (!object(what, entry.value())) continue;
      keys(entry.value(), what, {"reducer"});
      const Json& reducer = member(entry.value(), "reducer");
      if (!reducer.is_discarded())
        one_word("the reducer of " + what + " to be last, append, merge, sum or max", reducer,
                 words_of(known_reducers));
    }
  }

  void schema_of(const char* key) {
    const Json& schema = member(graph_, key);
    if (!schema.is_discarded() && !schema.is_object())
      expected("the graph's " + std::string(key) + " to be a JSON Schema", schema);
  }

  void limits() {
    const Json& limits = member(graph_, "limits");
    if (!object("the graph's limits", limits)) return;
    keys(limits, "the graph's limits", {"steps", "ms"});
    integer("the limit of steps", member(limits, "steps"), 1, steps_max);
    if (limits.contains("ms")) integer("the limit of milliseconds", limits["ms"], 1, ms_max);
  }

  void budgets() {
    const Json& budgets = member(graph_, "budgets");
    if (!optional_object("the graph's budgets", budgets)) return;
    for (const auto& entry : budgets.items()) {
      const std::string what = "budget " + in_quotes(entry.key());
      bounded("the name of a budget", entry.key());
      if (!is_name(entry.key())) fault(what + " to be named by lower-case letters, digits and _", "it is not");
      if (!object(what, entry.value())) continue;
      keys(entry.value(), what, {"cap"});
      integer("the cap of " + what, member(entry.value(), "cap"), 0, std::numeric_limits<std::int64_t>::max());
    }
  }

  void context() {
    const Json& context = member(graph_, "context");
    if (!optional_object("the graph's context", context)) return;
    keys(context, "the graph's context", {"keep_last", "max_bytes", "summary_template"});
    for (const char* count : {"keep_last", "max_bytes"}) {
      if (context.contains(count)) integer("context " + in_quotes(count), context[count], 0, count_max);
    }
    const Json& summary = member(context, "summary_template");
    if (!summary.is_discarded() && !summary.is_string()) expected("context \"summary_template\" to be a text", summary);
  }

  void nodes() {
    const Json& nodes = member(graph_, "nodes");
    if (!object("the graph's nodes", nodes)) {
      walkable_ = false;
      return;
    }
    if (nodes.size() > nodes_max) {
      walkable_ = false;
      return fault("the graph to have at most " + std::to_string(nodes_max) + " nodes",
                   "it has " + std::to_string(nodes.size()));
    }
    for (const auto& entry : nodes.items()) {
      shape_.places.emplace_back().name = entry.key();
      places_[entry.key()] = static_cast<NodeIndex>(shape_.places.size() - 1);
    }
    for (Place& place : shape_.places) node(place, nodes[place.name]);
  }

  NodeIndex begins(const std::string& what, const Json& node) {
    const auto found = node.is_string() ? places_.find(node.get_ref<const std::string&>()) : places_.end();
    if (found != places_.end()) return found->second;
    walkable_ = false;
    if (node.is_string())
      fault(what + " to be a node", no_node(node));
    else
      expected(what + " to be a node", node);
    return -1;
  }

  std::string no_node(const Json& name) const {
    Words known;
    if (has_hints())
      for (const auto& [place, index] : places_) known.push_back(place);
    return "there is no " + excerpt(name, 60) + hint(name.get_ref<const std::string&>(), known);
  }

  void keep() {
    const Json& keep = member(graph_, "keep");
    if (!keep.is_discarded() && !parse_keep(keep))
      expected("the graph's \"keep\" to be a duration like 90d, 12h, 30m or 10s", keep);
  }

  void expose() {
    const Json& expose = member(graph_, "expose");
    if (expose.is_discarded()) return;
    for (std::string& says : expose_faults(expose)) add(std::move(says));
  }

  void finally() {
    const Json& node = graph_["finally"];
    shape_.finally = begins("the graph's \"finally\"", node);
    if (shape_.finally >= 0 && shape_.places[static_cast<std::size_t>(shape_.finally)].end)
      fault("the graph's \"finally\" to be a node that does something", "it is the end " + excerpt(node, 60));
  }

  // --- a node ---------------------------------------------------------------------------------------------------
  void node(Place& place, const Json& json) {
    const std::string what = "node " + in_quotes(place.name);
    bounded("the name of a node", place.name);
    if (!is_name(place.name)) fault(what + " to be named by lower-case letters, digits and _", "it is not");
    if (!object(what, json) || !one_verb(what, json)) {
      walkable_ = false;
      return;
    }
    settings(what, json);
    edges(place, what, json);
    for (const Verb verb : verbs) {
      if (!json.contains(to_string(verb))) continue;
      place.end = verb == Verb::end;
      of_verb(verb, what, json);
    }
  }

  bool one_verb(const std::string& what, const Json& json) {
    Words found;
    for (const Verb verb : verbs) {
      if (json.contains(to_string(verb))) found.emplace_back(to_string(verb));
    }
    if (found.size() == 1) return true;
    std::string meant;
    for (const auto& entry : json.items()) {
      const std::string hint = did_you_mean(entry.key(), words_of(verbs));
      if (found.empty() && meant.empty() && !hint.empty()) meant = ", but " + in_quotes(entry.key()) + hint;
    }
    fault(what + " to have one of do, ask, map, wait, call and end", "it has " + listed(found) + meant);
    return false;
  }

  void of_verb(Verb verb, const std::string& what, const Json& json) {
    switch (verb) {
      case Verb::do_:
        return do_node(what, json);
      case Verb::ask:
        return ask_node(what, json);
      case Verb::map:
        return map_node(what, json);
      case Verb::wait:
        return wait_node(what, json);
      case Verb::call:
        return call_node(what, json);
      case Verb::end:
        return end_node(what, json);
    }
  }

  // Settings that several verbs have; the keys of a verb say whether it is one of them.
  void settings(const std::string& what, const Json& json) {
    for (const char* flag : {"join", "cache"}) {
      const Json& value = member(json, flag);
      if (!value.is_discarded() && !value.is_boolean())
        expected(in_quotes(flag) + " of " + what + " to be a boolean", value);
    }
    if (json.contains("timeout_ms")) integer("\"timeout_ms\" of " + what, json["timeout_ms"], 1, ms_max);
    const Json& queue = member(json, "queue");
    const bool is_free = is_text(queue) && !queue.get_ref<const std::string&>().starts_with("cairn.");
    if (!queue.is_discarded() && !is_free) {
      expected("the queue of " + what + " to be a name that does not begin with cairn.", queue);
    }
    bounded("the queue of a node", queue);
    const Json& into = member(json, "into");
    bounded("the channel of \"into\"", into);
    const bool is_channel = into.is_string() && is_channel_name(into.get_ref<const std::string&>());
    if (!into.is_discarded() && !is_channel) expected("\"into\" of " + what + " to be a channel", into);
    optional_object("\"with\" of " + what, member(json, "with"));
    spends(what, member(json, "spends"));
    retry("the retry of " + what, member(json, "retry"));
  }

  void spends(const std::string& what, const Json& spends) {
    if (spends.is_discarded()) return;
    const Json& budgets = member(graph_, "budgets");
    const bool is_declared = spends.is_string() && budgets.is_object() && budgets.contains(spends);
    if (is_declared) return;
    Words known;
    if (budgets.is_object() && has_hints())
      for (const auto& entry : budgets.items()) known.push_back(entry.key());
    fault(what + " to spend a budget of the graph",
          "there is no " + excerpt(spends, 60) +
              (spends.is_string() ? hint(spends.get_ref<const std::string&>(), known) : ""));
  }

  void retry(const std::string& what, const Json& retry) {
    if (!optional_object(what, retry)) return;
    keys(retry, what, {"attempts", "lost", "backoff_ms", "factor", "max_ms", "jitter"});
    const auto part = [&](const char* key) { return in_quotes(key) + " in " + what; };
    if (retry.contains("attempts")) integer(part("attempts"), retry["attempts"], 1, count_max);
    if (retry.contains("lost")) integer(part("lost"), retry["lost"], 0, count_max);
    if (retry.contains("backoff_ms")) integer(part("backoff_ms"), retry["backoff_ms"], 0, ms_max);
    if (retry.contains("max_ms")) integer(part("max_ms"), retry["max_ms"], 0, ms_max);
    if (retry.contains("factor") && !is_number(retry["factor"], 1, 1000)) {
      expected(part("factor") + " to be a number from 1 to 1000", retry["factor"]);
    }
    if (retry.contains("jitter") && !is_number(retry["jitter"], 0, 1)) {
      expected(part("jitter") + " to be a number from 0 to 1", retry["jitter"]);
    }
  }

  // --- edges ----------------------------------------------------------------------------------------------------
  void edges(Place& place, const std::string& what, const Json& json) {
    place.join = member(json, "join") == true && !json.contains("end");
    const Json& on = member(json, "on");
    if (on.is_discarded()) return;
    if (!object("the edges (\"on\") of " + what, on)) {
      walkable_ = false;
      return;
    }
    for (const auto& entry : on.items()) {
      const std::string edge = "edge " + in_quotes(entry.key()) + " of " + what;
      bounded("the label of an edge", entry.key());
      if (!is_name(entry.key())) fault(edge + " to be labelled by lower-case letters, digits and _", "it is not");
      place.edges.push_back({entry.key(), targets(edge, entry.value())});
    }
  }

  std::vector<NodeIndex> targets(const std::string& edge, const Json& value) {
    std::vector<NodeIndex> found;
    for (const Json& target : value.is_array() ? value : Json::array({value})) {
      if (!target.is_string()) {
        expected(edge + " to lead to a node or to a list of nodes", value);
        break;
      }
      const auto place = places_.find(target.get_ref<const std::string&>());
      if (place != places_.end()) {
        found.push_back(place->second);
      } else {
        fault(edge + " to lead to a node", no_node(target));
      }
    }
    if (value.is_array() && value.empty()) expected(edge + " to lead to a node or to a list of nodes", value);
    if (found.empty() || found.size() != (value.is_array() ? value.size() : 1)) walkable_ = false;
    return found;
  }

  // Every label of `needed` has an edge, and no edge has another one, but for `others` and those of any node.
  void labels(const std::string& what, const Json& json, const Words& needed, const Words& others) {
    const Json& on = member(json, "on");
    for (const std::string& label : needed) {
      if (!on.is_object() || !on.contains(label)) {
        fault(what + " to have an edge for " + in_quotes(label), "it has none");
      }
    }
    if (!on.is_object()) return;
    Words known = needed;
    known.insert(known.end(), others.begin(), others.end());
    for (const char* label : {"error", "exhausted"}) {
      if (!has(known, label)) known.emplace_back(label);
    }
    const std::set<std::string_view> all(known.begin(), known.end());
    for (const auto& entry : on.items()) {
      if (!all.contains(entry.key()))
        fault(what + " to leave by " + listed(known) + " only",
              "it has an edge for " + in_quotes(entry.key()) + hint(entry.key(), known));
    }
    if (on.contains("exhausted") && !has(needed, "exhausted") && !json.contains("spends")) {
      fault(what + " to spend a budget", "it has an edge for \"exhausted\" and no \"spends\"");
    }
  }

  // --- verbs ----------------------------------------------------------------------------------------------------
  void do_node(const std::string& what, const Json& json) {
    keys(json, what, {"do", "on", "join", "cache", "queue", "timeout_ms", "spends", "retry", "labels", "with"});
    const Json& handler = json["do"];
    bounded("the name of a handler", handler);
    if (!handler.is_string() || !is_handler_name(handler.get_ref<const std::string&>())) {
      return expected("the handler of " + what + " to be a name like planner.node", handler);
    }
    const auto known = handlers_.find(handler.get_ref<const std::string&>());
    if (member(json, "cache") == true && known != handlers_.end() && !known->second.is_pure)
      fault(what + " to cache what a pure handler leaves", handler.get<std::string>() + " is an effect");
    if (const auto declared = declared_labels(what, json, handler.get_ref<const std::string&>())) {
      labels(what, json, *declared, {});
    }
  }

  // The labels the handler may leave by; nothing if they are not known, which is then a fault.
  std::optional<Words> declared_labels(const std::string& what, const Json& json, const std::string& handler) {
    const auto known = handlers_.find(handler);
    const Json& own = member(json, "labels");
    const bool is_list = own.is_array() && !own.empty() && std::all_of(own.begin(), own.end(), [](const Json& label) {
                           return label.is_string() && is_name(label.get_ref<const std::string&>());
                         });
    if (!own.is_discarded() && !is_list) {
      expected("the labels of " + what + " to be a list of names", own);
      return std::nullopt;
    }
    if (known != handlers_.end() && !known->second.declared_by_node) {
      const std::set<std::string>& labels = known->second.labels;
      if (is_list && own.get<std::set<std::string>>() != labels) {
        expected("the labels of " + what + " to be those of " + handler + " (" +
                     listed({labels.begin(), labels.end()}) + ")",
                 own);
      }
      return Words(labels.begin(), labels.end());
    }
    if (is_list) {
      for (const Json& label : own) {
        bounded("the label of a handler", label);
        if (label == "error" || label == "exhausted")
          fault("the labels of " + what + " to be a handler's own",
                "it has " + in_quotes(label.get<std::string>()) + ", which is the engine's");
      }
      return own.get<Words>();
    }
    if (known != handlers_.end() && !known->second.labels.empty())
      return Words(known->second.labels.begin(), known->second.labels.end());
    if (known != handlers_.end()) {
      fault(what + " to declare the labels that " + handler + " leaves by", "it has no \"labels\"");
    } else {
      Words names;
      for (const auto& [name, one] : handlers_) names.push_back(name);
      fault(what + " to have a known handler or to declare its labels",
            "there is no handler " + handler + hint(handler, names));
    }
    return std::nullopt;
  }

  void ask_node(const std::string& what, const Json& json) {
    keys(json, what, {"ask", "on", "join", "expires_ms", "spends", "into"});
    const Json& ask = json["ask"];
    if (object("the question of " + what, ask)) {
      keys(ask, "the question of " + what, {"kind", "prompt", "schema", "default"});
      const Json& kind = member(ask, "kind");
      bounded("the kind of a question", kind);
      if (!kind.is_discarded() && !is_text(kind))
        expected("the kind of the question of " + what + " to be a text", kind);
      const Json& schema = member(ask, "schema");
      const bool is_schema = schema.is_object() || schema.is_boolean() || schema.is_null();
      if (!schema.is_discarded() && !is_schema) {
        expected("the schema of the question of " + what + " to be an object", schema);
      }
    }
    const Json& expiry = member(json, "expires_ms");
    if (!expiry.is_discarded() && !is_from_channel(expiry)) integer("\"expires_ms\" of " + what, expiry, 0, ms_max);
    const bool has_default = ask.is_object() && ask.contains("default");
    if (has_default) {
      labels(what, json, {"answered"}, {"expired"});
    } else {
      labels(what, json, {"answered", "expired"}, {});
    }
  }

  void map_node(const std::string& what, const Json& json) {
    const Json& map = json["map"];
    keys(json, what, {"map", "on", "join", "cache", "timeout_ms", "spends", "retry"});
    if (map.is_object()) {
      map_items("the map of " + what, map);
      if (json.contains("cache")) fault(what + " to cache the outcomes of sub-goals", "it maps items");
    } else {
      one_word(what + " to map \"sub_goals\" or the items of a list", map, {"sub_goals"});
    }
    labels(what, json, {"joined"}, {"partial"});
  }

  void map_items(const std::string& what, const Json& map) {
    keys(map, what, {"over", "do", "call", "with", "queue", "labels", "concurrency", "into", "failures"});
    if (map.contains("do") == map.contains("call"))
      fault(what + " to have one of do and call", map.contains("do") ? "it has both" : "it has none");
    const Json& over = member(map, "over");
    const bool is_named = over.is_object() && over.contains("$");
    if (!over.is_array() && !is_named && !is_from_channel(over))
      expected(what + " to go \"over\" a list or a $channel that gives one", over);
    if (map.contains("do")) map_handler(what, map);
    if (map.contains("call")) {
      name("the graph that " + what + " calls", map["call"]);
      for (const char* key : {"queue", "labels"})
        if (map.contains(key)) fault(what + " to have " + in_quotes(key) + " only with \"do\"", "it has \"call\"");
    }
    settings(what, map);
    if (map.contains("concurrency"))
      integer("\"concurrency\" in " + what, map["concurrency"], 1, map.contains("call") ? 1'000 : 10'000);
    map_channels(what, map);
  }

  void map_handler(const std::string& what, const Json& map) {
    const Json& handler = map["do"];
    bounded("the name of a handler", handler);
    if (!handler.is_string() || !is_handler_name(handler.get_ref<const std::string&>()))
      return expected("the handler of " + what + " to be a name like planner.node", handler);
    declared_labels(what, map, handler.get_ref<const std::string&>());
  }

  // The results are a list: so a channel that takes them must take lists. An item's own channels are set, not reduced.
  void map_channels(const std::string& what, const Json& map) {
    const Json& failures = member(map, "failures");
    bounded("the channel of \"failures\"", failures);
    if (!failures.is_discarded() && !(failures.is_string() && is_channel_name(failures.get_ref<const std::string&>())))
      expected("\"failures\" of " + what + " to be a channel", failures);
    const auto reducer_of = [&](const Json& channel) -> const Json& {
      const Json& channels = member(graph_, "channels");
      if (!channel.is_string() || !channels.is_object()) return member(map, "");
      const Json& settings = member(channels, channel.get_ref<const std::string&>().c_str());
      return settings.is_object() ? member(settings, "reducer") : member(map, "");
    };
    for (const char* key : {"into", "failures"}) {
      const Json& reducer = reducer_of(member(map, key));
      if (reducer.is_discarded() || reducer == "last" || reducer == "append") continue;
      expected("the channel of " + in_quotes(key) + " of " + what + " to take lists (last or append)", reducer);
    }
    for (const char* own : {"item", "index"})
      if (const Json& reducer = reducer_of(own); !reducer.is_discarded() && reducer != "last")
        expected("channel " + in_quotes(own) + ", which " + what + " sets, to have no reducer but last", reducer);
  }

  void wait_node(const std::string& what, const Json& json) {
    keys(json, what, {"wait", "on", "join", "spends", "into"});
    const Json& wait = json["wait"];
    if (!object("the wait of " + what, wait)) return;
    const bool has_one = wait.contains("ms") + wait.contains("until") + wait.contains("signal") == 1;
    if (!has_one) expected("the wait of " + what + " to have one of ms, until and signal", wait);
    keys(wait, "the wait of " + what, {"ms", "until", "signal", "timeout_ms"});
    wait_times(what, wait);
    const Json& signal = member(wait, "signal");
    bounded("the signal of a node", signal);
    if (!signal.is_discarded() && !is_text(signal)) expected("the signal of " + what + " to be a text", signal);
    const bool can_time_out = wait.contains("timeout_ms");
    if (can_time_out && signal.is_discarded())
      fault(what + " to wait for a signal", "it has a \"timeout_ms\" without one");
    labels(what, json, can_time_out ? Words{"fired", "timeout"} : Words{"fired"}, {});
  }

  void wait_times(const std::string& what, const Json& wait) {
    for (const char* time : {"ms", "timeout_ms"}) {
      if (!wait.contains(time) || is_from_channel(wait[time])) continue;
      integer(in_quotes(time) + " in the wait of " + what, wait[time], 0, ms_max);
    }
    const Json& until = member(wait, "until");
    if (until.is_discarded() || is_from_channel(until)) return;
    if (until.is_string() && parse_time(until.get_ref<const std::string&>())) return;
    expected("\"until\" in the wait of " + what + " to be a time like 2026-11-21T22:23:47Z", until);
  }

  void call_node(const std::string& what, const Json& json) {
    keys(json, what, {"call", "on", "join", "spends", "with", "into"});
    name("the graph that " + what + " calls", json["call"]);
    labels(what, json, {"done", "failed"}, {"aborted"});
  }

  void end_node(const std::string& what, const Json& json) {
    keys(json, what, {"end"});
    const Json& end = json["end"];
    if (end.is_object()) {
      keys(end, "the end of " + what, {"status", "reason", "output"});
      const Json& reason = member(end, "reason");
      if (!reason.is_discarded() && !reason.is_string()) expected("the reason of " + what + " to be a text", reason);
    }
    const Json& status = end.is_object() ? member(end, "status") : end;
    one_word("the status of " + what + " to be done, failed or aborted", status, {"done", "failed", "aborted"});
  }

  const Json& graph_;
  const Handlers& handlers_;
  Findings faults_;
  Shape shape_;
  std::map<std::string, NodeIndex> places_;
  bool walkable_ = true;  // every edge leads somewhere: only then do the walks find faults that are not named already
};

}  // namespace

std::vector<std::string> graph_faults(const Json& graph, const Handlers& handlers) {
  return GraphCheck(graph, handlers).faults();
}

}  // namespace cairn
