// Followers of a run see the answer of a planner, or the value that a model is asked for, while it is written: over
// an endpoint that streams, behind which the rule book sits.
#include <gtest/gtest.h>
#include <mutex>
#include <optional>

#include "tests/storage/test_database.hpp"
#include "tests/waiting.hpp"
#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/planners/seven_node/seven_node_trial.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/models/http_model.hpp"
#include "workers/rule_book.hpp"
#include "workers/tools/data/tools.hpp"

namespace cairn::test {
namespace {

using testing::LoopbackServer;

std::string streamed_chunk(const std::string& content) {
  return "data: " + Json{{"choices", {{{"delta", {{"content", content}}}}}}}.dump() + "\n\n";
}

// Writes each reply in two halves. The second half of one for the schema waits until the store shows the first.
class WatchedWriting {
 public:
  WatchedWriting(std::string schema, std::unique_ptr<Tools> tools)
      : schema_(std::move(schema)), server_([this](const LoopbackServer::Request& http) { return reply_to(http); }) {
    ModelEndpoint endpoint;
    endpoint.url = server_.url("/v1");
    endpoint.model = "m";
    planner_ = std::make_unique<PlannerRun>(make_http_model(endpoint), std::move(tools));
  }

  PlannerRun& planner() { return *planner_; }

  // The text that was shown while the other half was still to come, and its node.
  ProgressRow seen_in(const std::string& graph, const Json& input) {
    {
      const std::lock_guard lock(mutex_);
      run_ = planner_->start(graph, input);
    }
    planner_->work(*run_);
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(planner_->store().progress().of(*run_).empty()) << "it goes with its step";
    return seen_;
  }
  Json output() { return planner_->output(*run_); }

 private:
  LoopbackServer::Reply reply_to(const LoopbackServer::Request& http) {
    const Json body = Json::parse(http.body());
    ModelRequest request;
    request.messages = body["messages"];
    request.schema_name = body["response_format"]["json_schema"]["name"];
    request.schema = body["response_format"]["json_schema"]["schema"];
    const bool is_watched = request.schema_name == schema_;
    std::string text = R"({"next": "left", "why": "It is shorter."})";
    if (request.schema_name != "decision") text = answer_by_rules(request).reply.message["content"];
    const std::size_t half = text.size() * 3 / 4;
    LoopbackServer::Reply reply;
    reply.headers = {{"content-type", "text/event-stream"}};
    reply.pieces = {streamed_chunk(text.substr(0, half)),
                    streamed_chunk(text.substr(half)) +
                        R"(data: {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": )"
                        R"({"prompt_tokens": 9, "completion_tokens": 5}})"
                        "\n\ndata: [DONE]\n\n"};
    if (is_watched) reply.before = [this](std::size_t piece) { piece == 1 ? watch() : void(); };
    return reply;
  }

  void watch() {
    wait_until(
        [this] {
          const std::lock_guard lock(mutex_);
          const std::vector<ProgressRow> rows = planner_->store().progress().of(*run_);
          if (!rows.empty()) seen_ = rows.front();
          return !rows.empty();
        },
        std::chrono::seconds(20));
  }

  std::string schema_;
  std::mutex mutex_;
  std::optional<RunId> run_;
  ProgressRow seen_;
  LoopbackServer server_;
  std::unique_ptr<PlannerRun> planner_;
};

void expect_beginning(const ProgressRow& seen, const std::string& node, const std::string& answer) {
  EXPECT_EQ(seen.node, node);
  ASSERT_FALSE(seen.text.empty()) << "it was not shown before it was whole";
  EXPECT_LT(seen.text.size(), answer.size());
  EXPECT_EQ(answer.substr(0, seen.text.size()), seen.text);
}

TEST(PlannerProgress, S3_22_the_answer_of_seven_node_is_seen_while_it_is_written) {
  WatchedWriting writing("response_generator", nullptr);
  const ProgressRow seen = writing.seen_in("seven_node", seven::question("Who owns the pricing module?"));
  expect_beginning(seen, "response_generator", writing.output()["answer"]);
  PlannerRun whole(seven::rules());
  const RunId run = whole.run("seven_node", seven::question("Who owns the pricing module?"));
  EXPECT_EQ(writing.output()["answer"], whole.output(run)["answer"]) << "as by a reply that comes whole";
}

TEST(PlannerProgress, the_answer_of_round_planner_is_seen_while_it_is_written) {
  Dataset shop;
  shop.dsn = new_database(1);
  ASSERT_TRUE(load_sample(*shop.dsn));
  shop.login = sample_login;
  WatchedWriting writing("synthesis", make_tools(data_tools(shop, **find_query_language("sql")), 2));
  const ProgressRow seen = writing.seen_in("round_planner", {{"question", "How many orders were there in Berlin?"}});
  expect_beginning(seen, "synthesize", writing.output()["answer"]);
}

Json asking(const std::string& handler, const Json& with, const Json& output) {
  Json graph = {{"name", "asking"}, {"start", "ask"}, {"limits", {{"steps", 9}}}};
  graph["nodes"]["ask"] = {{"do", handler}, {"with", with}, {"on", {{"ok", "end"}}}};
  if (handler == "model.decide") graph["nodes"]["ask"]["labels"] = {"ok"};
  graph["nodes"]["end"] = {{"end", {{"status", "done"}, {"output", output}}}};
  return graph;
}

TEST(PlannerProgress, a_decision_and_an_extraction_are_seen_while_they_are_written) {
  const Json text = {{"type", "string"}};
  const Json decision = {{"type", "object"}, {"properties", {{"next", text}, {"why", text}}}};
  WatchedWriting deciding("decision", nullptr);
  const Result<GraphRef> added = deciding.planner().client().add_graph(
      asking("model.decide", {{"prompt", "Where?"}, {"schema", decision}}, "$decision"));
  ASSERT_TRUE(added) << added.error().message;
  const ProgressRow seen = deciding.seen_in("asking", Json::object());
  expect_beginning(seen, "ask", R"({"next": "left", "why": "It is shorter."})");
  EXPECT_EQ(deciding.output()["next"], "left");

  const Json person = {{"type", "object"}, {"properties", {{"name", text}, {"town", text}}}};
  WatchedWriting extracting("extraction", nullptr);
  ASSERT_TRUE(extracting.planner().client().add_graph(
      asking("model.extract", {{"text", "Name: Ann\nTown: Oslo"}, {"schema", person}}, "$extracted")));
  const ProgressRow taken = extracting.seen_in("asking", Json::object());
  expect_beginning(taken, "ask", R"({"name":"Ann","town":"Oslo"})");
}

}  // namespace
}  // namespace cairn::test
