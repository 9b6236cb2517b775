// Each family of endpoints in both forms of the API, chat completions and responses: what an endpoint refuses, ignores,
// adds or breaks off is met alike, whether it is asked in the one form or the other.
#include <gtest/gtest.h>

#include "tests/workers/ports/loopback.hpp"
#include "workers/handlers/model_call.hpp"
#include "workers/models/http_model.hpp"

namespace cairn {
namespace {

using testing::LoopbackServer;
using HttpRequested = LoopbackServer::Request;
using HttpServed = LoopbackServer::Reply;

const ModelApi apis[] = {ModelApi::chat_completions, ModelApi::responses};

std::string name_of(ModelApi api) { return api == ModelApi::responses ? "responses" : "chat completions"; }

ModelRequest asks_for_label() {
  ModelRequest request;
  request.messages = {{{"role", "user"}, {"content", "Is it so?"}}};
  request.schema = object_schema({{"label", {{"type", "string"}, {"enum", {"yes", "no"}}}}});
  request.schema_name = "verdict";
  request.key = "run/1";
  return request;
}
const Json label_yes = {{"label", "yes"}};

// The whole answer with the text, and a call of a tool if it has a name.
Json whole_answer(ModelApi api, const std::string& text, const std::string& tool = "") {
  if (api == ModelApi::chat_completions) {
    Json message = {{"role", "assistant"}, {"content", text}};
    if (!tool.empty())
      message["tool_calls"].push_back(
          {{"id", "c1"}, {"type", "function"}, {"function", {{"name", tool}, {"arguments", "{}"}}}});
    Json body = {{"id", "a1"}, {"model", "served"}, {"usage", {{"prompt_tokens", 9}, {"completion_tokens", 4}}}};
    body["choices"].push_back({{"message", message}, {"finish_reason", tool.empty() ? "stop" : "tool_calls"}});
    return body;
  }
  Json message = {{"type", "message"}, {"role", "assistant"}};
  message["content"].push_back({{"type", "output_text"}, {"text", text}});
  Json body = {{"id", "a1"}, {"model", "served"}, {"usage", {{"input_tokens", 9}, {"output_tokens", 4}}}};
  body["output"].push_back(message);
  if (!tool.empty())
    body["output"].push_back({{"type", "function_call"}, {"call_id", "c1"}, {"name", tool}, {"arguments", "{}"}});
  return body;
}

HttpServed answers(ModelApi api, const std::string& text, const std::string& tool = "") {
  return {.body = whole_answer(api, text, tool).dump()};
}

HttpServed refuses(const std::string& message) {
  return {.status = 400, .body = Json{{"error", {{"message", message}, {"type", "invalid_request_error"}}}}.dump()};
}

std::string event_of(const Json& data) { return "data: " + data.dump() + "\n\n"; }

std::string piece_of(ModelApi api, const std::string& text) {
  if (api == ModelApi::responses) return event_of({{"type", "response.output_text.delta"}, {"delta", text}});
  Json chunk = Json::object();
  chunk["choices"].push_back({{"index", 0}, {"delta", {{"content", text}}}, {"finish_reason", nullptr}});
  return event_of(chunk);
}

std::string end_of(ModelApi api, const std::string& text) {
  if (api == ModelApi::responses)
    return event_of({{"type", "response.completed"}, {"response", whole_answer(api, text)}});
  Json chunk = {{"usage", {{"prompt_tokens", 9}, {"completion_tokens", 4}}}};
  chunk["choices"].push_back({{"index", 0}, {"delta", Json::object()}, {"finish_reason", "stop"}});
  return event_of(chunk) + "data: [DONE]\n\n";
}

HttpServed streams(std::vector<std::string> pieces) {
  HttpServed served;
  served.headers = {{"content-type", "text/event-stream"}};
  served.pieces = std::move(pieces);
  return served;
}

// "json_schema", "json_object", or "none".
std::string asked_format(ModelApi api, const HttpRequested& request) {
  const char* place = api == ModelApi::responses ? "/text/format/type" : "/response_format/type";
  return Json::parse(request.body()).value(Json::json_pointer(place), "none");
}

bool asks_for_stream(const HttpRequested& request) { return Json::parse(request.body()).value("stream", false); }

struct AskedInForm {
  AskedInForm(ModelApi api, LoopbackServer::Answers replies) : server(std::move(replies)) {
    ModelEndpoint endpoint;
    endpoint.url = server.url("/v1");
    endpoint.model = "m";
    endpoint.api = api;
    endpoint.timeout_ms = 10'000;
    model = make_http_model(std::move(endpoint));
  }
  ModelAnswer ask(const ModelRequest& request = asks_for_label()) { return testing::run(model->ask(request)); }

  LoopbackServer server;
  std::unique_ptr<Model> model;
};

void expect_yes(const ModelAnswer& answer) {
  EXPECT_FALSE(answer.failure) << answer.failure->message;
  EXPECT_EQ(answer.reply.value, label_yes);
  EXPECT_EQ(answer.reply.tokens_out, 4);
}

void expect_failure(const ModelAnswer& answer, const std::string& error) {
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->error, error) << answer.failure->message;
  EXPECT_TRUE(answer.failure->retryable);
}

TEST(BothApis, a_strict_schema_is_sent_and_taken) {
  for (const ModelApi api : apis) {
    SCOPED_TRACE(name_of(api));
    AskedInForm family(api, [api](const auto&) { return answers(api, label_yes.dump()); });
    expect_yes(family.ask());
    EXPECT_EQ(asked_format(api, family.server.requests().at(0)), "json_schema");
  }
}

TEST(BothApis, json_objects_alone_are_asked_for_after_one_refusal_and_that_is_remembered) {
  for (const ModelApi api : apis) {
    SCOPED_TRACE(name_of(api));
    const std::string name = api == ModelApi::responses ? "text.format" : "response_format";
    AskedInForm family(api, [api, name](const HttpRequested& request) {
      if (asked_format(api, request) == "json_schema") return refuses("This " + name + " type is unavailable now");
      return answers(api, label_yes.dump());
    });
    for (int i = 0; i < 2; ++i) expect_yes(family.ask());
    const auto seen = family.server.requests();
    ASSERT_EQ(seen.size(), 3U);
    EXPECT_EQ(asked_format(api, seen[2]), "json_object");
    EXPECT_NE(seen[1].body().find("fits this JSON Schema"), std::string::npos);
  }
}

TEST(BothApis, an_endpoint_that_knows_no_format_gets_the_schema_in_words) {
  const std::pair<ModelApi, std::string> refusals[] = {
      {ModelApi::chat_completions, "Unrecognized request argument supplied: response_format"},
      {ModelApi::responses, "Unrecognized request argument supplied: text"},
      {ModelApi::responses, "Unknown parameter: 'text'."},
      {ModelApi::responses, "\"text\" is not supported"}};
  for (const auto& [api, says] : refusals) {
    SCOPED_TRACE(says);
    AskedInForm family(api, [api = api, says = says](const HttpRequested& request) {
      return asked_format(api, request) == "none" ? answers(api, label_yes.dump()) : refuses(says);
    });
    expect_yes(family.ask());
    EXPECT_EQ(family.server.requests().size(), 3U);
    expect_yes(family.ask());
    EXPECT_EQ(family.server.requests().size(), 4U);
  }
}

TEST(BothApis, a_refusal_of_something_else_changes_no_format) {
  for (const ModelApi api : apis) {
    SCOPED_TRACE(name_of(api));
    AskedInForm family(api, [](const auto&) { return refuses("The text is too long for this model"); });
    ASSERT_TRUE(family.ask().failure);
    EXPECT_EQ(family.server.requests().size(), 1U);
  }
}

TEST(BothApis, a_schema_that_is_taken_and_ignored_makes_a_bad_reply_with_its_cost) {
  for (const ModelApi api : apis) {
    SCOPED_TRACE(name_of(api));
    AskedInForm family(api, [api](const auto&) { return answers(api, R"({"label": "perhaps"})"); });
    const ModelAnswer answer = family.ask();
    expect_failure(answer, "bad_reply");
    EXPECT_EQ(answer.reply.tokens_out, 4);
  }
}

TEST(BothApis, thoughts_and_prose_around_the_reply_do_not_count) {
  for (const ModelApi api : apis)
    for (const char* text : {"<think>\nIt could be {\"label\": \"no\"}.\n</think>\n\n{\"label\": \"yes\"}",
                             "Sure! Here it is:\n```json\n{\"label\": \"yes\"}\n```\nLet me know.",
                             "The verdict is {\"label\": \"yes\"}."}) {
      SCOPED_TRACE(name_of(api) + ": " + text);
      AskedInForm family(api, [api, text](const auto&) { return answers(api, text); });
      expect_yes(family.ask());
    }
}

TEST(BothApis, text_beside_tool_calls_is_kept) {
  for (const ModelApi api : apis) {
    SCOPED_TRACE(name_of(api));
    AskedInForm family(api, [api](const auto&) { return answers(api, "I look it up.", "find"); });
    ModelRequest request = asks_for_label();
    request.schema = nullptr;
    const ModelAnswer answer = family.ask(request);
    ASSERT_FALSE(answer.failure) << answer.failure->message;
    EXPECT_EQ(answer.reply.message["content"], "I look it up.");
    EXPECT_EQ(answer.reply.message["tool_calls"][0]["function"]["name"], "find");
    EXPECT_EQ(answer.reply.finish_reason, "tool_calls");
  }
}

TEST(BothApis, a_slow_stream_is_seen_as_it_comes_and_put_together) {
  const std::vector<std::string> parts = {"{\"label\"", ": \"y", "es\"}"};
  for (const ModelApi api : apis) {
    SCOPED_TRACE(name_of(api));
    AskedInForm family(api, [&](const HttpRequested& request) {
      if (!asks_for_stream(request)) return refuses("It was not asked to stream");
      return streams(
          {piece_of(api, parts[0]), piece_of(api, parts[1]), piece_of(api, parts[2]), end_of(api, label_yes.dump())});
    });
    std::string told;
    ModelRequest request = asks_for_label();
    request.watch = [&told]() -> TakeWritten { return [&told](std::string_view more) { told += more; }; };
    expect_yes(family.ask(request));
    EXPECT_EQ(told, parts[0] + parts[1] + parts[2]);
  }
}

TEST(BothApis, an_endpoint_that_does_not_stream_is_asked_for_whole_answers_from_then_on) {
  for (const ModelApi api : apis) {
    SCOPED_TRACE(name_of(api));
    AskedInForm family(api, [api](const HttpRequested& request) {
      return asks_for_stream(request) ? refuses("Unsupported value: 'stream'") : answers(api, label_yes.dump());
    });
    for (int i = 0; i < 2; ++i) expect_yes(family.ask());
    EXPECT_EQ(family.server.requests().size(), 3U);
  }
}

TEST(BothApis, a_rate_limit_is_waited_for) {
  for (const ModelApi api : apis) {
    SCOPED_TRACE(name_of(api));
    std::atomic<int> asked = 0;
    AskedInForm family(api, [api, &asked](const auto&) {
      if (++asked == 1) return HttpServed{.status = 429, .body = "slow down", .headers = {{"retry-after-ms", "20"}}};
      return answers(api, label_yes.dump());
    });
    expect_yes(family.ask());
    EXPECT_EQ(asked, 2);
  }
}

TEST(BothApis, a_cut_connection_is_another_try_within_an_answer_and_within_a_stream) {
  for (const ModelApi api : apis) {
    SCOPED_TRACE(name_of(api));
    AskedInForm whole(api, [api](const auto&) {
      return HttpServed{.body = whole_answer(api, label_yes.dump()).dump(), .cut = true};
    });
    expect_failure(whole.ask(), "unreachable");
    AskedInForm stream(api, [api](const auto&) { return streams({piece_of(api, "{\"label\"")}); });
    expect_failure(stream.ask(), "bad_reply");
  }
}

// As gateways do that only pass the parts on.
TEST(BothApis, a_response_whose_last_event_has_no_output_is_that_of_its_parts) {
  const ModelApi api = ModelApi::responses;
  Json last = whole_answer(api, "");
  const Json item = whole_answer(api, label_yes.dump())["output"][0];
  last["output"] = Json::array();
  AskedInForm family(api, [&](const auto&) {
    return streams({piece_of(api, label_yes.dump()), event_of({{"type", "response.output_item.done"}, {"item", item}}),
                    event_of({{"type", "response.completed"}, {"response", last}})});
  });
  expect_yes(family.ask());
}

}  // namespace
}  // namespace cairn
