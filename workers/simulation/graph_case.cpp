#include "workers/simulation/graph_case.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <optional>

#include "engine/nearest.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/tools.hpp"
#include "workers/session/worker_options.hpp"
#include "workers/simulation/simulation.hpp"

namespace cairn::simulation {
namespace {

constexpr std::int64_t cancel_ms_max = 1'000'000'000'000;

using Keys = std::vector<std::string>;

Error invalid(const std::string& wanted, const Json& found) {
  return {Code::invalid, "Expected " + wanted + ", but got " + excerpt(found, 100) + "."};
}

Status only_keys(const Json& object, const std::string& what, const Keys& keys) {
  if (!object.is_object()) return invalid(what + " to be an object", object);
  for (const auto& [key, value] : object.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return Error{Code::invalid, "Expected " + what + " to have known keys, but it has \"" + key + "\"" +
                                      did_you_mean(key, keys) + "."};
  return Done{};
}

Status check_expect(const Json& expect, const std::string& what) {
  if (Status known = only_keys(expect, what, {"status", "reason", "output", "path"}); !known) return known;
  const Json status = expect.value("status", Json("done"));
  if (status != "done" && status != "failed" && status != "aborted" && status != "waiting")
    return invalid("the status of " + what + " to be done, failed, aborted or waiting", status);
  const Json path = expect.value("path", Json::array());
  const auto is_text = [](const Json& node) { return node.is_string(); };
  if (!path.is_array() || !std::all_of(path.begin(), path.end(), is_text))
    return invalid("the path of " + what + " to be a list of nodes", path);
  if (!expect.value("reason", Json("")).is_string())
    return invalid("the reason of " + what + " to be a text", expect["reason"]);
  return Done{};
}

Result<GraphCase> read_case(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string())
    return invalid("each case to have a \"name\"", json);
  GraphCase one;
  one.name = json["name"];
  const std::string what = "case \"" + one.name + "\"";
  if (Status known = only_keys(
          json, what, {"name", "input", "nodes", "tools", "models", "answers", "signals", "cancel_ms", "expect"});
      !known)
    return known.error();
  one.input = json.value("input", Json::object());
  if (!one.input.is_object()) return invalid("the input of " + what + " to be an object", one.input);
  for (const char* kind : {"nodes", "tools", "models", "answers", "signals"})
    if (json.contains(kind)) one.says[kind] = json[kind];
  if (json.contains("models"))
    for (const auto& [node, replies] : json["models"].items())
      if (Status usable = cairn::check_script({{"replies", replies}}); !usable)
        return Error{usable.error().code,
                     "In the models of " + what + ", node \"" + node + "\": " + usable.error().message};
  const Json cancel = json.value("cancel_ms", Json(cancel_ms_max));
  if (!cancel.is_number_integer() || cancel < 1 || cancel > cancel_ms_max)
    return invalid("\"cancel_ms\" of " + what + " to be a number of milliseconds", cancel);
  if (json.contains("cancel_ms")) one.cancel_ms = cancel;
  one.expect = json.value("expect", Json::object());
  if (Status fits = check_expect(one.expect, "\"expect\" of " + what); !fits) return fits.error();
  return one;
}

// --- what a case says ------------------------------------------------------------------------------------------------

// The entries that a case has for a kind and name, handed out in order. Asked twice under one key it gives the same.
class Sayings {
 public:
  explicit Sayings(const Json& says) : says_(says) {}

  bool has(const char* kind, const std::string& name) const {
    return says_.contains(kind) && says_[kind].contains(name);
  }

  // Null after the last one, unless that one is repeated. REQUIRES: has(kind, name).
  const Json* next(const char* kind, const std::string& name, const std::string& key, bool is_repeated) {
    const Json& entries = says_[kind][name];
    const auto [place, is_new] = taken_.try_emplace(std::string(kind) + " " + name + " " + key, 0);
    if (is_new) place->second = count_[std::string(kind) + " " + name]++;
    if (place->second < entries.size()) return &entries[place->second];
    return is_repeated ? &entries.back() : nullptr;
  }

 private:
  const Json& says_;
  std::map<std::string, std::size_t> taken_;
  std::map<std::string, std::size_t> count_;
};

ToolAnswer answer_of(const Json& entry) {
  if (entry.contains("error"))
    return Failure{entry["error"], entry.value("message", ""), entry.value("retryable", true), {}};
  return entry.value("outputs", Json::object());
}

// The tools of a case; how long the calls of one attempt took adds up in `took_us`.
class CaseTools final : public Tools {
 public:
  CaseTools(Sayings& sayings, const ToolTable& table, std::string& lacks)
      : sayings_(sayings), table_(table), lacks_(lacks) {}

  boost::asio::awaitable<ToolAnswer> call(ToolCall call) override { co_return answer(call); }
  boost::asio::awaitable<ToolAnswer> call_http(ToolCall call) override { co_return answer(call); }
  const ToolTable& table() const override { return table_; }

  ToolAnswer answer(const ToolCall& call) {
    if (sayings_.has("tools", call.tool)) {
      const std::string key =
          to_string(call.run) + "/" + std::to_string(call.step) + "/" + std::to_string(call.attempt);
      const Json& entry = *sayings_.next("tools", call.tool, key, true);
      took_us += entry.value("takes_ms", std::int64_t{0}) * 1'000;
      return answer_of(entry);
    }
    for (const ToolSpec& spec : builtin_tools()) {
      if (spec.name != call.tool) continue;
      if (const auto* instant = std::get_if<ToolSpec::Instant>(&spec.does)) return instant->tool(call);
      const Json slept = call.inputs.value("ms", Json(0));
      if (slept.is_number_integer()) took_us += slept.get<std::int64_t>() * 1'000;
      return Json{{"slept_ms", slept}};
    }
    if (lacks_.empty()) lacks_ = "what tool " + call.tool + " says";
    return Failure{"no_case", "The case does not say what tool " + call.tool + " says.", false, {}};
  }

  TimeUs took_us = 0;

 private:
  Sayings& sayings_;
  const ToolTable& table_;
  std::string& lacks_;
};

// The replies of a case's models by node; another model where it has none for the node.
class CaseModel final : public Model {
 public:
  CaseModel(Sayings& sayings, Model& otherwise) : sayings_(sayings), otherwise_(otherwise) {}

  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override {
    if (!sayings_.has("models", request.node)) co_return co_await otherwise_.ask(std::move(request));
    const Json& entry = *sayings_.next("models", request.node, request.key + request.messages.dump(), true);
    const auto scripted = make_scripted_model({{"replies", Json::array({entry})}});
    co_return co_await scripted->ask(std::move(request));
  }

 private:
  Sayings& sayings_;
  Model& otherwise_;
};

// --- what happens around the sessions --------------------------------------------------------------------------------

class CaseConduct {
 public:
  CaseConduct(const Json& says, const CaseWorld& world)
      : sayings_(says), tools_(sayings_, world.tools, lacks_), model_(sayings_, world.model), world_(world) {}

  void use(const std::vector<GraphRef>& graphs) {
    for (const GraphRef& graph : graphs)
      for (const Node& node : graph->nodes)
        if (node.work() != nullptr) handlers_[{graph->name, node.name}] = node.handler();
  }

  // An attempt is looked at once, however often it is executed.
  Act act(const StepInput& input) {
    const std::string key = input.key + "/" + std::to_string(input.attempt);
    const auto known = acts_.find(key);
    return known != acts_.end() ? known->second : acts_.emplace(key, first_act(input, key)).first->second;
  }

  std::optional<Json> answer(const RunId& run, const std::string& question, const Node& node) {
    return said("answers", node.name, to_string(run) + question);
  }
  std::optional<Json> signal(const RunId& run, StepId step, const std::string& name) {
    return said("signals", name, to_string(run) + std::to_string(step));
  }

  const std::string& lacks() const { return lacks_; }

 private:
  Act first_act(const StepInput& input, const std::string& key) {
    if (!input.tool.empty()) return tool_act(input);
    if (sayings_.has("nodes", input.node)) return scripted_act(*sayings_.next("nodes", input.node, key, true), false);
    const Handler* handler = world_.handlers.find(handlers_.at({input.graph, input.node}));
    if (handler == nullptr) {
      if (lacks_.empty()) lacks_ = "what node " + input.node + " does";
      return {Failure{"no_case", "The case does not say what node " + input.node + " does.", false, {}}};
    }
    if (const auto* pure = std::get_if<PureHandler>(&handler->run)) return {(*pure)(input)};
    return effect_act(std::get<EffectHandler>(handler->run), input);
  }

  Act tool_act(const StepInput& input) {
    ToolCall call;
    call.run = input.run;
    call.step = input.step;
    call.attempt = input.attempt;
    call.tool = input.tool;
    call.inputs = input.inputs;
    tools_.took_us = 0;
    ToolAnswer answer = tools_.answer(call);
    Act act;
    act.takes_us = tools_.took_us;
    if (answer)
      act.result = Outcome{"", *std::move(answer), {}};
    else
      act.result = std::move(answer).error();
    return act;
  }

  // Tools and models answer at once, so the handler comes to its end here.
  Act effect_act(const EffectHandler& handler, const StepInput& input) {
    Ports ports(model_, tools_);
    tools_.took_us = 0;
    std::optional<StepResult> result;
    boost::asio::io_context io;
    boost::asio::co_spawn(io, handler(input, ports), [&](const std::exception_ptr& thrown, StepResult given) {
      if (thrown) std::rethrow_exception(thrown);
      result = std::move(given);
    });
    io.run();
    CHECK(result.has_value());
    return {*std::move(result), tools_.took_us};
  }

  std::optional<Json> said(const char* kind, const std::string& name, const std::string& key) {
    if (!sayings_.has(kind, name)) return std::nullopt;
    const Json* value = sayings_.next(kind, name, key, false);
    return value == nullptr ? std::nullopt : std::optional<Json>(*value);
  }

  std::string lacks_;  // the first thing that the case does not say
  Sayings sayings_;
  CaseTools tools_;
  CaseModel model_;
  const CaseWorld& world_;
  std::map<std::pair<std::string, std::string>, std::string> handlers_;
  std::map<std::string, Act> acts_;
};

// --- what came of it -------------------------------------------------------------------------------------------------

struct Leaving {
  std::string node;
  std::string label;
  std::vector<std::string> next;
};

// Nothing if the event does not leave a node: a try that is not the last one, or an item of a map, whose label leads
// nowhere.
std::optional<Leaving> leaving_of(const Event& event) {
  std::optional<Leaving> left;
  const auto* failed = std::get_if<StepFailed>(&event.body);
  if (const auto* done = std::get_if<StepSucceeded>(&event.body)) left = Leaving{done->node, done->label, done->next};
  if (failed != nullptr && !failed->retry_at) left = Leaving{failed->node, failed->label, failed->next};
  return left && !left->label.empty() && left->next.empty() ? std::nullopt : left;
}

void follow(const Course::History& history, CaseResult& result) {
  std::string end;
  for (const Event& event : history.events) {
    if (std::holds_alternative<RunEnding>(event.body)) end.clear();
    if (const auto* finished = std::get_if<RunFinished>(&event.body)) {
      result.status = to_string(finished->status);
      result.reason = finished->reason;
      result.output = parse_stored(finished->output);
    }
    const std::optional<Leaving> left = leaving_of(event);
    if (!left) continue;
    result.path.push_back(left->node);
    for (const std::string& next : left->next)
      if (history.graph->node(history.graph->find(next)).verb() == Verb::end) end = next;
  }
  if (!end.empty()) result.path.push_back(end);
}

void note_edges(const Course::History& history, std::set<TakenEdge>& edges) {
  for (const Event& event : history.events)
    if (const auto left = leaving_of(event); left && !left->label.empty()) edges.emplace(left->node, left->label);
}

std::string comparison(const Json& expect, const CaseResult& result) {
  const auto differs = [](const std::string& what, const Json& wanted, const Json& found) {
    return "Expected the " + what + " " + excerpt(wanted, 400) + ", but it is " + excerpt(found, 400) + ".";
  };
  const std::string reason = result.reason.empty() ? "" : " The reason: " + result.reason;
  if (expect.contains("status") && expect["status"] != result.status)
    return differs("status", expect["status"], result.status) + reason;
  if (expect.contains("path") && expect["path"] != Json(result.path))
    return differs("path", expect["path"], result.path) + reason;
  if (expect.contains("reason") && expect["reason"] != result.reason)
    return differs("reason", expect["reason"], result.reason);
  if (expect.contains("output") && expect["output"] != result.output)
    return differs("output", expect["output"], result.output) + reason;
  return "";
}

Scenario scenario_of(const GraphCase& graph_case, const CaseWorld& world) {
  Scenario scenario;
  scenario.seed = 1;
  scenario.graphs = world.graphs;
  scenario.runs.push_back({.graph = world.graphs.front().at("name"), .input = graph_case.input});
  scenario.sessions.push_back({.default_timeout_ms = WorkerOptions().default_timeout_ms, .slowness = 100});
  scenario.may_rest = true;
  if (graph_case.cancel_ms > 0)
    scenario.commands.push_back({.kind = OutsideCommand::Kind::cancel,
                                 .at_us = graph_case.cancel_ms * 1'000,
                                 .name = "Cancelled after " + std::to_string(graph_case.cancel_ms) + " ms."});
  return scenario;
}

}  // namespace

Result<std::vector<GraphCase>> read_cases(const Json& cases) {
  if (!cases.is_array() || cases.empty()) return invalid("\"cases\" to be a list of at least one case", cases);
  std::vector<GraphCase> read;
  for (const Json& json : cases) {
    Result<GraphCase> one = read_case(json);
    if (!one) return one.error();
    read.push_back(*std::move(one));
  }
  return read;
}

std::set<TakenEdge> edges_of(const Graph& graph) {
  std::set<TakenEdge> edges;
  for (const Node& node : graph.nodes)
    for (const auto& [label, next] : node.on) edges.emplace(node.name, label);
  return edges;
}

CaseResult run_case(const GraphCase& graph_case, const CaseWorld& world) {
  const Scenario scenario = scenario_of(graph_case, world);
  CaseConduct conduct(graph_case.says, world);
  Cast cast{world.handlers, world.tools, {}};
  cast.conduct = [&conduct](const std::vector<GraphRef>& graphs) {
    conduct.use(graphs);
    return Conduct{
        [&](const StepInput& input, std::int32_t, std::int64_t) { return conduct.act(input); },
        [&](const RunId& run, const std::string& question, const Node& node) {
          return conduct.answer(run, question, node);
        },
        [&](const RunId& run, StepId step, const std::string& name) { return conduct.signal(run, step, name); }};
  };
  const Course course = simulate(scenario, cast);
  CaseResult result;
  result.status = "waiting";
  if (!course.histories.empty()) follow(course.histories.front(), result);
  for (const Course::History& history : course.histories)
    if (history.graph->name == scenario.runs.front().graph) note_edges(history, result.edges);
  if (!course.finding.empty())
    result.finding = course.finding;
  else if (!conduct.lacks().empty())
    result.finding = "Expected the case to say " + conduct.lacks() + ", but it does not.";
  else
    result.finding = comparison(graph_case.expect, result);
  return result;
}

}  // namespace cairn::simulation
