#include "tests/workers/small_graphs.hpp"

#include <boost/asio.hpp>
#include <map>
#include <stdexcept>

#include "engine/run_json.hpp"

namespace cairn::test {
namespace {

namespace asio = boost::asio;

using Effect = asio::awaitable<StepResult>;

StepResult leave(std::string label, Json patch = Json::object()) {
  return Outcome{std::move(label), std::move(patch), {}};
}

Effect ok(StepInput input, Ports&) {
  co_return leave("ok", input.with.contains("set") ? input.with["set"] : Json::object());
}

StepResult counted(const StepInput&) { return leave("ok", {{"count", 1}}); }

StepResult planned(const StepInput& input) {
  Outcome outcome{"ok", Json::object(), {}};
  for (const Json& goal : input.with["goals"]) {
    SubGoalOpened opened;
    opened.sub_goal = goal["id"];
    opened.tool = goal["tool"];
    opened.inputs = goal.value("inputs", Json::object());
    opened.after = goal.value("after", std::vector<std::string>());
    outcome.facts.push_back(opened);
  }
  return outcome;
}

StepResult collected(const StepInput& input) {
  Json results = Json::object();
  for (const GoalView& goal : input.plan) results[goal.id] = goal.outputs;
  return leave("ok", {{"results", results}});
}

Effect fails_at_first(StepInput input, Ports&) {
  if (input.attempt < input.with["until"].get<std::int32_t>()) co_return Failure{"error", "not yet", true, {}};
  co_return leave("ok", {{"fault", input.fault}});
}

Effect throws(StepInput, Ports&) {
  throw std::runtime_error("thrown on purpose");
  co_return leave("ok");
}

Effect hangs(StepInput, Ports&) {
  asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
  co_await timer.async_wait(asio::use_awaitable);
  co_return leave("ok");
}

StepResult bulky(const StepInput& input) {
  const auto bytes = input.with["bytes"].get<std::size_t>();
  return leave("ok", {{"bulk", std::string(bytes, 'x')}, {"parts", {std::string(bytes, 'y'), "small"}}});
}

StepResult measured(const StepInput& input) {
  return leave("ok", {{"bytes", input.data["bulk"].get_ref<const std::string&>().size()},
                      {"part", input.data["parts"][0].get_ref<const std::string&>().size()}});
}

Handler handler(std::string name, std::variant<PureHandler, EffectHandler> run, bool reads_plan = false) {
  return {.name = std::move(name),
          .labels = {"ok"},
          .labels_from_node = false,
          .reads = {"*"},
          .reads_plan = reads_plan,
          .version = 1,
          .run = std::move(run)};
}

const std::map<std::string, std::string>& graph_texts() {
  static const std::map<std::string, std::string> texts = {
      {"linear", R"({"name": "linear", "start": "a", "limits": {"steps": 50}, "nodes": {
          "a": {"do": "t.ok", "with": {"set": {"seen": {"$": "text", "default": null}}}, "on": {"ok": "b"}},
          "b": {"do": "t.ok", "on": {"ok": "c"}}, "c": {"do": "t.ok", "on": {"ok": "z"}}, "z": {"end": "done"}}})"},
      {"mixed", R"({"name": "mixed", "start": "a", "limits": {"steps": 50}, "channels": {"count": {"reducer": "sum"}},
          "nodes": {"a": {"do": "t.pure", "on": {"ok": "b"}}, "b": {"do": "t.pure", "on": {"ok": "c"}},
          "c": {"do": "t.ok", "on": {"ok": "d"}}, "d": {"do": "t.pure", "on": {"ok": ["e", "f"]}},
          "e": {"do": "t.pure", "on": {"ok": "g"}}, "f": {"do": "t.pure", "on": {"ok": "g"}},
          "g": {"do": "t.pure", "join": true, "on": {"ok": "z"}}, "z": {"end": "done"}}})"},
      {"fan", R"({"name": "fan", "start": "a", "limits": {"steps": 50}, "channels": {"count": {"reducer": "sum"}},
          "nodes": {"a": {"do": "t.ok", "on": {"ok": ["b", "c", "d"]}},
          "b": {"do": "t.pure", "on": {"ok": "j"}}, "c": {"do": "t.ok", "on": {"ok": "c2"}},
          "c2": {"do": "t.pure", "on": {"ok": "j"}}, "d": {"do": "t.pure", "on": {"ok": "j"}},
          "j": {"do": "t.ok", "join": true, "on": {"ok": "z"}}, "z": {"end": "done"}}})"},
      {"map", R"({"name": "map", "start": "plan", "limits": {"steps": 500}, "nodes": {
          "plan": {"do": "t.plan", "with": {"goals": {"$": "goals", "default": null}}, "on": {"ok": "work"}},
          "work": {"map": "sub_goals", "on": {"joined": "collect"}},
          "collect": {"do": "t.collect", "on": {"ok": "z"}}, "z": {"end": "done"}}})"},
      {"ask", R"({"name": "ask", "start": "q", "limits": {"steps": 50}, "nodes": {
          "q": {"ask": {"kind": "question", "prompt": "Which?", "schema": {"type": "string"}}, "into": "answer",
                "on": {"answered": "a", "expired": "z"}},
          "a": {"do": "t.ok", "on": {"ok": "z"}}, "z": {"end": "done"}}})"},
      {"wait", R"({"name": "wait", "start": "w", "limits": {"steps": 50}, "nodes": {
          "w": {"wait": {"ms": 30}, "on": {"fired": "a"}}, "a": {"do": "t.ok", "on": {"ok": "z"}}, "z": {"end": "done"}}})"},
      {"child", R"({"name": "child", "start": "a", "limits": {"steps": 50}, "nodes": {
          "a": {"do": "t.ok", "on": {"ok": "z"}}, "z": {"end": {"status": "done", "output": {
              "said": {"$": "word", "default": null}}}}}})"},
      {"call", R"({"name": "call", "start": "c", "limits": {"steps": 50}, "nodes": {
          "c": {"call": "child", "with": {"word": {"$": "word", "default": null}}, "into": "heard",
                "on": {"done": "z", "failed": "z"}},
          "z": {"end": "done"}}})"},
      {"slow", R"({"name": "slow", "start": "s", "limits": {"steps": 50}, "nodes": {
          "s": {"do": "t.hang", "timeout_ms": 40, "retry": {"attempts": 2}, "on": {"ok": "z", "error": "z"}},
          "z": {"end": "done"}}})"},
      {"stuck", R"({"name": "stuck", "start": "s", "limits": {"steps": 50}, "nodes": {
          "s": {"do": "t.hang", "on": {"ok": "z"}}, "z": {"end": "done"}}})"},
      {"retry", R"({"name": "retry", "start": "r", "limits": {"steps": 50}, "nodes": {
          "r": {"do": "t.fail", "with": {"until": 3}, "retry": {"attempts": 3, "backoff_ms": 5}, "on": {"ok": "z"}},
          "z": {"end": "done"}}})"},
      {"thrown", R"({"name": "thrown", "start": "t", "limits": {"steps": 50}, "nodes": {
          "t": {"do": "t.throw", "on": {"ok": "z"}}, "z": {"end": "done"}}})"},
      {"bulk", R"({"name": "bulk", "start": "b", "limits": {"steps": 50}, "channels": {"parts": {"reducer": "append"}},
          "nodes": {"b": {"do": "t.bulk", "with": {"bytes": 100000}, "on": {"ok": "m"}},
          "m": {"do": "t.measure", "on": {"ok": "z"}},
          "z": {"end": {"status": "done", "output": {
              "bytes": {"$": "bytes", "default": null}, "part": {"$": "part", "default": null}}}}}})"},
      {"lacking", R"({"name": "lacking", "start": "l", "limits": {"steps": 50}, "nodes": {
          "l": {"do": "t.never", "labels": ["ok"], "on": {"ok": "z"}}, "z": {"end": "done"}}})"}};
  return texts;
}

}  // namespace

std::unique_ptr<Catalogue> small_catalogue() {
  auto catalogue = std::make_unique<Catalogue>();
  HandlerTable& table = catalogue->handlers;
  table.add(handler("t.ok", EffectHandler(ok)));
  table.add(handler("t.pure", PureHandler(counted)));
  table.add(handler("t.plan", PureHandler(planned)));
  table.add(handler("t.collect", PureHandler(collected), true));
  table.add(handler("t.fail", EffectHandler(fails_at_first)));
  table.add(handler("t.throw", EffectHandler(throws)));
  table.add(handler("t.hang", EffectHandler(hangs)));
  table.add(handler("t.bulk", PureHandler(bulky)));
  table.add(handler("t.measure", PureHandler(measured)));
  catalogue->model = make_scripted_model({{"replies", Json::array()}});
  catalogue->tools = make_tools(builtin_tools(), 2);
  return catalogue;
}

Json small_graph(const std::string& name) { return parse_stored(graph_texts().at(name)); }

std::unique_ptr<Client> client_with_graphs(Store& store, const Catalogue& catalogue) {
  auto client = std::make_unique<Client>(store, catalogue, "user:test");
  client->load_graphs();
  for (const auto& [name, text] : graph_texts()) {
    const Result<GraphRef> added = client->add_graph(parse_stored(text));
    if (!added) throw std::runtime_error(added.error().message);
  }
  return client;
}

std::string history_text(Client& client, const RunId& run) {
  std::string text;
  const Result<std::vector<Event>> events = client.events(run, 0, 1000);
  for (const Event& event : *events) {
    Json line = event_json(run, event);
    for (const char* varying : {"at", "run", "worker", "started_at", "child", "actor"}) line.erase(varying);
    text += line.dump() + "\n";
  }
  return text;
}

}  // namespace cairn::test
