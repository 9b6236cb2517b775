// Other graphs of the seven-node agent's handlers, and other model ports under it.
#include "tests/workers/planners/seven_node/seven_node_trial.hpp"

namespace cairn::test::seven {
namespace {

// --- another graph of the same handlers ------------------------------------------------------------------------------
Json parallel_graph(PlannerRun& planner) {
  Json graph = Json::parse(planner.client().graphs().current("seven_node")->text);
  Json& nodes = graph["nodes"];
  graph["name"] = "seven_node_parallel";
  nodes["orchestrator"]["on"]["ready"] = {"guardrail", "intent_parser"};
  nodes["guardrail"]["on"] = {{"on_topic", "gather"}, {"off_topic", "blocked"}, {"error", "gather"}};
  nodes["intent_parser"]["on"] = {{"clear", "gather"}, {"ambiguous", "gather"}, {"error", "gather"}};
  nodes["gather"] = {{"do", "data.pick"},
                     {"join", true},
                     {"with", {{"value", "$intent/intent"}, {"labels", {{"ambiguous", "ask"}}}, {"default", "go_on"}}},
                     {"labels", {"ask", "go_on"}},
                     {"on", {{"ask", "response_generator"}, {"go_on", "query_planner"}}}};
  return graph;
}

TEST(SevenNode, S3_22_guardrail_beside_intent_parser_needs_no_new_handler_and_blocked_wins) {
  PlannerRun planner(rules());
  const Result<GraphRef> added = planner.client().add_graph(parallel_graph(planner));
  ASSERT_TRUE(added.ok()) << added.error().message;
  const RunId blocked = planner.run("seven_node_parallel", question("What is the weather in Tokyo?"));
  EXPECT_EQ(planner.output(blocked)["outcome"], "blocked");
  EXPECT_EQ(planner.events(blocked, "sub_goal_opened").size(), 0U);
  const RunId answered = planner.run("seven_node_parallel", question("Who owns tax?"));
  EXPECT_EQ(planner.output(answered)["outcome"], "answered");
  EXPECT_EQ(planner.output(answered)["results"][0]["outputs"]["owner_commits"], 14);
}

// Answers a request by the inner model, after as long as the test holds this one back.
class HeldBack final : public Model {
 public:
  HeldBack(std::unique_ptr<Model> model, std::function<bool(const ModelRequest&)> is_held)
      : model_(std::move(model)), is_held_(std::move(is_held)) {}
  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (is_held_(request) && std::chrono::steady_clock::now() < limit) {
      boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, std::chrono::milliseconds(1));
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
    boost::asio::awaitable<ModelAnswer> asked = model_->ask(std::move(request));
    ModelAnswer answer = co_await std::move(asked);
    co_return answer;
  }

 private:
  std::unique_ptr<Model> model_;
  std::function<bool(const ModelRequest&)> is_held_;
};

TEST(SevenNode, S3_22_a_blocked_question_closes_the_intent_parser_that_is_still_at_work) {
  Store* store = nullptr;
  RunId run;
  PlannerRun planner(std::make_unique<HeldBack>(rules(), [&](const ModelRequest& request) {
    return request.node == "intent_parser" && !is_ended(store->run(run)->status);
  }));
  store = &planner.store();
  ASSERT_TRUE(planner.client().add_graph(parallel_graph(planner)).ok());
  run = planner.start("seven_node_parallel", question("What is the weather in Tokyo?"));
  planner.work(run);
  EXPECT_EQ(planner.output(run)["outcome"], "blocked");
  EXPECT_EQ(planner.model().of("intent_parser").size(), 1U) << "it was at work";
  EXPECT_EQ(planner.path(run), (std::vector<std::string>{"orchestrator", "guardrail"}));
  const std::vector<Json> ends = planner.events(run, "run_finished");
  ASSERT_EQ(ends.size(), 1U);
  // The orchestrator was step 1; the steps that it opened are numbered in the order of its edge.
  EXPECT_EQ(planner.events(run, "step_succeeded")[0]["next"], (Json{"guardrail", "intent_parser"}));
  EXPECT_EQ(ends[0]["closed"]["steps"], Json::array({3}));
  EXPECT_EQ(ends[0]["seq"], planner.state(run).seq) << "its late reply leaves nothing";
}

// A port around another that answers what it has heard before from its memory.
class Remembering final : public Model {
 public:
  explicit Remembering(std::unique_ptr<Model> model) : model_(std::move(model)) {}
  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override {
    const std::string question = canonical({request.model, request.messages, request.schema});
    const auto known = answers_.find(question);
    if (known != answers_.end()) co_return known->second;
    ++asked;
    boost::asio::awaitable<ModelAnswer> asking = model_->ask(std::move(request));
    ModelAnswer answer = co_await std::move(asking);
    answers_[question] = answer;
    co_return answer;
  }
  int asked = 0;

 private:
  std::unique_ptr<Model> model_;
  std::map<std::string, ModelAnswer> answers_;
};

TEST(SevenNode, S3_22_a_cache_of_replies_is_a_model_port_around_another) {
  auto port = std::make_unique<Remembering>(rules());
  Remembering& memory = *port;
  PlannerRun planner(std::move(port));
  const RunId first = planner.run("seven_node", question("Who owns pricing?"));
  EXPECT_EQ(memory.asked, 5);
  const RunId second = planner.run("seven_node", question("Who owns pricing?"));
  EXPECT_EQ(memory.asked, 5) << "no request of the second run was new";
  EXPECT_EQ(planner.output(second), planner.output(first));
  EXPECT_EQ(planner.events(second, "model_called").size(), 5U) << "and all are on its record";
  planner.run("seven_node", question("Who owns tax?"));
  EXPECT_GT(memory.asked, 5);
}

}  // namespace
}  // namespace cairn::test::seven
