// Conversations and replies that are longer than what a run can hold: one clear refusal, on record, and no second try.
#include <gtest/gtest.h>

#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/models/http_model.hpp"

namespace cairn::test {
namespace {

using testing::LoopbackServer;
using Served = LoopbackServer::Reply;

constexpr std::size_t part_bytes = json_bytes_max / 2 + 1024;

const Json talk = Json::parse(R"({"name": "talk", "start": "say", "limits": {"steps": 10},
  "nodes": {
    "say": {"do": "model.chat", "with": {"system": "$a", "prompt": "$b"}, "retry": {"attempts": 3},
      "on": {"ok": "done"}},
    "done": {"end": {"status": "done"}}}})");

std::unique_ptr<Model> model_at(const LoopbackServer& server, ModelApi api) {
  ModelEndpoint endpoint;
  endpoint.url = server.url("/v1");
  endpoint.model = "m";
  endpoint.api = api;
  return make_http_model(std::move(endpoint));
}

struct Talk {
  Talk(LoopbackServer::Answers answers, ModelApi api, Json input)
      : server(std::move(answers)), planner(model_at(server, api)) {
    EXPECT_TRUE(planner.client().add_graph(talk));
    run = planner.run("talk", std::move(input));
  }
  Json only(const std::string& type) {
    const std::vector<Json> events = planner.events(run, type);
    EXPECT_EQ(events.size(), 1U) << type;
    return events.empty() ? Json() : events.front();
  }

  LoopbackServer server;
  PlannerRun planner;
  RunId run;
};

Served short_reply(const LoopbackServer::Request&) {
  return {.body = R"({"choices": [{"message": {"role": "assistant", "content": "yes"}}]})"};
}

TEST(LongConversation, issue_20_1_is_refused_once_and_recorded) {
  for (const ModelApi api : {ModelApi::chat_completions, ModelApi::responses}) {
    Talk talk(short_reply, api, {{"a", std::string(part_bytes, 'a')}, {"b", std::string(part_bytes, 'b')}});
    EXPECT_EQ(to_string(talk.planner.state(talk.run).status), std::string("failed"));
    EXPECT_TRUE(talk.server.requests().empty()) << "nothing is paid for it";
    const Json failed = talk.only("step_failed");
    EXPECT_EQ(failed["error"], "limit") << failed.dump().substr(0, 500);
    EXPECT_NE(failed["message"].get<std::string>().find("Expected a conversation of at most"), std::string::npos);
    EXPECT_EQ(failed.value("retry_at", Json()), Json()) << "it is not tried again";
  }
}

Served streamed(const std::vector<Json>& events) {
  Served served;
  served.headers = {{"content-type", "text/event-stream"}};
  for (const Json& event : events) served.body += "data: " + event.dump() + "\n\n";
  return served;
}

Json written(const Json& delta, const Json& finish = nullptr) {
  return {{"choices", {{{"delta", delta}, {"finish_reason", finish}}}}};
}

TEST(LongConversation, issue_20_1_a_reply_that_is_too_long_to_record_is_one_refusal_with_its_cost) {
  const auto writes = [](const LoopbackServer::Request&) {
    const std::string text(part_bytes, 'x');
    Json last = written(Json::object(), "stop");
    last["usage"] = {{"prompt_tokens", 7}, {"completion_tokens", 9'000'000}};
    return streamed({written({{"content", text}}), written({{"content", text}}), last});
  };
  Talk talk(writes, ModelApi::chat_completions, {{"a", "Write."}, {"b", "More."}});
  EXPECT_EQ(talk.server.requests().size(), 1U) << "it is not paid twice";
  const Json failed = talk.only("step_failed");
  EXPECT_EQ(failed["error"], "limit");
  EXPECT_NE(failed["message"].get<std::string>().find("Expected a reply of at most"), std::string::npos) << failed;
  EXPECT_EQ(talk.only("model_called")["tokens_out"], 9'000'000);
}

// Its last event has the whole reply, and with it what it cost.
TEST(LongConversation, issue_20_1_a_response_that_is_too_long_to_read_is_one_refusal) {
  const auto writes = [](const LoopbackServer::Request&) {
    const std::string text(2 * part_bytes, 'x');
    return streamed({{{"type", "response.completed"},
                      {"response", {{"id", "resp_1"}, {"output", {{{"type", "message"}, {"text", text}}}}}}}});
  };
  Talk talk(writes, ModelApi::responses, {{"a", "Write."}, {"b", "More."}});
  EXPECT_EQ(talk.server.requests().size(), 1U) << "it is not paid twice";
  const Json failed = talk.only("step_failed");
  EXPECT_EQ(failed["error"], "limit") << failed.dump().substr(0, 500);
  EXPECT_EQ(talk.only("model_called")["error"], "limit");
}

TEST(LongConversation, an_answer_beyond_all_bounds_is_not_asked_for_again) {
  const auto endless = [](const LoopbackServer::Request&) {
    return Served{.body = std::string(5 * part_bytes * 2, ' ')};
  };
  Talk talk(endless, ModelApi::chat_completions, {{"a", "Write."}, {"b", "More."}});
  EXPECT_EQ(talk.server.requests().size(), 1U);
  EXPECT_EQ(talk.only("step_failed")["error"], "limit");
}

}  // namespace
}  // namespace cairn::test
