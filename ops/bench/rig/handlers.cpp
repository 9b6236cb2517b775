#include "ops/bench/rig/handlers.hpp"

#include <atomic>
#include <boost/asio.hpp>
#include <chrono>

#include "storage/clock.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr std::size_t outcome_bytes = 300;  // of the patch: {"data":"..."}
constexpr std::int32_t steps_max = 1'000'000'000;
constexpr std::int64_t day_ms = 86'400'000;

std::atomic<std::int64_t> steps{0};
std::atomic<TimeUs> first_at_us{0};
std::atomic<std::int64_t> ended{0};
std::atomic<TimeUs> ended_at_us{0};

Outcome count(const StepInput& input) {
  if (input.step == 1) first_at_us = steady_us();
  ++steps;
  static const std::string text(outcome_bytes - std::string_view(R"({"data":""})").size(), 'x');
  Outcome outcome;
  outcome.label = "ok";
  outcome.patch = {{"data", text}};
  return outcome;
}

asio::awaitable<StepResult> step(StepInput input, Ports&) { co_return count(input); }

StepResult pure(const StepInput& input) { return count(input); }

StepResult loop(const StepInput& input) {
  Outcome outcome = count(input);
  outcome.label = "again";
  return outcome;
}

// 1 KB: as the channel's whole value, or as what is added to a list.
Outcome loop_with(const StepInput& input, const char* channel, bool is_list) {
  static const std::string text(1'000, 'x');
  Outcome outcome = count(input);
  outcome.label = "again";
  outcome.patch = {{channel, is_list ? Json::array({text}) : Json(text)}};
  return outcome;
}

StepResult replace(const StepInput& input) { return loop_with(input, "latest", false); }
StepResult append(const StepInput& input) { return loop_with(input, "all", true); }

asio::awaitable<StepResult> hold(StepInput input, Ports&) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  timer.expires_after(std::chrono::milliseconds(input.data.value("ms", std::int64_t{1'000})));
  ++steps;
  co_await timer.async_wait(asio::use_awaitable);
  co_return Outcome{"ok", Json::object(), {}};
}

StepResult plan(const StepInput& input) {
  Outcome outcome{"ok", Json::object(), {}};
  for (std::int64_t n = 1; n <= input.data.value("width", std::int64_t{0}); ++n) {
    SubGoalOpened goal;
    goal.sub_goal = "g" + std::to_string(n);
    goal.tool = "echo";
    goal.inputs = {{"n", n}};
    outcome.facts.emplace_back(std::move(goal));
  }
  return outcome;
}

Handler handler(const char* name, std::variant<PureHandler, EffectHandler> run, std::vector<std::string> reads = {}) {
  Handler made;
  made.name = name;
  made.labels = {"ok"};
  made.reads = std::move(reads);
  made.run = std::move(run);
  return made;
}

Handler loop_handler(const char* name, PureHandler run) {
  Handler made = handler(name, std::move(run));
  made.labels = {"again", "ok"};
  return made;
}

Json graph(const char* name, const char* start, Json nodes) {
  nodes["done"] = {{"end", "done"}};
  return {{"name", name}, {"start", start}, {"limits", {{"steps", steps_max}}}, {"nodes", std::move(nodes)}};
}

Json node(const char* handler, const std::string& next) { return {{"do", handler}, {"on", {{"ok", next}}}}; }

Json linear(const char* name, const Json& does, int length) {
  Json nodes = Json::object();
  for (int i = 1; i <= length; ++i) {
    Json& made = nodes["s" + std::to_string(i)] = does;
    made["on"] = {{"ok", i == length ? "done" : "s" + std::to_string(i + 1)}};
  }
  return graph(name, "s1", std::move(nodes));
}

Json loop_graph(const char* name, const char* handler) {
  Json made = graph(name, "s1", {{"s1", {{"do", handler}, {"on", {{"again", "s1"}, {"ok", "done"}}}}}});
  made["channels"] = {{"all", {{"reducer", "append"}}}};
  return made;
}

}  // namespace

Result<std::unique_ptr<Catalogue>> bench_catalogue(const std::string& model_url) {
  CatalogueOptions options;
  options.models.url = model_url;
  Result<std::unique_ptr<Catalogue>> catalogue = make_catalogue(options);
  if (!catalogue) return catalogue;
  HandlerTable& handlers = (*catalogue)->handlers;
  handlers.add(handler("bench.step", EffectHandler(step)));
  handlers.add(handler("bench.pure", PureHandler(pure)));
  handlers.add(loop_handler("bench.loop", loop));
  handlers.add(loop_handler("bench.replace", replace));
  handlers.add(loop_handler("bench.append", append));
  handlers.add(handler("bench.hold", EffectHandler(hold), {"ms"}));
  handlers.add(handler("bench.plan", PureHandler(plan), {"width"}));
  return catalogue;
}

std::vector<Json> bench_graphs() {
  const Json map = {{"plan", node("bench.plan", "run")}, {"run", {{"map", "sub_goals"}, {"on", {{"joined", "done"}}}}}};
  const Json signal = {{"signal", "go"}, {"timeout_ms", day_ms}};
  return {linear("bench_steps", {{"do", "bench.step"}}, bench_steps),
          linear("bench_pure", {{"do", "bench.pure"}}, bench_steps),
          linear("bench_audit", {{"do", "bench.step"}}, bench_audit_steps),
          graph("bench_loop", "s1", {{"s1", {{"do", "bench.loop"}, {"on", {{"again", "s1"}, {"ok", "done"}}}}}}),
          loop_graph("bench_replace", "bench.replace"),
          loop_graph("bench_append", "bench.append"),
          graph("bench_hold", "s1", {{"s1", node("bench.hold", "done")}}),
          linear("bench_holds", {{"do", "bench.hold"}}, 2),
          graph("bench_one", "s1", {{"s1", node("bench.step", "done")}}),
          linear("bench_remote", {{"do", "bench.remote"}, {"queue", "remote"}, {"labels", {"ok"}}}, bench_steps),
          graph("bench_signals", "s1", {{"s1", {{"wait", signal}, {"on", {{"fired", "s1"}, {"timeout", "done"}}}}}}),
          graph("bench_map", "plan", map)};
}

Json edges_graph(int width) {
  Json branches = Json::array();
  Json nodes = {{"join", {{"do", "bench.step"}, {"join", true}, {"on", {{"ok", "done"}}}}}};
  for (int n = 1; n <= width; ++n) {
    const std::string name = "b" + std::to_string(n);
    nodes[name] = node("bench.step", "join");
    branches.push_back(name);
  }
  nodes["fan"] = {{"do", "bench.step"}, {"on", {{"ok", std::move(branches)}}}};
  return graph("bench_edges", "fan", std::move(nodes));
}

Executed executed() { return {steps, first_at_us, ended, ended_at_us}; }

void note_ended(std::span<const Entry> batch, std::span<const Verdict> verdicts) {
  for (std::size_t at = 0; at < batch.size(); ++at) {
    if (verdicts[at].kind != Verdict::Kind::committed || !is_ended(batch[at].run.status)) continue;
    ended_at_us = steady_us();
    ++ended;
  }
}

}  // namespace cairn
