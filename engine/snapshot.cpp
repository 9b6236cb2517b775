#include "engine/snapshot.hpp"

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "engine/state_check.hpp"

namespace cairn {
namespace {

struct NoSnapshot {  // never leaves restore_snapshot
  std::string says;
};

// --- writing ---------------------------------------------------------------------------------------------------------
// Writes the text of one object, whose members are in the order of the fields. A state may hold values of 100 MB: they
// are copied once, into the text.
class Saver {
 public:
  Saver(const Graph* graph, std::string& text) : graph_(graph), text_(text) { text_ += '{'; }
  void end() { text_ += '}'; }

  template <class T>
  void operator()(const char* key, const T& value) {
    member(key);
    write(value);
  }
  template <class T>
  void present(const char* key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }
  template <class T>
  void unless_empty(const char* key, const T& value) {
    if (!value.empty()) (*this)(key, value);
  }
  template <class T>
  void unless_is(const char* key, const T& value, const T& absent) {
    if (value != absent) (*this)(key, value);
  }
  void flag(const char* key, bool is_set) {
    if (is_set) (*this)(key, true);
  }
  void node(const char* key, NodeIndex node) {
    if (node >= 0) (*this)(key, graph_->node(node).name);
  }
  void text(const char* key, const JsonText& value) {
    member(key);
    text_ += value;
  }
  void data(const char* key, const Data& value) {
    if (graph_ != nullptr) (*this)(key, value.composed(*graph_));
  }

 private:
  void separate(char opening) {
    if (text_.back() != opening) text_ += ',';
  }
  void member(const std::string& key) {
    separate('{');
    write(key);
    text_ += ':';
  }

  void write(const Json& value) { append_canonical(text_, value); }
  void write(const std::string& value) { append_canonical(text_, value); }
  void write(bool value) { text_ += value ? "true" : "false"; }
  void write(std::integral auto value) { text_ += std::to_string(value); }
  void write(const RunId& value) { write(to_string(value)); }
  void write(RunStatus value) { write(std::string(to_string(value))); }
  void write(GoalStatus value) { write(std::string(to_string(value))); }
  template <class T, class Of = std::identity>
  void write_list(const T& values, Of of = {}) {
    text_ += '[';
    for (const auto& value : values) {
      separate('[');
      write(of(value));
    }
    text_ += ']';
  }
  template <class T>
  void write(const std::vector<T>& values) {
    write_list(values);
  }
  template <class T>
  void write(const std::deque<T>& values) {
    write_list(values);
  }
  template <class T, class Order>
  void write(const std::set<T, Order>& values) {
    write_list(values);
  }
  template <class T, class Order>
  void write(const std::map<std::string, T, Order>& values) {
    text_ += '{';
    for (const auto& [key, value] : values) {
      member(key);
      write(value);
    }
    text_ += '}';
  }
  template <std::integral Key, class T>
  void write(const std::map<Key, T>& values) {  // each value knows its key: `id`
    write_list(values, [](const auto& entry) -> const T& { return entry.second; });
  }
  template <class T>
  requires std::is_class_v<T>
  void write(const T& value) {
    Saver saver(graph_, text_);
    state_fields(saver, value);
    saver.end();
  }

  const Graph* graph_;
  std::string& text_;
};

// --- reading ---------------------------------------------------------------------------------------------------------
class Loader {
 public:
  Loader(const Graph* graph, const Json& object) : graph_(graph), object_(object) {
    if (!object.is_object()) throw NoSnapshot{"it has no object where one should be"};
  }

  template <class T>
  void operator()(const char* key, T& value) {
    load(needed(key), value);
  }
  template <class T>
  void present(const char* key, std::optional<T>& value) {
    if (object_.contains(key)) load(object_.at(key), value.emplace());
  }
  template <class T>
  void unless_empty(const char* key, T& value) {
    if (object_.contains(key)) load(object_.at(key), value);
  }
  template <class T>
  void unless_is(const char* key, T& value, const T& absent) {
    value = absent;
    if (object_.contains(key)) load(object_.at(key), value);
  }
  void flag(const char* key, bool& is_set) {
    if (object_.contains(key)) load(object_.at(key), is_set);
  }
  void node(const char* key, NodeIndex& node) {
    if (!object_.contains(key)) return;
    std::string name;
    load(object_.at(key), name);
    node = graph_ == nullptr ? -1 : graph_->find(name);
    if (node < 0) throw NoSnapshot{"its graph has no node " + name};
  }
  void text(const char* key, JsonText& value) { value = canonical(needed(key)); }
  void data(const char* key, Data& value) {
    if (graph_ == nullptr) return;
    const Json& channels = needed(key);
    if (!channels.is_object()) throw NoSnapshot{std::string("its \"") + key + "\" is no object"};
    value.set(channels, *graph_);
  }

 private:
  const Json& needed(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) throw NoSnapshot{std::string("it has no \"") + key + "\""};
    return *found;
  }

  static void must(bool fits, const Json& found) {
    if (!fits) throw NoSnapshot{"it has " + excerpt(found, 60) + " where something else should be"};
  }

  void load(const Json& json, Json& value) const { value = json; }
  void load(const Json& json, std::string& value) const {
    must(json.is_string(), json);
    value = json.get_ref<const std::string&>();
  }
  void load(const Json& json, bool& value) const {
    must(json.is_boolean(), json);
    value = json.get<bool>();
  }
  void load(const Json& json, std::integral auto& value) const {
    using Integer = std::remove_reference_t<decltype(value)>;
    must(json.is_number_integer(), json);
    must(!json.is_number_unsigned() || std::in_range<Integer>(json.get<std::uint64_t>()), json);
    must(json.is_number_unsigned() || std::in_range<Integer>(json.get<std::int64_t>()), json);
    value = json.get<Integer>();
  }
  template <class T>
  void load_parsed(const Json& json, T& value, std::optional<T> (*parse)(std::string_view)) const {
    must(json.is_string(), json);
    const std::optional<T> parsed = parse(json.get_ref<const std::string&>());
    must(parsed.has_value(), json);
    value = *parsed;
  }
  void load(const Json& json, RunId& value) const { load_parsed(json, value, &parse_run_id); }
  void load(const Json& json, RunStatus& value) const { load_parsed(json, value, &parse_run_status); }
  void load(const Json& json, GoalStatus& value) const { load_parsed(json, value, &parse_goal_status); }
  template <class T>
  void load(const Json& json, std::vector<T>& values) const {
    must(json.is_array(), json);
    for (const Json& element : json) load(element, values.emplace_back());
  }
  template <class T>
  void load(const Json& json, std::deque<T>& values) const {
    must(json.is_array(), json);
    for (const Json& element : json) load(element, values.emplace_back());
  }
  template <class T, class Order>
  void load(const Json& json, std::set<T, Order>& values) const {
    must(json.is_array(), json);
    for (const Json& element : json) {
      T value{};
      load(element, value);
      values.insert(std::move(value));
    }
  }
  template <class T, class Order>
  void load(const Json& json, std::map<std::string, T, Order>& values) const {
    must(json.is_object(), json);
    for (const auto& entry : json.items()) load(entry.value(), values[entry.key()]);
  }
  template <std::integral Key, class T>
  void load(const Json& json, std::map<Key, T>& values) const {
    must(json.is_array(), json);
    for (const Json& element : json) {
      T value;
      load(element, value);
      const Key key = value.id;
      must(values.emplace(key, std::move(value)).second, Json(key));  // one of each id
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void load(const Json& json, T& value) const {
    Loader loader(graph_, json);
    state_fields(loader, value);
  }

  const Graph* graph_;
  const Json& object_;
};

// --- what a state consists of; one list for both ways ----------------------------------------------------------------
void state_fields(auto& field, Is<Options> auto& e) {
  field("autonomous", e.autonomous);
  field("priority", e.priority);
  field("budgets", e.budgets);
  field.flag("recorded", e.recorded);  // since fold version 3
}
void state_fields(auto& field, Is<Parent> auto& e) {
  field("run", e.run);
  field("step", e.step);
  field("depth", e.depth);
}
void state_fields(auto& field, Is<ForkPoint> auto& e) {
  field("run", e.run);
  field("seq", e.seq);
}
void state_fields(auto& field, Is<SubGoal> auto& e) {
  field("id", e.id);
  field("tool", e.tool);
  field("title", e.title);
  field("parent", e.parent);
  field("inputs", e.inputs);
  field("after", e.after);
  field("queue", e.queue);
  field("context", e.context);
  field("status", e.status);
  field("outputs", e.outputs);
  field("error", e.error);
  field("message", e.message);
  field("attempts", e.attempts);
  field("step", e.step);
  field("map", e.map);
  field("waits_for", e.waits_for);
  field("dependents", e.dependents);
}
void state_fields(auto& field, Is<RejectedGoal> auto& e) {
  field("id", e.id);
  field("tool", e.tool);
  field("reason", e.reason);
}
void state_fields(auto& field, Is<Plan> auto& e) {
  field("goals", e.goals);
  field("rejected", e.rejected);
  field("by_id", e.by_id);
  field("next_untaken", e.next_untaken);
}
void state_fields(auto& field, Is<CachedOutcome> auto& e) {
  field("step", e.step);
  field("label", e.label);
  field.text("patch", e.patch);
}
void state_fields(auto& field, Is<CauseOfFailure> auto& e) {
  field("error", e.error);
  field("message", e.message);
  field("node", e.node);
  field("step", e.step);
  field("attempt", e.attempt);
}
void state_fields(auto& field, Is<Branch> auto& e) {
  field("id", e.id);
  field("parent", e.parent);
  field("place", e.place);
  field("step", e.step);
  field.data("data", e.data);
  field("plan", e.plan);
  field("fan", e.fan);
  field("arrived", e.arrived);
  field.node("at_join", e.at_join);
  field.node("at_end", e.at_end);
  field.unless_empty("cache", e.cache);  // since fold version 2
  field.present("cause", e.cause);       // since fold version 5
}
void state_fields(auto& field, Is<FailedItem> auto& e) {
  field("id", e.id);
  field("error", e.error);
  field("message", e.message);
}
void state_fields(auto& field, Is<Step> auto& e) {
  field("id", e.id);
  field("branch", e.branch);
  field.node("node", e.node);
  field("goal", e.goal);
  field("attempt", e.attempt);
  field("errors", e.errors);
  field("losses", e.losses);
  field("opened_at", e.opened_at);
  field("run_at", e.run_at);
  field("given", e.given);
  field("budgets", e.budgets);
  field("exhausted", e.exhausted);
  field("failed_final", e.failed_final);
  field("error", e.error);
  field("message", e.message);
  field("question", e.question);
  field.present("due", e.due);
  field("child", e.child);
  field("open_goals", e.map.open_goals);
  field("partial", e.map.partial);
  field("doomed", e.map.doomed);
  field("unfit", e.unfit);
  field("came", e.closing_label);
  field.present("brought", e.brought);
  field.unless_is("item", e.item, std::int32_t{-1});  // this and the rest since fold version 6
  field.unless_is("items", e.map.items, Json());
  field.unless_is("next_item", e.map.next_item, std::int32_t{0});
  field.unless_is("open_items", e.map.open_items, std::int32_t{0});
  field.unless_is("results", e.map.results, Json());
  field.unless_empty("failed_items", e.map.failed);
}
void state_fields(auto& field, Is<Question> auto& e) {
  field("id", e.id);
  field("step", e.step);
  field("kind", e.kind);
  field("prompt", e.prompt);
  field("schema", e.schema);
  field.present("default", e.fallback);
  field.present("expires_at", e.expires_at);
}
void state_fields(auto& field, Is<Signal> auto& e) {
  field("id", e.id);
  field("value", e.value);
  field("seq", e.seq);
}
void state_fields(auto& field, Is<BudgetUse> auto& e) {
  field("cap", e.cap);
  field("used", e.used);
  field("told", e.is_reported);
}
void state_fields(auto& field, Is<Ending> auto& e) {
  field("status", e.status);
  field("reason", e.reason);
  field.present("cause", e.cause);
  field("output", e.output);
  field("last_step", e.last_step);
}
void state_fields(auto& field, Is<RunState> auto& e) {  // but its graph
  field("run", e.id);
  field("seq", e.seq);
  field("status", e.status);
  field("reason", e.reason);
  field.unless_empty("pause_reason", e.pause_reason);  // since fold version 8, as events have it
  field.present("cause", e.cause);                     // since fold version 5
  field.present("ending", e.ending);                   // since fold version 7
  field("output", e.output);
  field("started_at", e.started_at);
  field("last_at", e.last_at);
  field.unless_is("counted_from", e.counted_from, TimeUs{0});  // since fold version 7
  field.flag("overdue", e.is_overdue);                         // since fold version 7
  field.unless_is("language", e.language, std::int32_t{1});    // since fold version 5
  field.text("input", e.input);
  field.unless_empty("key", e.key);  // since fold version 7
  field("options", e.options);
  field("tags", e.tags);
  field.present("parent", e.parent);
  field.present("continues", e.continues);
  field.present("forked_from", e.forked_from);  // since fold version 3
  field("last_step", e.last_step);
  field("last_branch", e.last_branch);
  field("branches", e.branches);
  field("steps", e.steps);
  field("questions", e.questions);
  field("signals", e.signals);
  field("signal_ids", e.signal_ids);
  field("budgets", e.budgets);
  field("plan_version", e.plan_version);
  field("goal", e.goal);
}

// Null for a state without an event yet.
GraphRef graph_of(const Json& snapshot, const Graphs& graphs) {
  const Json& version = snapshot.at("graph");
  return version.is_null() ? nullptr : graphs.by_version(version.get_ref<const std::string&>());
}

RunState restored(const Json& snapshot, GraphRef graph) {
  RunState state;
  state.graph = std::move(graph);
  Loader loader(state.graph.get(), snapshot);
  state_fields(loader, state);
  return state;
}

}  // namespace

std::string snapshot_text(const RunState& state, std::size_t bytes_expected) {
  std::string text;
  text.reserve(bytes_expected);
  Saver saver(state.graph.get(), text);
  state_fields(saver, state);
  saver("graph", state.graph == nullptr ? Json() : Json(state.graph->version));
  saver("fold", fold_version);
  saver.end();
  return text;
}

Json snapshot_json(const RunState& state) { return parse_stored(snapshot_text(state)); }

Result<RunState> restore_snapshot(const Json& snapshot, const Graphs& graphs) {
  try {
    const Json& fold = snapshot.at("fold");
    if (!fold.is_number_integer() || fold < 1 || fold > fold_version) {
      return Error{Code::unsupported, "Expected a snapshot of fold version 1 to " + std::to_string(fold_version) +
                                          ", but it is of " + excerpt(snapshot.at("fold"), 40) + "."};
    }
    GraphRef graph = graph_of(snapshot, graphs);
    if (graph == nullptr && !snapshot.at("graph").is_null()) {
      return Error{Code::unsupported, "Expected the graph of a snapshot to be known, but there is no version " +
                                          excerpt(snapshot.at("graph"), 80) + "."};
    }
    return restored(snapshot, std::move(graph));
  } catch (const Json::exception& error) {
    return Error{Code::corrupt, std::string("Expected a snapshot of a run, but ") + error.what() + "."};
  } catch (const NoSnapshot& none) {
    return Error{Code::corrupt, "Expected a snapshot of a run, but " + none.says + "."};
  }
}

Result<RunState> carried_state(const Json& snapshot, const Graphs& graphs) {
  Result<RunState> state = restore_snapshot(snapshot, graphs);
  if (!state) return state;
  if (const Status whole = check_references(*state); !whole) return whole.error();
  return state;
}

std::string state_fingerprint(const RunState& state) { return canonical(snapshot_json(state)); }

}  // namespace cairn
