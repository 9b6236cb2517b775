#include "workers/models/models.hpp"

#include <gtest/gtest.h>

#include "storage/chain.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/catalogue.hpp"
#include "workers/handlers/model_call.hpp"
#include "workers/models/http_model.hpp"

namespace cairn {
namespace {

using testing::LoopbackServer;
using Reply = LoopbackServer::Reply;

constexpr const char* api_key = "sk-very-secret";

const Json owner_schema = Json::parse(
    R"({"type": "object", "properties": {"owner": {"type": "string"}}, "required": ["owner"],
        "additionalProperties": false})");

ModelRequest request_of(Json schema = nullptr) {
  ModelRequest request;
  request.messages = Json::parse(R"([{"role": "user", "content": "Who owns it?"}])");
  request.schema = std::move(schema);
  request.schema_name = "owner";
  request.key = "run/1";
  request.node = "decide";
  return request;
}

Json completion(const Json& message, const std::string& finish_reason = "stop") {
  return {{"model", "served-model"},
          {"choices", {{{"index", 0}, {"message", message}, {"finish_reason", finish_reason}}}},
          {"usage", {{"prompt_tokens", 1'000}, {"completion_tokens", 500}}}};
}

Json says_text(const std::string& content) { return {{"role", "assistant"}, {"content", content}}; }

ModelEndpoint endpoint_at(const std::string& url) {
  ModelEndpoint endpoint;
  endpoint.url = url;
  endpoint.model = "default-model";
  endpoint.api_key = api_key;
  endpoint.timeout_ms = 20'000;
  endpoint.cost_in = 2;
  endpoint.cost_out = 8;
  return endpoint;
}

ModelAnswer ask(const Reply& reply, const ModelRequest& request) {
  const LoopbackServer server([reply](const LoopbackServer::Request&) { return reply; });
  const auto model = make_http_model(endpoint_at(server.url("/v1")));
  return testing::run(model->ask(request));
}

ModelAnswer ask(const Json& body, const ModelRequest& request) { return ask(Reply{200, body.dump(), false}, request); }

ModelReply reply_of(const ModelAnswer& answer) {
  if (!answer.failure) return answer.reply;
  ADD_FAILURE() << answer.failure->error << ": " << answer.failure->message;
  return {};
}

Failure failure_of(const ModelAnswer& answer) {
  if (answer.failure) return *answer.failure;
  ADD_FAILURE() << "it replied " << answer.reply.message;
  return {};
}

TEST(HttpModel, sends_a_chat_completion) {
  const LoopbackServer server([](const LoopbackServer::Request&) {
    return Reply{200, completion(says_text("{\"owner\": \"ann\"}")).dump(), false};
  });
  const auto model = make_http_model(endpoint_at(server.url("/v1")));
  ModelRequest request = request_of(owner_schema);
  request.tools = Json::parse(R"([{"type": "function", "function": {"name": "f"}}])");
  const ModelReply reply = reply_of(testing::run(model->ask(request)));
  EXPECT_EQ(reply.value, (Json{{"owner", "ann"}}));

  const auto seen = server.requests().at(0);
  EXPECT_EQ(seen.target(), "/v1/chat/completions");
  EXPECT_EQ(seen["authorization"], std::string("Bearer ") + api_key);
  EXPECT_EQ(seen["content-type"], "application/json");
  const Json format = {{"type", "json_schema"},
                       {"json_schema", {{"name", "owner"}, {"schema", owner_schema}, {"strict", true}}}};
  const Json expected = {{"model", "default-model"}, {"messages", request.messages},
                         {"tools", request.tools},   {"response_format", format},
                         {"stream", true},           {"stream_options", {{"include_usage", true}}}};
  EXPECT_EQ(Json::parse(seen.body()), expected);
}

TEST(HttpModel, an_open_schema_is_not_strict_and_options_are_sent) {
  const LoopbackServer server([](const LoopbackServer::Request&) {
    return Reply{200, completion(says_text("{\"more\": 1}")).dump(), false};
  });
  const auto model = make_http_model(endpoint_at(server.url("/v1")));
  ModelRequest request = request_of(Json{{"type", "object"}});
  request.options = {{"reasoning_effort", "high"}, {"model", "not this one"}};
  EXPECT_EQ(reply_of(testing::run(model->ask(request))).value, (Json{{"more", 1}}));
  const Json body = Json::parse(server.requests().at(0).body());
  EXPECT_EQ(body["response_format"]["json_schema"]["strict"], false);
  EXPECT_EQ(body["reasoning_effort"], "high");
  EXPECT_EQ(body["model"], "default-model");
}

// Endpoints refuse a strict schema with a property that may be left out.
TEST(HttpModel, a_schema_with_a_member_that_may_be_missing_is_not_strict) {
  const LoopbackServer server([](const LoopbackServer::Request&) {
    return Reply{200, completion(says_text("{\"inner\": {}}")).dump(), false};
  });
  const auto model = make_http_model(endpoint_at(server.url("/v1")));
  const Json inner = object_schema({{"more", {{"type", "string"}}}});
  Json loose = inner;
  loose["required"] = Json::array();
  for (const Json& one : {inner, loose}) testing::run(model->ask(request_of(object_schema({{"inner", one}}))));
  EXPECT_EQ(Json::parse(server.requests().at(0).body())["response_format"]["json_schema"]["strict"], true);
  EXPECT_EQ(Json::parse(server.requests().at(1).body())["response_format"]["json_schema"]["strict"], false);
}

TEST(HttpModel, without_schema_tools_and_key_none_is_sent) {
  const LoopbackServer server([](const LoopbackServer::Request&) {
    return Reply{200, completion(says_text("Ann.")).dump(), false};
  });
  ModelEndpoint endpoint = endpoint_at(server.url("/v1/"));
  endpoint.api_key.clear();
  endpoint.streams = false;
  ModelRequest request = request_of();
  request.model = "special";
  const auto model = make_http_model(endpoint);
  const ModelReply reply = reply_of(testing::run(model->ask(request)));
  EXPECT_EQ(reply.value, "Ann.");
  const auto seen = server.requests().at(0);
  EXPECT_EQ(seen.target(), "/v1/chat/completions");
  EXPECT_EQ(seen.count("authorization"), 0u);
  EXPECT_EQ(Json::parse(seen.body()), (Json{{"model", "special"}, {"messages", request.messages}}));
}

TEST(HttpModel, reports_what_was_used) {
  const ModelReply reply = reply_of(ask(completion(says_text("Ann.")), request_of()));
  EXPECT_EQ(reply.model, "served-model");
  EXPECT_EQ(reply.tokens_in, 1'000);
  EXPECT_EQ(reply.tokens_out, 500);
  EXPECT_DOUBLE_EQ(reply.cost, 0.006);
  EXPECT_EQ(reply.message, says_text("Ann."));
}

TEST(HttpModel, a_fenced_reply_is_unwrapped) {
  for (const char* content :
       {"```json\n{\"owner\": \"ann\"}\n```", "```\n{\"owner\": \"ann\"}```\n", "  {\"owner\": \"ann\"}\n"}) {
    EXPECT_EQ(reply_of(ask(completion(says_text(content)), request_of(owner_schema))).value, (Json{{"owner", "ann"}}));
  }
}

TEST(HttpModel, content_in_parts_is_joined) {
  const Json message = {{"role", "assistant"},
                        {"content", {{{"type", "text"}, {"text", "An"}}, {{"type", "text"}, {"text", "n."}}}}};
  EXPECT_EQ(reply_of(ask(completion(message), request_of())).value, "Ann.");
}

TEST(HttpModel, a_reply_that_is_no_json_or_misses_its_schema_is_bad) {
  for (const char* content :
       {"Ann owns it.", "", "{\"owner\": 5}", "{\"boss\": \"ann\"}", "```json\n```", "{\"owner\""}) {
    const Failure failure = failure_of(ask(completion(says_text(content)), request_of(owner_schema)));
    EXPECT_EQ(failure.error, "bad_reply") << content;
    EXPECT_TRUE(failure.retryable);
  }
  const Failure failure = failure_of(ask(completion(says_text("{\"owner\": 5}")), request_of(owner_schema)));
  EXPECT_NE(failure.message.find("/owner"), std::string::npos) << failure.message;
}

TEST(HttpModel, tool_calls_need_no_content) {
  const Json message = Json::parse(R"({"role": "assistant", "content": null,
      "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]})");
  const ModelReply reply = reply_of(ask(completion(message, "tool_calls"), request_of(owner_schema)));
  EXPECT_EQ(reply.message, message);
  EXPECT_TRUE(reply.value.is_null());
}

TEST(HttpModel, a_cut_or_refused_reply_is_a_failure) {
  EXPECT_EQ(failure_of(ask(completion(says_text("Ann"), "length"), request_of())).error, "bad_reply");
  EXPECT_EQ(failure_of(ask(completion(says_text(""), "content_filter"), request_of())).error, "refused");
  Json message = says_text("");
  message["refusal"] = "I will not.";
  const Failure failure = failure_of(ask(completion(message), request_of()));
  EXPECT_EQ(failure.error, "refused");
  EXPECT_FALSE(failure.retryable);
  EXPECT_NE(failure.message.find("I will not."), std::string::npos);
}

TEST(HttpModel, a_bad_status_is_refused_and_says_whether_to_try_again) {
  struct Row {
    unsigned status;
    bool retryable;
  };
  for (const Row& row :
       {Row{400, false}, Row{401, false}, Row{404, false}, Row{429, true}, Row{500, true}, Row{503, true}}) {
    const Failure failure = failure_of(ask(Reply{row.status, "no luck", false}, request_of()));
    EXPECT_EQ(failure.error, "refused");
    EXPECT_EQ(failure.retryable, row.retryable) << row.status;
    EXPECT_NE(failure.message.find("no luck"), std::string::npos);
  }
}

TEST(HttpModel, F29_the_pause_that_the_endpoint_asks_for_comes_along) {
  Reply reply{429, "slower", false};
  reply.retry_after = "2";
  EXPECT_EQ(failure_of(ask(reply, request_of())).pause_ms, 2'000);
}

TEST(HttpModel, the_key_never_reaches_a_message) {
  const std::string body = std::string("Incorrect API key provided: ") + api_key;
  const Failure failure = failure_of(ask(Reply{401, body, false}, request_of()));
  EXPECT_EQ(failure.message.find(api_key), std::string::npos) << failure.message;
}

// The limits of what a sentence shows cut it in half, wherever it stands.
TEST(HttpModel, no_piece_of_the_key_reaches_a_message_or_a_record) {
  const std::string key = "sk-Jq7vR2mXw9Tb4LcZ8nYd5GfHs3KpQa6UeWt1BrVxNo0iMlPjDuCkEyAzS";
  ASSERT_EQ(key.size(), 60U);
  const std::string before(280, 'x');
  const auto event = [](const Json& delta, const Json& finish = nullptr) {
    const Json chunk = {{"choices", {{{"index", 0}, {"delta", delta}, {"finish_reason", finish}}}}};
    return "data: " + chunk.dump() + "\n\n";
  };
  const auto streamed = [](const std::string& events) {
    return Reply{.body = events, .headers = {{"Content-Type", "text/event-stream"}}};
  };
  Json no = says_text("");
  no["refusal"] = before + key;
  const Reply replies[] = {
      {401, before + key, false},
      {401, before + " " + Json(key).dump() + key, false},
      {200, Json{{"error", before + key}}.dump(), false},
      {200, completion(says_text(before + key)).dump(), false},
      {200, completion(no).dump(), false},
      streamed("data: " + Json{{"error", {{"reason", before + key}}}}.dump() + "\n\n"),
      streamed(event({{"content", before + key.substr(0, 30)}}) + event({{"content", key.substr(30)}}, "stop"))};
  for (const Reply& reply : replies) {
    const LoopbackServer server([&reply](const LoopbackServer::Request&) { return reply; });
    ModelEndpoint endpoint = endpoint_at(server.url("/v1"));
    endpoint.api_key = key;
    const ModelRequest request = request_of(owner_schema);
    const ModelAnswer answer = testing::run(make_http_model(endpoint)->ask(request));
    const std::string said = failure_of(answer).message + "\n" + model_called(request, answer).fields;
    for (std::size_t at = 0; at + 8 <= key.size(); ++at)
      EXPECT_EQ(said.find(key.substr(at, 8)), std::string::npos) << key.substr(at, 8) << " in " << said;
  }
}

// A word like "none" is a key of endpoints that want some, and stands in many a reply.
TEST(HttpModel, a_key_too_short_to_be_one_changes_no_reply) {
  const LoopbackServer server([](const LoopbackServer::Request&) {
    return Reply{200, completion(says_text("There is none.")).dump(), false};
  });
  ModelEndpoint endpoint = endpoint_at(server.url("/v1"));
  endpoint.api_key = "none";
  EXPECT_EQ(reply_of(testing::run(make_http_model(endpoint)->ask(request_of()))).value, "There is none.");
}

TEST(HttpModel, a_short_key_reaches_no_refusal_and_no_record_of_a_reply) {
  const Reply replies[] = {{401, "Incorrect API key provided: a1b2c3", false},
                           {200, Json{{"error", "Wrong key a1b2c3"}}.dump(), false},
                           {200, completion(says_text("Your key is:\na1b2c3")).dump(), false}};
  for (const Reply& reply : replies) {
    const LoopbackServer server([&reply](const LoopbackServer::Request&) { return reply; });
    ModelEndpoint endpoint = endpoint_at(server.url("/v1"));
    endpoint.api_key = "a1b2c3";
    const ModelRequest request = request_of(owner_schema);
    const ModelAnswer answer = testing::run(make_http_model(endpoint)->ask(request));
    const std::string said = failure_of(answer).message + "\n" + model_called(request, answer).fields;
    EXPECT_EQ(said.find("a1b2c3"), std::string::npos) << said;
    EXPECT_NE(said.find("***"), std::string::npos) << said;
  }
}

TEST(HttpModel, an_answer_that_is_no_completion_is_bad) {
  for (const char* body : {"", "garbage", "[]", "{}", R"({"choices": []})", R"({"choices": [{}]})",
                           R"({"choices": [{"message": "hi"}]})", R"({"choices": {"message": 1}})"}) {
    EXPECT_EQ(failure_of(ask(Reply{200, body, false}, request_of())).error, "bad_reply") << body;
  }
}

TEST(HttpModel, an_endpoint_that_is_away_or_slow_is_unreachable) {
  const auto away = make_http_model(endpoint_at("http://127.0.0.1:" + std::to_string(testing::closed_port()) + "/v1"));
  const Failure failure = failure_of(testing::run(away->ask(request_of())));
  EXPECT_EQ(failure.error, "unreachable");
  EXPECT_TRUE(failure.retryable);

  const LoopbackServer server([](const LoopbackServer::Request&) { return Reply{200, "", true}; });
  ModelEndpoint endpoint = endpoint_at(server.url("/v1"));
  endpoint.timeout_ms = 50;
  const auto slow = make_http_model(endpoint);
  const Failure timeout = failure_of(testing::run(slow->ask(request_of())));
  EXPECT_EQ(timeout.error, "unreachable");
  EXPECT_TRUE(timeout.retryable);
}

TEST(HttpModel, a_cost_that_is_no_number_is_refused_at_start) {
  CatalogueOptions options;
  options.models.url = "http://127.0.0.1:1/v1";
  options.models.cost_out = "0.6";
  EXPECT_TRUE(make_catalogue(options));
  for (const char* cost : {"cheap", "-1", "0.6 USD", "inf"}) {
    options.models.cost_in = cost;
    const Result<std::unique_ptr<Catalogue>> refused = make_catalogue(options);
    ASSERT_FALSE(refused) << cost;
    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_EQ(refused.error().message, std::string("Expected CAIRN_MODEL_COST_IN to be a number of at least 0, but it "
                                                   "is \"") +
                                           cost + "\".");
  }
}

// --- records --------------------------------------------------------------------------------------------------------

TEST(ModelCalled, tells_request_reply_and_use) {
  const ModelRequest request = request_of(owner_schema);
  const ModelAnswer answer = ask(completion(says_text("{\"owner\": \"ann\"}")), request);
  const Record record = model_called(request, answer);
  EXPECT_EQ(record.kind, RecordKind::model_called);
  Json fields = Json::parse(record.fields);
  EXPECT_GE(fields["latency_ms"], 0);
  fields.erase("latency_ms");
  const Json expected = {{"model", "served-model"},
                         {"node", "decide"},
                         {"request", {{"messages", request.messages}, {"schema", owner_schema}}},
                         {"reply", says_text("{\"owner\": \"ann\"}")},
                         {"tokens_in", 1'000},
                         {"tokens_out", 500},
                         {"cost", 0.006},
                         {"finish_reason", "stop"},
                         {"ok", true}};
  EXPECT_EQ(fields, expected);
}

TEST(ModelCalled, tells_a_failed_call_too) {
  const ModelRequest request = request_of();
  const Failure failure{"refused", "It said no.", false, {}};
  const Json fields = Json::parse(model_called(request, failure).fields);
  const Json expected = {{"node", "decide"},   {"request", {{"messages", request.messages}}},
                         {"latency_ms", 0},    {"ok", false},
                         {"error", "refused"}, {"message", "It said no."}};
  EXPECT_EQ(fields, expected);
}

TEST(ModelCalled, tells_which_model_was_asked) {
  ModelRequest request = request_of();
  request.model = "small-model";
  const Json fields = Json::parse(model_called(request, Failure{"refused", "It said no.", false, {}}).fields);
  EXPECT_EQ(fields["request"]["model"], "small-model");
}

TEST(ModelCalled, a_reply_that_misses_its_schema_is_on_record_with_its_cost) {
  const ModelRequest request = request_of(owner_schema);
  const ModelAnswer answer = ask(completion(says_text("{\"owner\": 5}")), request);
  EXPECT_EQ(failure_of(answer).error, "bad_reply");
  const Json fields = Json::parse(model_called(request, answer).fields);
  EXPECT_EQ(fields["ok"], false);
  EXPECT_EQ(fields["error"], "bad_reply");
  EXPECT_EQ(fields["reply"], says_text("{\"owner\": 5}"));
  EXPECT_EQ(fields["tokens_out"], 500);
  EXPECT_EQ(fields["cost"], 0.006);
}

TEST(ToolCalled, tells_tool_and_time) {
  ToolCall call;
  call.tool = "owners";
  const Record record = tool_called(call, false, 12);
  EXPECT_EQ(record.kind, RecordKind::tool_called);
  EXPECT_EQ(Json::parse(record.fields), (Json{{"tool", "owners"},
                                              {"ok", false},
                                              {"latency_ms", 12},
                                              {"inputs_hash", hex(sha256(canonical(call.inputs)))}}));
}

// --- scripted and rules ---------------------------------------------------------------------------------------------

ModelRequest from_node(const std::string& node, Json schema = nullptr) {
  ModelRequest request = request_of(std::move(schema));
  request.node = node;
  return request;
}

TEST(ScriptedModel, uses_each_reply_once_the_first_whose_node_fits) {
  const auto model = make_scripted_model(Json::parse(R"({"replies": [
      {"node": "b", "value": "for b"}, {"value": "for anyone"}, {"node": "a", "value": "for a"}]})"));
  const auto value = [&](const std::string& node) { return reply_of(testing::run(model->ask(from_node(node)))).value; };
  EXPECT_EQ(value("a"), "for anyone");
  EXPECT_EQ(value("a"), "for a");
  EXPECT_EQ(value("b"), "for b");
  const Failure failure = failure_of(testing::run(model->ask(from_node("b"))));
  EXPECT_EQ(failure.error, "script_ended");
  EXPECT_FALSE(failure.retryable);
}

TEST(ScriptedModel, replies_are_checked_like_real_ones) {
  const auto model = make_scripted_model(Json::parse(R"({"replies": [
      {"value": {"owner": 5}}, {"reply": {"role": "assistant", "content": "{\"owner\": \"ann\"}"}},
      {"reply": {"role": "assistant", "content": "Ann"}}, {"value": {"owner": "bob"}}]})"));
  const auto next = [&] { return testing::run(model->ask(from_node("x", owner_schema))); };
  EXPECT_EQ(failure_of(next()).error, "bad_reply");
  EXPECT_EQ(reply_of(next()).value, (Json{{"owner", "ann"}}));
  EXPECT_EQ(failure_of(next()).error, "bad_reply");
  const ModelReply last = reply_of(next());
  EXPECT_EQ(last.value, (Json{{"owner", "bob"}}));
  EXPECT_EQ(last.message, says_text("{\"owner\":\"bob\"}"));
}

TEST(ScriptedModel, can_fail_as_asked) {
  const auto model = make_scripted_model(Json::parse(
      R"({"replies": [{"error": {"error": "unreachable", "message": "away", "retryable": false}}, {"error": {}}]})"));
  const Failure first = failure_of(testing::run(model->ask(from_node("x"))));
  EXPECT_EQ(first.error, "unreachable");
  EXPECT_EQ(first.message, "away");
  EXPECT_FALSE(first.retryable);
  EXPECT_TRUE(failure_of(testing::run(model->ask(from_node("x")))).retryable);
}

TEST(ScriptedModel, a_faulty_script_is_named) {
  for (const char* text : {"[]", "{}", R"({"replies": {}})", R"({"replies": [5]})", R"({"replies": [{}]})",
                           R"({"replies": [{"value": 1, "reply": {}}]})", R"({"replies": [{"node": 1, "value": 1}]})",
                           R"({"replies": [{"reply": "hi"}]})", R"({"replies": [{"error": "hi"}]})",
                           R"({"replies": [{"error": {"retryable": "no"}}]})", R"({"replies": [{"valve": 1}]})"}) {
    const Json script = Json::parse(text);
    const Status checked = check_script(script);
    ASSERT_FALSE(checked.ok()) << text;
    const auto model = make_scripted_model(script);
    EXPECT_EQ(failure_of(testing::run(model->ask(from_node("x")))).message, checked.error().message);
  }
}

TEST(RuleModel, answers_by_a_function_under_its_name) {
  const auto model = make_rule_model("rules", [](const ModelRequest& request) -> ModelAnswer {
    ModelReply reply;
    reply.value = {{"owner", request.node}};
    return reply;
  });
  const ModelReply reply = reply_of(testing::run(model->ask(from_node("ann", owner_schema))));
  EXPECT_EQ(reply.model, "rules");
  EXPECT_EQ(reply.value, (Json{{"owner", "ann"}}));
  EXPECT_EQ(reply.message, says_text("{\"owner\":\"ann\"}"));
}

TEST(RuleModel, misses_of_the_schema_are_failures) {
  const auto model = make_rule_model("rules", [](const ModelRequest&) -> ModelAnswer {
    ModelReply reply;
    reply.value = 5;
    return reply;
  });
  EXPECT_EQ(failure_of(testing::run(model->ask(from_node("ann", owner_schema)))).error, "bad_reply");
}

}  // namespace
}  // namespace cairn
