// Faults of endpoints that come in forms of their own, as their public documentation has them: replies that Groq could
// not use, gateways' errors within an answer of 200, reasons for which a reply is not whole, histories and tools that a
// strict reader refuses.
#include <atomic>
#include <gtest/gtest.h>

#include "tests/workers/ports/loopback.hpp"
#include "workers/handlers/model_call.hpp"
#include "workers/models/http_model.hpp"

namespace cairn {
namespace {

using testing::LoopbackServer;

struct AtEndpoint {
  explicit AtEndpoint(LoopbackServer::Answers answers, ModelApi api = ModelApi::chat_completions)
      : server(std::move(answers)) {
    endpoint.url = server.url("/v1");
    endpoint.model = "m";
    endpoint.api = api;
    endpoint.timeout_ms = 10'000;
    request.messages = {{{"role", "user"}, {"content", "Is it so?"}}};
    request.key = "run/1";
  }
  ModelAnswer ask() {
    if (!model) model = make_http_model(endpoint);
    return testing::run(model->ask(request));
  }
  Failure fault() {
    const ModelAnswer answer = ask();
    EXPECT_TRUE(answer.failure);
    return answer.failure.value_or(Failure{});
  }
  Json sent(std::size_t n = 0) const { return Json::parse(server.requests().at(n).body()); }

  LoopbackServer server;
  ModelEndpoint endpoint;
  ModelRequest request;
  std::unique_ptr<Model> model;
};

LoopbackServer::Reply replies(const Json& body, unsigned status = 200) {
  return {.status = status, .body = body.dump()};
}

Json completion_with(const Json& choice) {
  Json body = {{"id", "c"}, {"model", "served"}, {"usage", {{"prompt_tokens", 9}, {"completion_tokens", 4}}}};
  body["choices"].push_back(choice);
  return body;
}

Json choice_with(const std::string& text, const std::string& finish) {
  return {{"index", 0}, {"message", {{"role", "assistant"}, {"content", text}}}, {"finish_reason", finish}};
}

Json groq_error(const std::string& code, const std::string& wrote) {
  return {{"error",
           {{"message", "Failed to generate JSON with this response_format. See 'failed_generation'."},
            {"type", "invalid_request_error"},
            {"code", code},
            {"failed_generation", wrote}}}};
}

TEST(EndpointFaults, a_reply_that_the_endpoint_could_not_use_is_a_bad_reply_and_lowers_no_format) {
  for (const char* code : {"json_validate_failed", "tool_use_failed"}) {
    AtEndpoint groq([code](const auto&) {
      return replies(groq_error(code, "{\"label\": maybe sk-Jq7vR2mXw9Tb4LcZ " + std::string(2'000, 'x')), 400);
    });
    groq.endpoint.api_key = "sk-Jq7vR2mXw9Tb4LcZ";
    groq.request.schema = object_schema({{"label", {{"type", "string"}}}});
    const Failure fault = groq.fault();
    EXPECT_EQ(fault.error, "bad_reply");
    EXPECT_TRUE(fault.retryable);
    EXPECT_NE(fault.message.find("{\"label\": maybe ***"), std::string::npos) << fault.message;
    EXPECT_LT(fault.message.size(), 1'000U);
    groq.fault();
    ASSERT_EQ(groq.server.requests().size(), 2U);
    EXPECT_EQ(groq.sent(1)["response_format"]["type"], "json_schema");
  }
}

TEST(EndpointFaults, a_reply_that_broke_off_is_another_try_though_it_has_text) {
  for (const char* finish : {"error", "network_error", "insufficient_system_resource"}) {
    AtEndpoint broken([finish](const auto&) { return replies(completion_with(choice_with("It is s", finish))); });
    const ModelAnswer answer = broken.ask();
    ASSERT_TRUE(answer.failure) << finish;
    EXPECT_EQ(answer.failure->error, "refused");
    EXPECT_TRUE(answer.failure->retryable);
    EXPECT_EQ(answer.reply.tokens_out, 4) << "it cost what it cost";
  }
  AtEndpoint routed([](const auto&) {
    Json choice = choice_with("It is s", "stop");
    choice["error"] = {{"code", 502}, {"message", "Provider disconnected"}};
    return replies(completion_with(choice));
  });
  const Failure fault = routed.fault();
  EXPECT_TRUE(fault.retryable);
  EXPECT_NE(fault.message.find("Provider disconnected"), std::string::npos);
}

TEST(EndpointFaults, a_conversation_beyond_the_models_context_is_not_tried_again) {
  for (const char* finish : {"model_context_window_exceeded", "model_length"}) {
    AtEndpoint full([finish](const auto&) { return replies(completion_with(choice_with("It is s", finish))); });
    const Failure fault = full.fault();
    EXPECT_EQ(fault.error, "limit");
    EXPECT_FALSE(fault.retryable);
  }
}

TEST(EndpointFaults, a_response_that_is_not_completed_is_none_though_it_has_output) {
  const Json message = {{"type", "message"}, {"content", {{{"type", "output_text"}, {"text", "It is s"}}}}};
  const auto fault_of = [&message](Json response) {
    response["output"].push_back(message);
    AtEndpoint broken([response](const auto&) { return replies(response); }, ModelApi::responses);
    return broken.fault();
  };
  const Failure failed = fault_of({{"status", "failed"}, {"error", {{"code", "server_error"}, {"message", "Oh no"}}}});
  EXPECT_EQ(failed.error, "refused");
  EXPECT_TRUE(failed.retryable);
  EXPECT_NE(failed.message.find("Oh no"), std::string::npos);
  EXPECT_TRUE(fault_of({{"status", "incomplete"}}).retryable);
  EXPECT_TRUE(fault_of({{"status", "incomplete"}, {"incomplete_details", {{"reason", "out_of_luck"}}}}).retryable);
  EXPECT_EQ(fault_of({{"status", "incomplete"}, {"incomplete_details", {{"reason", "max_output_tokens"}}}}).error,
            "bad_reply");
}

TEST(EndpointFaults, an_error_within_an_answer_of_200_counts_as_its_status) {
  std::atomic<int> asked = 0;
  AtEndpoint busy([&asked](const auto&) {
    if (++asked > 1) return replies(completion_with(choice_with("yes", "stop")));
    LoopbackServer::Reply reply = replies({{"error", {{"code", 429}, {"message", "Rate limited upstream"}}}});
    reply.headers = {{"retry-after-ms", "20"}};
    return reply;
  });
  EXPECT_EQ(busy.ask().reply.value, "yes") << "it is waited for";
  EXPECT_EQ(asked, 2);
  AtEndpoint unpaid([](const auto&) { return replies({{"error", {{"code", 402}, {"message", "No credits"}}}}); });
  const Failure refused_for_good = unpaid.fault();
  EXPECT_EQ(refused_for_good.error, "refused");
  EXPECT_FALSE(refused_for_good.retryable);
  AtEndpoint away([](const auto&) { return replies({{"error", {{"message", "Overloaded"}}}}); });
  const Failure refused_now = away.fault();
  EXPECT_EQ(refused_now.error, "refused") << refused_now.message;
  EXPECT_TRUE(refused_now.retryable) << "as a stream that broke off";
}

TEST(EndpointFaults, a_refusal_of_stream_options_alone_leaves_the_stream) {
  AtEndpoint mistral([](const LoopbackServer::Request& request) {
    if (Json::parse(request.body()).contains("stream_options"))
      return replies({{"detail", "extra_forbidden: body.stream_options"}}, 422);
    Json chunk = completion_with({{"index", 0}, {"delta", {{"content", "yes"}}}, {"finish_reason", "stop"}});
    LoopbackServer::Reply reply;
    reply.headers = {{"content-type", "text/event-stream"}};
    reply.pieces = {"data: " + chunk.dump() + "\n\n", "data: [DONE]\n\n"};
    return reply;
  });
  for (int i = 0; i < 2; ++i) EXPECT_EQ(mistral.ask().reply.value, "yes");
  const auto seen = mistral.server.requests();
  ASSERT_EQ(seen.size(), 3U) << "refused once, then never asked that way again";
  EXPECT_EQ(mistral.sent(2)["stream"], true);
  EXPECT_FALSE(mistral.sent(2).contains("stream_options"));
  EXPECT_NE(seen[0]["idempotency-key"], seen[1]["idempotency-key"]);
}

Json conversation_with_arguments(const Json& arguments) {
  const Json call = {{"id", "c1"}, {"type", "function"}, {"function", {{"name", "find"}, {"arguments", arguments}}}};
  return {{{"role", "user"}, {"content", "Find it."}},
          {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {call}}},
          {{"role", "tool"}, {"tool_call_id", "c1"}, {"content", "Error: Expected the arguments to be JSON."}}};
}

TEST(EndpointFaults, arguments_of_earlier_calls_that_are_no_object_are_sent_as_an_empty_one) {
  const std::pair<Json, std::string> cases[] = {
      {"{\"at\": 1}", "{\"at\": 1}"}, {"{\"at\": ", "{}"}, {"", "{}"}, {"[1]", "{}"}, {nullptr, "{}"}, {"7", "{}"}};
  for (const auto& [arguments, sent] : cases) {
    const Json history = conversation_with_arguments(arguments);
    AtEndpoint chat([](const auto&) { return replies(completion_with(choice_with("yes", "stop"))); });
    chat.request.messages = history;
    chat.ask();
    EXPECT_EQ(chat.sent()["messages"][1]["tool_calls"][0]["function"]["arguments"], sent) << arguments;
    EXPECT_EQ(chat.request.messages, history);
    AtEndpoint responses([](const auto&) { return replies(Json::object()); }, ModelApi::responses);
    responses.request.messages = history;
    responses.ask();
    EXPECT_EQ(responses.sent()["input"][1]["arguments"], sent) << arguments;
  }
}

TEST(EndpointFaults, responses_make_no_schema_of_a_tool_strict_that_is_not) {
  AtEndpoint responses([](const auto&) { return replies(Json::object()); }, ModelApi::responses);
  const Json open = {{"type", "object"}, {"properties", {{"q", {{"type", "string"}}}}}};
  const Json closed = object_schema({{"q", {{"type", "string"}}}});
  const auto tool = [](Json function) { return Json{{"type", "function"}, {"function", std::move(function)}}; };
  responses.request.tools = {tool({{"name", "a"}, {"parameters", open}}), tool({{"name", "b"}, {"parameters", closed}}),
                             tool({{"name", "c"}, {"parameters", closed}, {"strict", false}}), tool({{"name", "d"}})};
  responses.ask();
  const Json tools = responses.sent()["tools"];
  EXPECT_EQ(tools[0]["strict"], false);
  EXPECT_EQ(tools[1]["strict"], true);
  EXPECT_EQ(tools[2]["strict"], false) << "as it was given";
  EXPECT_EQ(tools[3]["strict"], false);
}

TEST(EndpointFaults, pictures_go_to_responses_in_their_own_form) {
  AtEndpoint responses([](const auto&) { return replies(Json::object()); }, ModelApi::responses);
  const Json text = {{"type", "text"}, {"text", "What is it?"}};
  const Json picture = {{"type", "image_url"}, {"image_url", {{"url", "data:image/png;base64,AA"}, {"detail", "low"}}}};
  responses.request.messages = {{{"role", "user"}, {"content", {text, picture}}},
                                {{"role", "user"}, {"content", Json::array({text})}}};
  responses.ask();
  const Json input = responses.sent()["input"];
  EXPECT_EQ(input[0]["content"],
            (Json{{{"type", "input_text"}, {"text", "What is it?"}},
                  {{"type", "input_image"}, {"image_url", "data:image/png;base64,AA"}, {"detail", "low"}}}));
  EXPECT_EQ(input[1]["content"], "What is it?");
}

}  // namespace
}  // namespace cairn
