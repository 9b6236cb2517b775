// The executor: recorded outcomes of nodes that say `cache`, and what their keys depend on.
#include "workers/runs/executor.hpp"

#include <gtest/gtest.h>
#include <optional>

#include "engine/decide.hpp"
#include "engine/graph_parsing.hpp"
#include "workers/catalogue.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/tools.hpp"

namespace cairn {
namespace {

const char* const looping = R"({"name":"t","start":"a","limits":{"steps":99},
  "channels":{"seen":{"reducer":"append"}},"nodes":{
  "a":{"do":"x.square","cache":true,"with":{"of":"$n"},"on":{"ok":"b"}},
  "b":{"do":"x.next","on":{"again":"a","out":"z"}},"z":{"end":"done"}}})";

// One worker's pure steps over a folded state, without a store.
class Executed : public ::testing::Test {
 protected:
  Executed() : model_(make_scripted_model({{"replies", Json::array()}})), tools_(make_tools(builtin_tools(), 1)) {
    add("x.square", {"ok"}, {"bias"}, [this](const StepInput& input) {
      ++squares_;
      const auto n = input.with["of"].get<std::int64_t>();
      return StepResult(Outcome{"ok", {{"seen", {n * n + input.data.value("bias", 0)}}}, {}});
    });
    add("x.next", {"again", "out"}, {"*"}, [](const StepInput& input) {
      const Json& todo = input.data["todo"];
      if (todo.empty()) return StepResult(Outcome{"out", Json::object(), {}});
      Json patch = todo.front();
      patch["todo"] = Json(todo.begin() + 1, todo.end());
      return StepResult(Outcome{"again", patch, {}});
    });
    ports_.emplace(*model_, *tools_);
    executor_.emplace(handlers_, *ports_, 7);
  }

  void add(std::string name, std::vector<std::string> labels, std::vector<std::string> reads, PureHandler run) {
    handlers_.add({.name = std::move(name),
                   .labels = std::move(labels),
                   .labels_from_node = false,
                   .reads = std::move(reads),
                   .reads_plan = false,
                   .version = 1,
                   .run = std::move(run)});
  }

  // Runs to its end, fused or one by one; `todo`: what the loop's rounds set.
  std::vector<StepSucceeded> run(const std::string& input, bool fused) {
    Graphs graphs;
    graphs.add(*parse_graph(parse_stored(looping), "v1", handlers_.labels()), true);
    RunState state;
    Context context;
    StartRun start;
    start.graph = "t";
    start.input = parse_stored(input);
    EXPECT_TRUE(decide(state, start, context, graphs));
    std::vector<StepSucceeded> closed;
    while (const std::optional<Job> job = job_of(state, root_branch)) {
      const Result<Decision> decision = decide(state, command_of(state, *job, fused), context, graphs);
      EXPECT_TRUE(decision) << decision.error().message;
      if (!decision || closed.size() > 50) break;
      closed.push_back(std::get<StepSucceeded>(decision->events.front().body));
    }
    output_ = state.output;
    return closed;
  }

  Command command_of(const RunState& state, const Job& job, bool fused) {
    if (fused) return executor_->pure_report(state, job, 5).value();
    Prepared prepared = executor_->prepare(state, job);
    if (auto* command = std::get_if<Command>(&prepared)) return *command;
    std::vector<Blob> blobs;
    return executor_->report(job, 5, Executor::run_pure(std::get<Work>(prepared)), *state.graph, blobs);
  }

  HandlerTable handlers_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Tools> tools_;
  std::optional<Ports> ports_;
  std::optional<Executor> executor_;
  Json output_;
  int squares_ = 0;
};

std::vector<StepId> sources(const std::vector<StepSucceeded>& closed) {
  std::vector<StepId> from;
  for (const StepSucceeded& one : closed)
    if (one.node == "a") from.push_back(one.cached_from);
  return from;
}

TEST_F(Executed, a_cached_node_runs_once_for_each_input) {
  for (const bool fused : {false, true}) {
    squares_ = 0;
    const auto closed = run(R"({"n":3,"todo":[{"n":3},{"n":4},{"n":3,"other":1},{"n":4}]})", fused);
    EXPECT_EQ(sources(closed), (std::vector<StepId>{0, 1, 0, 1, 5}));
    EXPECT_EQ(output_["seen"], parse_stored("[9,9,16,9,16]"));
    EXPECT_EQ(squares_, 2) << "a channel it does not read makes no difference";
  }
}

TEST_F(Executed, a_channel_that_the_handler_reads_makes_another_key) {
  const auto closed = run(R"({"n":3,"todo":[{"bias":1},{"bias":null},{"bias":1}]})", false);
  EXPECT_EQ(sources(closed), (std::vector<StepId>{0, 0, 1, 3}));
  EXPECT_EQ(output_["seen"], parse_stored("[9,10,9,10]"));
}

TEST_F(Executed, H3_a_step_that_is_given_too_much_fails_with_limit_and_its_handler_is_not_asked) {
  const Json graph = {{"name", "t"},
                      {"start", "a"},
                      {"limits", {{"steps", 9}}},
                      {"nodes",
                       {{"a", {{"do", "x.square"}, {"with", {{"of", Json(2'000, "$n")}}}, {"on", {{"ok", "z"}}}}},
                        {"z", {{"end", "done"}}}}}};
  Graphs graphs;
  graphs.add(*parse_graph(graph, "v1", handlers_.labels()), true);
  StartRun start;
  start.graph = "t";
  start.input = {{"n", std::string(30'000, 'x')}};
  RunState state;
  ASSERT_TRUE(decide(state, start, {}, graphs));
  const std::optional<Job> job = job_of(state, root_branch);
  ASSERT_TRUE(job);
  const Prepared prepared = executor_->prepare(state, *job);
  const auto* command = std::get_if<Command>(&prepared);
  ASSERT_NE(command, nullptr);
  const auto* failed = std::get_if<FailStep>(command);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->failure.error, "limit");
  EXPECT_EQ(squares_, 0);
}

TEST(CacheKey, depends_on_all_that_a_handler_may_look_at_but_step_attempt_and_budgets) {
  Graph graph;
  graph.version = "v1";
  Handler handler;
  handler.name = "x.y";
  handler.reads_plan = true;
  StepInput input;
  input.node = "n";
  input.with = Json::object();
  input.data = Json::object();
  const std::string key = cache_key(graph, handler, input);
  EXPECT_EQ(key.size(), 64u);

  StepInput same = input;
  same.step = 9;
  same.attempt = 2;
  same.key = "RUN/9";
  same.fault = "It broke.";
  same.errors = 1;
  same.elapsed_ms = 20;
  same.budgets = {{"coins", 3}};
  EXPECT_EQ(cache_key(graph, handler, same), key);

  std::set<std::string> others{key};
  const auto differs = [&](const Graph& g, const Handler& h, const StepInput& i) {
    return others.insert(cache_key(g, h, i)).second;
  };
  Graph newer = graph;
  newer.version = "v2";
  EXPECT_TRUE(differs(newer, handler, input));
  Handler changed = handler;
  changed.version = 2;
  EXPECT_TRUE(differs(graph, changed, input)) << "same handler version";
  changed = handler;
  changed.name = "x.z";
  EXPECT_TRUE(differs(graph, changed, input));
  const auto with = [&](auto change) {
    StepInput other = input;
    change(other);
    return differs(graph, handler, other);
  };
  EXPECT_TRUE(with([](StepInput& i) { i.node = "m"; }));
  EXPECT_TRUE(with([](StepInput& i) { i.with["a"] = 1; }));
  EXPECT_TRUE(with([](StepInput& i) { i.with["a"] = 1.0; }));
  EXPECT_TRUE(with([](StepInput& i) { i.with["a"] = "1"; }));
  EXPECT_TRUE(with([](StepInput& i) { i.data["a"] = 1; })) << "same read channels";
  EXPECT_TRUE(with([](StepInput& i) { i.given = 1; }));
  EXPECT_TRUE(with([](StepInput& i) { i.plan = {{"g", "t", nullptr, GoalStatus::planned, nullptr, "", ""}}; }));
  EXPECT_TRUE(with([](StepInput& i) { i.plan = {{"g", "t", nullptr, GoalStatus::open, nullptr, "", ""}}; }));
  EXPECT_TRUE(with([](StepInput& i) { i.plan = {{"g", "t", nullptr, GoalStatus::open, 1, "", ""}}; }));
  EXPECT_TRUE(with([](StepInput& i) { i.plan = {{"g", "t", nullptr, GoalStatus::open, 1, "", "", 0, "Title"}}; }));
  EXPECT_TRUE(with([](StepInput& i) { i.plan_version = 2; }));
  EXPECT_TRUE(with([](StepInput& i) { i.rejected = {{"g", "t", "No."}}; }));
}

}  // namespace
}  // namespace cairn
