// Servers that behave as the families of OpenAI-compatible endpoints do, by their public documentation: strict schemas
// (OpenAI), JSON objects alone (DeepSeek), neither (older llama.cpp and proxies), schemas taken and ignored (vLLM
// without guided decoding), thoughts before the reply (DeepSeek-R1, Qwen3), prose around it, text with tool calls
// (Anthropic-compatible gateways), rate limits with Retry-After, slow answers, cut connections, and the API of
// responses.
#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>

#include "tests/workers/ports/loopback.hpp"
#include "workers/handlers/model_call.hpp"
#include "workers/models/http_model.hpp"

namespace cairn {
namespace {

using testing::LoopbackServer;
using Request = LoopbackServer::Request;
using Served = LoopbackServer::Reply;

const Json verdict_schema = object_schema({{"label", {{"type", "string"}, {"enum", {"yes", "no"}}}}});
const Json verdict = {{"label", "yes"}};

ModelRequest question(Json schema = verdict_schema) {
  ModelRequest request;
  request.messages = {{{"role", "system"}, {"content", "You judge."}}, {{"role", "user"}, {"content", "Is it so?"}}};
  request.schema = std::move(schema);
  request.schema_name = "verdict";
  request.key = "run/1";
  return request;
}

Served chat(const Json& message, const std::string& finish = "stop") {
  Json body = {{"id", "chatcmpl-7"}, {"model", "served"}, {"choices", Json::array()}};
  body["choices"].push_back({{"index", 0}, {"message", message}, {"finish_reason", finish}});
  body["usage"] = {{"prompt_tokens", 90},
                   {"completion_tokens", 40},
                   {"prompt_tokens_details", {{"cached_tokens", 64}}},
                   {"completion_tokens_details", {{"reasoning_tokens", 30}}}};
  return {.body = body.dump()};
}
Served says(const std::string& text) { return chat({{"role", "assistant"}, {"content", text}}); }

Served refused(const std::string& message, unsigned status = 400) {
  return {.status = status, .body = Json{{"error", {{"message", message}, {"type", "invalid_request_error"}}}}.dump()};
}

struct Family {
  explicit Family(LoopbackServer::Answers answers) : server(std::move(answers)) {
    endpoint.url = server.url("/v1");
    endpoint.model = "m";
    endpoint.timeout_ms = 10'000;
  }
  Model& model() {
    if (!made) made = make_http_model(endpoint);
    return *made;
  }
  ModelAnswer ask(const ModelRequest& request = question()) { return testing::run(model().ask(request)); }
  Json body(std::size_t n) const { return Json::parse(server.requests().at(n).body()); }

  LoopbackServer server;
  ModelEndpoint endpoint;
  std::unique_ptr<Model> made;
};

std::string format_in(const Request& request) {
  return Json::parse(request.body()).value(Json::json_pointer("/response_format/type"), "none");
}

TEST(ModelFamilies, strict_schemas_are_sent_as_such_and_what_was_used_is_on_record) {
  Family family([](const Request&) { return says(verdict.dump()); });
  const ModelAnswer answer = family.ask();
  EXPECT_EQ(answer.reply.value, verdict);
  EXPECT_EQ(family.body(0)["response_format"]["json_schema"]["strict"], true);
  EXPECT_EQ(family.body(0)["messages"], question().messages) << "the schema is not said twice";
  const Json record = parse_stored(model_called(question(), answer).fields);
  EXPECT_EQ(record["tokens_cached"], 64);
  EXPECT_EQ(record["tokens_reasoning"], 30);
  EXPECT_EQ(record["finish_reason"], "stop");
  EXPECT_EQ(record["response_id"], "chatcmpl-7");
  EXPECT_EQ(record["model"], "served");
}

TEST(ModelFamilies, json_objects_alone_are_asked_for_after_one_refusal_and_that_is_remembered) {
  Family family([](const Request& request) {
    if (format_in(request) == "json_schema") return refused("This response_format type is unavailable now");
    return says(verdict.dump());
  });
  EXPECT_EQ(family.ask().reply.value, verdict);
  EXPECT_EQ(family.ask().reply.value, verdict);
  const auto seen = family.server.requests();
  ASSERT_EQ(seen.size(), 3U) << "refused once, then never asked that way again";
  EXPECT_EQ(format_in(seen[1]), "json_object");
  EXPECT_EQ(format_in(seen[2]), "json_object");
  EXPECT_NE(seen[0]["idempotency-key"], seen[1]["idempotency-key"]) << "another body is another request";
  const Json messages = family.body(1)["messages"];
  ASSERT_EQ(messages.size(), 2U) << "some endpoints take one system message only";
  EXPECT_NE(messages[0]["content"].get<std::string>().find("\"enum\":[\"yes\",\"no\"]"), std::string::npos);
}

TEST(ModelFamilies, an_endpoint_that_knows_no_format_gets_the_schema_in_words) {
  Family family([](const Request& request) {
    if (format_in(request) != "none") return refused("Unrecognized request argument supplied: response_format", 422);
    return says(verdict.dump());
  });
  ModelRequest request = question();
  request.messages.erase(0);
  EXPECT_EQ(family.ask(request).reply.value, verdict);
  EXPECT_EQ(family.server.requests().size(), 3U);
  EXPECT_EQ(family.body(2)["messages"][0]["role"], "system");
  EXPECT_EQ(family.ask(request).reply.value, verdict);
  EXPECT_EQ(family.server.requests().size(), 4U);
}

std::string type_of_schema_in(const Request& request) {
  return Json::parse(request.body()).value(Json::json_pointer("/response_format/json_schema/schema/type"), "none");
}

TEST(ModelFamilies, a_schema_that_one_run_cannot_use_lowers_the_format_of_no_other) {
  Family family([](const Request& request) {
    if (type_of_schema_in(request) == "array")
      return refused("Invalid schema for response_format 'verdict': schema must be of type 'object', got 'array'.");
    return says(format_in(request) == "json_schema" ? verdict.dump() : R"(["yes"])");
  });
  const Json list = {{"type", "array"}, {"items", {{"type", "string"}}}};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(family.ask(question(list)).reply.value, Json::array({"yes"}));
  ASSERT_EQ(family.server.requests().size(), 3U) << "refused once, then never asked that way again";
  EXPECT_EQ(family.ask().reply.value, verdict);
  EXPECT_EQ(format_in(family.server.requests().at(3)), "json_schema");
  for (const char* item : {"number", "integer", "boolean"})
    family.ask(question({{"type", "array"}, {"items", {{"type", item}}}}));
  EXPECT_EQ(family.ask().reply.value, verdict);
  EXPECT_EQ(format_in(family.server.requests().back()), "json_schema") << "as the model has taken one";
}

TEST(ModelFamilies, an_endpoint_that_refuses_every_schema_is_asked_with_one_at_most_twice) {
  Family family([](const Request& request) {
    if (format_in(request) == "json_schema") return refused("This response_format type is unavailable now");
    return says(verdict.dump());
  });
  for (const char* title : {"a", "b", "c", "d"}) {
    Json schema = verdict_schema;
    schema["title"] = title;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(family.ask(question(schema)).reply.value, verdict);
  }
  const auto seen = family.server.requests();
  EXPECT_EQ(seen.size(), 10U);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), [](const auto& one) { return format_in(one) == "json_schema"; }),
            2);
}

TEST(ModelFamilies, a_refusal_of_something_else_changes_no_format) {
  Family family([](const Request&) { return refused("The model `m` does not exist", 404); });
  const ModelAnswer answer = family.ask();
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->error, "refused");
  EXPECT_FALSE(answer.failure->retryable);
  EXPECT_EQ(family.server.requests().size(), 1U);
}

TEST(ModelFamilies, a_format_that_is_set_is_kept) {
  Family family([](const Request& request) { return says(format_in(request)); });
  family.endpoint.format = ReplyFormat::text;
  EXPECT_EQ(family.ask(question(Json())).reply.value, "none");
  family.ask();
  EXPECT_EQ(format_in(family.server.requests().at(1)), "none");
}

TEST(ModelFamilies, a_schema_that_is_taken_and_ignored_makes_a_bad_reply) {
  Family family([](const Request&) { return says(R"({"label": "perhaps", "sure": false})"); });
  const ModelAnswer answer = family.ask();
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->error, "bad_reply");
  EXPECT_TRUE(answer.failure->retryable);
  EXPECT_EQ(answer.reply.tokens_out, 40) << "it cost what it cost";
}

TEST(ModelFamilies, thoughts_and_prose_around_the_reply_do_not_count) {
  for (const char* text : {"<think>\nIt could be {\"label\": \"no\"}.\n</think>\n\n{\"label\": \"yes\"}",
                           "Sure! Here is my verdict:\n```json\n{\"label\": \"yes\"}\n```\nLet me know.",
                           "The verdict is {\"label\": \"yes\"}."}) {
    Family family([text](const Request&) { return says(text); });
    EXPECT_EQ(family.ask().reply.value, verdict) << text;
  }
}

TEST(ModelFamilies, text_beside_tool_calls_is_kept_and_owes_no_value) {
  Family family([](const Request&) {
    return chat(
        {{"role", "assistant"},
         {"content", "I look it up."},
         {"tool_calls", {{{"id", "c1"}, {"type", "function"}, {"function", {{"name", "find"}, {"arguments", "{}"}}}}}}},
        "tool_calls");
  });
  const ModelAnswer answer = family.ask(question(Json()));
  EXPECT_FALSE(answer.failure);
  EXPECT_EQ(answer.reply.value, "I look it up.");
  EXPECT_EQ(answer.reply.message["tool_calls"][0]["id"], "c1");
}

TEST(ModelFamilies, a_rate_limit_is_waited_for_within_the_requests_time) {
  std::atomic<int> asked = 0;
  Family family([&asked](const Request&) {
    if (++asked == 1) return Served{.status = 429, .body = "slow down", .retry_after = "1"};
    return says(verdict.dump());
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(family.ask().reply.value, verdict);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  EXPECT_EQ(asked, 2);
}

TEST(ModelFamilies, a_rate_limit_beyond_it_is_a_failure_that_says_how_long) {
  Family family([](const Request&) { return Served{.status = 429, .body = "tomorrow", .retry_after = "600"}; });
  ModelRequest request = question();
  request.timeout_ms = 2'000;
  const ModelAnswer answer = family.ask(request);
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->pause_ms, 600'000);
  EXPECT_TRUE(answer.failure->retryable);
  EXPECT_EQ(family.server.requests().size(), 1U);
}

TEST(ModelFamilies, the_time_is_the_nodes_and_else_the_endpoints) {
  Family family([](const Request&) { return Served{.body = "", .never = true}; });
  ModelRequest request = question();
  request.timeout_ms = 300;
  const auto began = std::chrono::steady_clock::now();
  const ModelAnswer answer = family.ask(request);
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->error, "unreachable");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(8)) << "not the endpoint's ten";
}

TEST(ModelFamilies, a_cut_connection_is_another_try) {
  Family family([](const Request&) { return Served{.body = says(verdict.dump()).body, .cut = true}; });
  const ModelAnswer answer = family.ask();
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->error, "unreachable");
  EXPECT_TRUE(answer.failure->retryable);
}

TEST(ModelFamilies, a_conversation_that_is_too_long_is_refused_before_it_is_sent) {
  Family family([](const Request&) { return says("never"); });
  ModelRequest request = question(Json());
  request.messages.push_back({{"role", "user"}, {"content", std::string(json_bytes_max, 'x')}});
  const ModelAnswer answer = family.ask(request);
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->error, "limit");
  EXPECT_FALSE(answer.failure->retryable);
  EXPECT_TRUE(family.server.requests().empty());
}

// --- the API of responses
// ---------------------------------------------------------------------------------------------

Served response(const Json& output, const Json& more = Json::object()) {
  Json body = {{"id", "resp_1"}, {"model", "served"}, {"status", "completed"}, {"output", output}};
  body["usage"] = {{"input_tokens", 90},
                   {"input_tokens_details", {{"cached_tokens", 64}}},
                   {"output_tokens", 40},
                   {"output_tokens_details", {{"reasoning_tokens", 30}}}};
  body.update(more);
  return {.body = body.dump()};
}
Json message_item(const std::string& text) {
  return {{"type", "message"},
          {"role", "assistant"},
          {"content", {{{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}}}}};
}

TEST(ModelFamilies, responses_are_asked_and_read_in_their_own_form) {
  Family family([](const Request&) {
    return response({{{"type", "reasoning"}, {"summary", Json::array()}}, message_item(verdict.dump())});
  });
  family.endpoint.api = ModelApi::responses;
  const ModelAnswer answer = family.ask();
  EXPECT_EQ(answer.reply.value, verdict);
  EXPECT_EQ(answer.reply.tokens_in, 90);
  EXPECT_EQ(answer.reply.tokens_cached, 64);
  EXPECT_EQ(answer.reply.tokens_reasoning, 30);
  EXPECT_EQ(family.server.requests().at(0).target(), "/v1/responses");
  const Json body = family.body(0);
  EXPECT_EQ(body["input"][1], (Json{{"role", "user"}, {"content", "Is it so?"}}));
  EXPECT_EQ(body["text"]["format"]["type"], "json_schema");
  EXPECT_EQ(body["text"]["format"]["schema"], verdict_schema);
  EXPECT_EQ(body["store"], false);
}

TEST(ModelFamilies, tool_calls_go_both_ways_through_responses) {
  Family family([](const Request&) {
    return response({message_item("I look it up."),
                     {{"type", "function_call"}, {"call_id", "c2"}, {"name", "find"}, {"arguments", "{\"q\":1}"}}});
  });
  family.endpoint.api = ModelApi::responses;
  ModelRequest request = question(Json());
  request.tools = {{{"type", "function"}, {"function", {{"name", "find"}, {"parameters", {{"type", "object"}}}}}}};
  request.messages.push_back(
      {{"role", "assistant"},
       {"content", nullptr},
       {"tool_calls", {{{"id", "c1"}, {"type", "function"}, {"function", {{"name", "find"}, {"arguments", "{}"}}}}}}});
  request.messages.push_back({{"role", "tool"}, {"tool_call_id", "c1"}, {"content", "nothing"}});
  const ModelAnswer answer = family.ask(request);
  ASSERT_FALSE(answer.failure);
  EXPECT_EQ(answer.reply.message["content"], "I look it up.");
  EXPECT_EQ(answer.reply.message["tool_calls"][0]["id"], "c2");
  EXPECT_EQ(answer.reply.message["tool_calls"][0]["function"]["arguments"], "{\"q\":1}");
  EXPECT_EQ(answer.reply.finish_reason, "tool_calls");
  const Json body = family.body(0);
  EXPECT_EQ(body["tools"][0],
            (Json{{"type", "function"}, {"name", "find"}, {"parameters", {{"type", "object"}}}, {"strict", false}}));
  EXPECT_EQ(body["input"][2],
            (Json{{"type", "function_call"}, {"call_id", "c1"}, {"name", "find"}, {"arguments", "{}"}}));
  EXPECT_EQ(body["input"][3], (Json{{"type", "function_call_output"}, {"call_id", "c1"}, {"output", "nothing"}}));
}

TEST(ModelFamilies, a_response_that_was_cut_or_refused_is_none) {
  Family cut([](const Request&) {
    return response(Json::array(),
                    {{"status", "incomplete"}, {"incomplete_details", {{"reason", "max_output_tokens"}}}});
  });
  cut.endpoint.api = ModelApi::responses;
  EXPECT_EQ(cut.ask().failure.value_or(Failure{}).error, "bad_reply");
  Family no([](const Request&) {
    Json item = message_item("");
    item["content"] = Json::array({{{"type", "refusal"}, {"refusal", "I must not."}}});
    return response(Json::array({item}));
  });
  no.endpoint.api = ModelApi::responses;
  EXPECT_EQ(no.ask().failure.value_or(Failure{}).error, "refused");
}

}  // namespace
}  // namespace cairn
