#include "workers/simulation/script.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/nearest.hpp"
#include "workers/handlers/builtin_handlers.hpp"

namespace cairn::simulation {
namespace {

Failure failure(std::string error, std::string message) { return {std::move(error), std::move(message), true, {}}; }

// --- by fate --------------------------------------------------------------------------------------------------------

class Fateful {
 public:
  Fateful(std::uint64_t salt, bool is_bulky, std::int64_t tokens) : salt_(salt), is_bulky_(is_bulky), tokens_(tokens) {}

  Act operator()(const StepInput& input, std::int32_t errors, std::int64_t timeout_ms) const {
    std::string sees = input.tool.empty() ? input.node + input.data.value("trace", Json::array()).dump()
                                          : input.sub_goal + canonical(input.inputs);
    if (input.data.contains("index")) sees += input.data["index"].dump();
    if (input.tool.empty() && input.with.is_object() && !input.with.empty()) sees += canonical(input.with);
    const std::uint64_t roll = fate(sees + "fail" + std::to_string(errors), salt_);
    Act act;
    act.takes_us = static_cast<TimeUs>(100 + roll / 7 % (roll / 5 % 4 == 0 ? 60'000 : 3'000));
    act.hangs = timeout_ms > 0 && roll / 11 % 6 == 0;
    if (errors >= 0 && roll % 5 == 0) {
      act.result = failure("error", "fate");
    } else {
      Outcome made = input.tool.empty() ? outcome(input, sees) : Outcome{"", {{"v", fate(sees, salt_) % 50}}, {}};
      if (tokens_ > 0 && errors >= 0) made.facts.emplace_back(model_call());
      act.result = std::move(made);
    }
    return act;
  }

 private:
  Outcome outcome(const StepInput& input, const std::string& sees) const {
    const std::uint64_t number = fate(sees, salt_) % 100;
    Outcome made;
    made.label = input.node.starts_with("loop") && fate(sees + "label", salt_) % 3 == 0 ? "again" : "ok";
    made.patch = {{"trace", {input.node}},
                  {"sum", number},
                  {"top", number},
                  {"map", {{input.node, number}}},
                  {"last_" + std::to_string(number % 3), number}};
    if (is_bulky_ && fate(sees + "bulk", salt_) % 4 == 0) made.patch["bulk"] = std::string(40'000, 'x');
    if (input.node.starts_with("plan")) made.facts = goals(sees, input.node);
    return made;
  }

  std::vector<Fact> goals(const std::string& sees, const std::string& name) const {
    std::vector<Fact> facts;
    const std::uint64_t count = fate(sees + "goals", salt_) % 6;
    for (std::uint64_t n = 0; n < count; ++n) {
      const std::uint64_t roll = fate(sees + std::to_string(n), salt_);
      SubGoalOpened goal;
      goal.sub_goal = name + "/" + std::to_string(fate(sees, salt_) % 100'000) + "." + std::to_string(n);
      const std::string before = goal.sub_goal.substr(0, goal.sub_goal.find('.') + 1) + std::to_string(roll % (n + 2));
      goal.tool = roll % 7 == 0 ? "unknown" : roll % 7 == 1 ? "slow" : "echo";
      if (roll % 3 == 0) goal.after = {before};
      if (roll % 3 == 1) goal.inputs = {{"in", {{"from_sub_goal", before}, {"slot", roll % 5 == 0 ? "w" : "v"}}}};
      facts.emplace_back(std::move(goal));
    }
    return facts;
  }

  Record model_call() const {
    return {RecordKind::model_called,
            canonical({{"model", "m"}, {"tokens_in", tokens_}, {"tokens_out", 0}, {"ok", true}})};
  }

  std::uint64_t salt_;
  bool is_bulky_;
  std::int64_t tokens_;
};

// --- as drawn, or as the user says ----------------------------------------------------------------------------------

// One of the entries, by their weights.
const Json& drawn_from(const Json& entries, Chance& chance) {
  const auto weight = [](const Json& entry) {
    return entry.is_object() ? static_cast<std::uint64_t>(entry.value("weight", 1)) : 1;
  };
  std::uint64_t sum = 0;
  for (const Json& entry : entries) sum += weight(entry);
  std::uint64_t at = chance.below(sum);
  for (const Json& entry : entries) {
    if (at < weight(entry)) return entry;
    at -= weight(entry);
  }
  return entries.back();
}

const Json* entries_for(const Json& says, const char* kind, const std::string& name) {
  if (!says.is_object() || !says.contains(kind) || !says[kind].contains(name)) return nullptr;
  return &says[kind][name];
}

std::vector<std::string> labels_of(const Node& node, const HandlerTable& handlers) {
  const DoNode& work = *node.work();
  const Handler* handler = handlers.find(work.handler);
  std::vector<std::string> labels = handler == nullptr || handler->labels_from_node ? work.labels : handler->labels;
  if (labels.empty())
    for (const auto& [label, next] : node.on)
      if (label != "error" && label != "exhausted") labels.push_back(label);
  return labels;
}

class Drawn {
 public:
  Drawn(std::uint64_t salt, Json says, std::vector<GraphRef> graphs, const HandlerTable& handlers)
      : salt_(salt), says_(std::move(says)), graphs_(std::move(graphs)) {
    for (const GraphRef& graph : graphs_) {
      for (const Node& node : graph->nodes) {
        if (node.work() == nullptr) continue;
        labels_[{graph->name, node.name}] = labels_of(node, handlers);
        const Handler* logic = is_builtin_logic(node.handler()) ? handlers.find(node.handler()) : nullptr;
        if (logic != nullptr && logic->is_pure()) logic_[{graph->name, node.name}] = std::get<PureHandler>(logic->run);
      }
    }
  }

  Act operator()(const StepInput& input, std::int32_t errors, std::int64_t timeout_ms) const {
    Chance chance(fate(input.key + " " + std::to_string(errors), salt_));
    Act act;
    act.takes_us = chance.between(100, chance.one_in(8) ? 500'000 : 5'000);
    const bool is_tool = !input.tool.empty();
    const Json* entries = is_tool ? entries_for(says_, "tools", input.tool) : entries_for(says_, "nodes", input.node);
    if (entries != nullptr) {
      return scripted_act(drawn_from(*entries, chance), is_tool, act.takes_us);
    }
    if (const auto logic = logic_.find({input.graph, input.node}); !is_tool && logic != logic_.end()) {
      act.result = logic->second(input);
      return act;
    }
    act.hangs = timeout_ms > 0 && chance.one_in(20);
    if (chance.one_in(6)) {
      act.result = failure("error", "The simulation let it fail.");
    } else if (is_tool) {
      act.result = Outcome{"", Json{{"simulated", input.tool}}, {}};
    } else {
      const std::vector<std::string>& labels = labels_.at({input.graph, input.node});
      act.result = Outcome{labels.empty() ? "ok" : labels[chance.below(labels.size())], Json::object(), {}};
    }
    return act;
  }

 private:
  std::uint64_t salt_;
  Json says_;
  std::vector<GraphRef> graphs_;
  using Place = std::pair<std::string, std::string>;  // graph and node
  std::map<Place, std::vector<std::string>> labels_;
  std::map<Place, PureHandler> logic_;
};

// --- checking what the user says ------------------------------------------------------------------------------------

Error invalid(std::string says) { return {Code::invalid, std::move(says)}; }

bool fits(const Json& entry, const char* field, bool (Json::*is)() const noexcept) {
  return !entry.contains(field) || (entry[field].*is)();
}

bool is_goal(const Json& goal) {
  return goal.is_object() && goal.contains("id") && goal["id"].is_string() && fits(goal, "tool", &Json::is_string) &&
         fits(goal, "inputs", &Json::is_object) && fits(goal, "after", &Json::is_array);
}

using Words = std::vector<std::string>;

Status known_keys(const Json& object, const std::string& what, const Words& known) {
  for (const auto& [key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return invalid("Expected " + what + " to have known keys, but it has \"" + key + "\"" + did_you_mean(key, known) +
                     ".");
  return Done{};
}

Words keys_of_entry(const std::string& outcome) {
  Words keys{outcome, "error", "message", "retryable", "takes_ms", "weight"};
  if (outcome == "patch") keys.insert(keys.end(), {"label", "sub_goals"});
  return keys;
}

bool is_entry(const Json& entry, const char* outcome) {
  if (!entry.is_object() || !fits(entry, outcome, &Json::is_object)) return false;
  if (!fits(entry, "label", &Json::is_string) || !fits(entry, "error", &Json::is_string)) return false;
  if (!fits(entry, "message", &Json::is_string) || !fits(entry, "retryable", &Json::is_boolean)) return false;
  for (const char* number : {"weight", "takes_ms"})
    if (entry.contains(number) && (!entry[number].is_number_integer() || entry[number] < 1)) return false;
  if (!fits(entry, "sub_goals", &Json::is_array)) return false;
  const Json goals = entry.value("sub_goals", Json::array());
  return std::all_of(goals.begin(), goals.end(), is_goal);
}

Status check_lists(const Json& says, const char* kind, const char* outcome) {
  if (!says.contains(kind)) return Done{};
  if (!says[kind].is_object())
    return invalid(std::string("Expected \"") + kind + "\" of the handlers to be an object, but got " +
                   excerpt(says[kind], 60) + ".");
  for (const auto& [name, entries] : says[kind].items()) {
    const bool is_list = entries.is_array() && !entries.empty();
    if (is_list && (outcome == nullptr || std::all_of(entries.begin(), entries.end(),
                                                      [&](const Json& entry) { return is_entry(entry, outcome); }))) {
      if (outcome == nullptr) continue;
      for (const Json& entry : entries)
        if (Status known = known_keys(entry, "each outcome of \"" + name + "\"", keys_of_entry(outcome)); !known)
          return known;
      continue;
    }
    return invalid("Expected a list of outcomes for \"" + name + "\" of the handlers, but got " + excerpt(entries, 80) +
                   ".");
  }
  return Done{};
}

std::string quoted_with_hint(const std::string& name, const Words& known) {
  return "\"" + name + "\"" + did_you_mean(name, known) + ".";
}

// Refuses an outcome that the node's handler cannot have.
Status check_labels(const std::string& name, const Json& entries, const std::vector<std::string>& labels) {
  for (const Json& entry : entries)
    if (!entry.contains("error") && std::find(labels.begin(), labels.end(), entry.value("label", "")) == labels.end())
      return invalid("Expected node \"" + name + "\" of the handlers to leave by a label that it has, but got " +
                     quoted_with_hint(entry.value("label", ""), labels));
  return Done{};
}

// Nodes, questions and signals are those of the graphs; a tool may have any name.
Status check_names(const Json& says, const std::vector<GraphRef>& graphs, const HandlerTable& handlers) {
  std::map<std::string, std::vector<std::string>> labels;
  Words nodes, questions, signals;
  for (const GraphRef& graph : graphs) {
    for (const Node& node : graph->nodes) {
      if (node.work() != nullptr) labels.insert_or_assign(node.name, labels_of(node, handlers));
      if (node.work() != nullptr) nodes.push_back(node.name);
      if (node.as<AskNode>() != nullptr) questions.push_back(node.name);
      if (const auto* wait = node.as<WaitNode>(); wait != nullptr && wait->signal) signals.push_back(*wait->signal);
    }
  }
  const Json outcomes = says.value("nodes", Json::object());
  for (const auto& [name, entries] : outcomes.items()) {
    const auto known = labels.find(name);
    if (known == labels.end())
      return invalid("Expected the handlers to name a node with \"do\", but got " + quoted_with_hint(name, nodes));
    if (Status fits = check_labels(name, entries, known->second); !fits) return fits;
  }
  for (const auto& [kind, wanted, known] : {std::tuple{"answers", "a node with \"ask\"", &questions},
                                            std::tuple{"signals", "a signal that a node waits for", &signals}}) {
    const Json said = says.value(kind, Json::object());
    for (const auto& [name, values] : said.items())
      if (std::find(known->begin(), known->end(), name) == known->end())
        return invalid(std::string("Expected the ") + kind + " to name " + wanted + ", but found " +
                       quoted_with_hint(name, *known));
  }
  return Done{};
}

// The simplest value that a schema of the usual kind takes.
Json value_for(const Json& schema) {
  if (!schema.is_object()) return "simulated";
  if (schema.contains("const")) return schema["const"];
  if (schema.contains("enum") && !schema["enum"].empty()) return schema["enum"][0];
  Json type = schema.value("type", Json("string"));
  if (type.is_array()) type = type.empty() ? Json("null") : type[0];
  if (type == "object") {
    Json made = Json::object();
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, part] : properties.items()) made[name] = value_for(part);
    return made;
  }
  if (type == "array") return Json::array();
  if (type == "integer" || type == "number") return schema.value("minimum", Json(1));
  if (type == "boolean") return true;
  return type == "null" ? Json() : Json("simulated");
}

// A value for the question that the node asks, or the signal of that name.
Json drawn_answer(const Json& says, const Node& node, Chance& chance) {
  if (const Json* values = entries_for(says, "answers", node.name)) return (*values)[chance.below(values->size())];
  return value_for(std::get<AskNode>(node.settings).schema);
}

Json drawn_signal(const Json& says, const std::string& name, Chance& chance) {
  if (const Json* values = entries_for(says, "signals", name)) return (*values)[chance.below(values->size())];
  return "simulated";
}

}  // namespace

Act scripted_act(const Json& entry, bool is_tool, TimeUs takes_us) {
  Act act;
  act.takes_us = entry.contains("takes_ms") ? entry["takes_ms"].get<TimeUs>() * 1000 : takes_us;
  if (entry.contains("error")) {
    act.result = Failure{entry["error"], entry.value("message", ""), entry.value("retryable", true), {}};
    return act;
  }
  Outcome outcome;
  outcome.label = entry.value("label", "");
  outcome.patch = entry.value(is_tool ? "outputs" : "patch", Json::object());
  for (const Json& goal : entry.value("sub_goals", Json::array())) {
    SubGoalOpened opened;
    opened.sub_goal = goal.at("id");
    opened.tool = goal.value("tool", "");
    opened.inputs = goal.value("inputs", Json::object());
    opened.after = goal.value("after", std::vector<std::string>());
    outcome.facts.emplace_back(std::move(opened));
  }
  act.result = std::move(outcome);
  return act;
}

Conduct fateful_conduct(std::uint64_t salt, bool is_bulky, std::int64_t tokens) {
  return {Fateful(salt, is_bulky, tokens),
          [](const RunId&, const std::string&, const Node& node) { return Json("answer to " + node.name); },
          [](const RunId&, StepId, const std::string& signal) { return Json("heard by " + signal); }};
}

Conduct drawn_conduct(std::uint64_t salt, Json says, std::vector<GraphRef> graphs, const HandlerTable& handlers,
                      Chance& chance) {
  const auto said = std::make_shared<const Json>(says);
  return {
      Drawn(salt, std::move(says), std::move(graphs), handlers),
      [said, &chance](const RunId&, const std::string&, const Node& node) { return drawn_answer(*said, node, chance); },
      [said, &chance](const RunId&, StepId, const std::string& signal) { return drawn_signal(*said, signal, chance); }};
}

Status check_script(const Json& says, const std::vector<GraphRef>& graphs, const HandlerTable& handlers) {
  if (!says.is_object()) return invalid("Expected the handlers as an object, but got " + excerpt(says, 60) + ".");
  if (Status known = known_keys(says, "the handlers", {"nodes", "tools", "answers", "signals"}); !known) return known;
  for (const auto& [kind, outcome] : {std::pair{"nodes", "patch"}, {"tools", "outputs"}})
    if (Status fit = check_lists(says, kind, outcome); !fit) return fit;
  for (const char* kind : {"answers", "signals"})
    if (Status fit = check_lists(says, kind, nullptr); !fit) return fit;
  return check_names(says, graphs, handlers);
}

}  // namespace cairn::simulation
