// Streamed answers, as the public documentation of both APIs shows them, and as endpoints are known to differ from it.
#include "workers/models/model_stream.hpp"

#include <gtest/gtest.h>

#include "tests/waiting.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/handlers/model_call.hpp"
#include "workers/models/http_model.hpp"

namespace cairn {
namespace {

using testing::LoopbackServer;
using Served = LoopbackServer::Reply;

std::string event(const Json& data) { return "data: " + data.dump() + "\n\n"; }

std::string chunk(const Json& delta, const char* finish = nullptr) {
  Json choice = {{"index", 0}, {"delta", delta}, {"finish_reason", nullptr}};
  if (finish != nullptr) choice["finish_reason"] = finish;
  Json data = {{"id", "chatcmpl-1"}, {"object", "chat.completion.chunk"}, {"model", "served"}};
  data["choices"].push_back(choice);
  return event(data);
}

std::string usage(int in, int out) {
  return event({{"id", "chatcmpl-1"},
                {"model", "served"},
                {"choices", Json::array()},
                {"usage", {{"prompt_tokens", in}, {"completion_tokens", out}}}});
}

Completion completion_of(ModelApi api, const std::string& stream) {
  const Result<Json, Failure> answer = answer_of_stream(api, stream);
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
  if (!answer) return {};
  Result<Completion, Failure> completion = read_completion(api, *answer);
  EXPECT_TRUE(completion);
  return completion ? *std::move(completion) : Completion{};
}

Failure failure_of(ModelApi api, const std::string& stream) {
  const Result<Json, Failure> answer = answer_of_stream(api, stream);
  EXPECT_FALSE(answer);
  return answer ? Failure{} : answer.error();
}

TEST(ModelStream, texts_are_joined_and_the_use_comes_last) {
  const Completion read = completion_of(
      ModelApi::chat_completions, ": OPENROUTER PROCESSING\n\n" + chunk({{"role", "assistant"}, {"content", ""}}) +
                                      chunk({{"content", "Good "}}) + chunk({{"content", "day."}}) +
                                      chunk(Json::object(), "stop") + usage(9, 3) + "data: [DONE]\n\n");
  EXPECT_EQ(read.message["content"], "Good day.");
  EXPECT_EQ(read.finish_reason, "stop");
  EXPECT_EQ(read.id, "chatcmpl-1");
  EXPECT_EQ(read.model, "served");
  EXPECT_EQ(read.tokens_in, 9);
  EXPECT_EQ(read.tokens_out, 3);
}

TEST(ModelStream, calls_of_tools_come_in_pieces_by_their_index) {
  const auto piece = [](Json call) { return chunk({{"tool_calls", Json::array({std::move(call)})}}); };
  const Completion read = completion_of(
      ModelApi::chat_completions,
      piece({{"index", 0}, {"id", "a"}, {"type", "function"}, {"function", {{"name", "look"}, {"arguments", ""}}}}) +
          piece({{"index", 0}, {"function", {{"arguments", "{\"at\""}}}}) +
          piece({{"index", 1}, {"id", "b"}, {"function", {{"name", "go"}, {"arguments", "{}"}}}}) +
          piece({{"index", 0}, {"function", {{"arguments", ": 1}"}}}}) + chunk(Json::object(), "tool_calls"));
  ASSERT_EQ(read.message["tool_calls"].size(), 2U);
  EXPECT_EQ(read.message["tool_calls"][0]["function"], Json({{"name", "look"}, {"arguments", "{\"at\": 1}"}}));
  EXPECT_EQ(read.message["tool_calls"][1]["id"], "b");
  EXPECT_TRUE(read.message["content"].is_null());
}

TEST(ModelStream, without_an_index_a_new_id_begins_a_new_call) {
  const Json first = {{"id", "a"}, {"function", {{"name", "look"}, {"arguments", "{}"}}}};
  const Json second = {{"id", "b"}, {"function", {{"name", "go"}, {"arguments", "{}"}}}};
  const Completion read = completion_of(ModelApi::chat_completions,
                                        chunk({{"tool_calls", {first, second}}}) + chunk(Json::object(), "tool_calls"));
  ASSERT_EQ(read.message["tool_calls"].size(), 2U);
  EXPECT_EQ(read.message["tool_calls"][1]["function"]["name"], "go");
}

// As Ollama and some gateways do with calls side by side.
TEST(ModelStream, calls_that_all_have_the_index_0_are_told_apart_by_their_ids) {
  const auto piece = [](Json call) { return chunk({{"tool_calls", Json::array({std::move(call)})}}); };
  const Completion read =
      completion_of(ModelApi::chat_completions,
                    piece({{"index", 0}, {"id", "a"}, {"function", {{"name", "look"}, {"arguments", "{}"}}}}) +
                        piece({{"index", 0}, {"id", "b"}, {"function", {{"name", "go"}, {"arguments", "{\"to\""}}}}) +
                        piece({{"index", 0}, {"function", {{"arguments", ": 1}"}}}}) +
                        piece({{"index", 1}, {"id", "c"}, {"function", {{"name", "stop"}, {"arguments", "{}"}}}}) +
                        chunk(Json::object(), "tool_calls"));
  const Json& calls = read.message["tool_calls"];
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0]["function"], Json({{"name", "look"}, {"arguments", "{}"}}));
  EXPECT_EQ(calls[1]["function"], Json({{"name", "go"}, {"arguments", "{\"to\": 1}"}}));
  EXPECT_EQ(calls[2]["id"], "c");
}

// Gemini 3 refuses the next turn without the signature, and OpenRouter's models think all over again without their
// details.
TEST(ModelStream, what_a_call_and_a_message_have_besides_is_kept_for_the_next_turn) {
  const Json signature = {{"google", {{"thought_signature", "c2lnbmVk"}}}};
  const auto details = [](Json part) { return chunk({{"reasoning_details", Json::array({std::move(part)})}}); };
  const Completion read = completion_of(
      ModelApi::chat_completions,
      details({{"type", "reasoning.text"}, {"index", 0}, {"text", "Let me "}, {"signature", nullptr}}) +
          details({{"type", "reasoning.text"}, {"index", 0}, {"text", "look."}, {"signature", "s"}}) +
          details({{"type", "reasoning.encrypted"}, {"index", 1}, {"data", "x"}}) +
          chunk({{"reasoning_content", "Hm"}, {"content", nullptr}}) + chunk({{"reasoning_content", "m."}}) +
          chunk({{"role", "assistant"},
                 {"tool_calls",
                  {{{"index", 0},
                    {"id", "a"},
                    {"type", "function"},
                    {"extra_content", signature},
                    {"function", {{"name", "look"}, {"arguments", "{}"}}}}}}}) +
          chunk(Json::object(), "tool_calls"));
  EXPECT_EQ(read.message["tool_calls"][0]["extra_content"], signature);
  EXPECT_FALSE(read.message["tool_calls"][0].contains("index"));
  EXPECT_EQ(read.message["reasoning_content"], "Hmm.");
  EXPECT_EQ(read.message["reasoning_details"],
            Json::parse(R"([{"type": "reasoning.text", "index": 0, "text": "Let me look.", "signature": "s"},
                            {"type": "reasoning.encrypted", "index": 1, "data": "x"}])"));
  EXPECT_EQ(read.message["role"], "assistant");
}

TEST(ModelStream, what_a_message_has_besides_is_bounded) {
  const std::string piece = chunk({{"extra", Json::array({std::string(5'000'000, 'x')})}});
  const Failure failed = failure_of(ModelApi::chat_completions, piece + piece + piece + piece);
  EXPECT_EQ(failed.error, "limit");
  EXPECT_FALSE(failed.retryable);
}

// Mistral's models that reason give parts, of which those of type "thinking" are no text of the reply.
TEST(ModelStream, content_in_parts_is_their_text) {
  const Json thought = {{"type", "thinking"}, {"thinking", {{{"type", "text"}, {"text", "Hmm."}}}}};
  const auto text = [](const char* part) { return Json{{"type", "text"}, {"text", part}}; };
  const std::string stream =
      chunk({{"content", Json::array({thought})}}) + chunk({{"content", Json::array({text("Good ")})}}) +
      chunk({{"content", Json::array({text("d"), text("ay")})}}) + chunk({{"content", "."}}, "stop");
  EXPECT_EQ(completion_of(ModelApi::chat_completions, stream).message["content"], "Good day.");
  EXPECT_EQ(StreamedText(ModelApi::chat_completions).add(stream), "Good day.");
}

TEST(ModelStream, a_response_is_the_one_of_its_last_event) {
  const Json response = {
      {"id", "resp_1"},
      {"model", "served"},
      {"output", {{{"type", "message"}, {"content", {{{"type", "output_text"}, {"text", "Yes."}}}}}}},
      {"usage", {{"input_tokens", 5}, {"output_tokens", 2}}}};
  const Completion read = completion_of(
      ModelApi::responses,
      "event: response.created\r\n" + event({{"type", "response.created"}, {"response", {{"id", "resp_1"}}}}) +
          event({{"type", "response.output_text.delta"}, {"delta", "Yes."}}) + "event: response.completed\n" +
          event({{"type", "response.completed"}, {"response", response}}));
  EXPECT_EQ(read.message["content"], "Yes.");
  EXPECT_EQ(read.tokens_out, 2);
  EXPECT_EQ(read.id, "resp_1");
}

TEST(ModelStream, one_that_ends_early_or_breaks_off_is_no_reply) {
  const Failure early = failure_of(ModelApi::chat_completions, chunk({{"content", "Good"}}));
  EXPECT_EQ(early.error, "bad_reply");
  EXPECT_EQ(early.message, "Expected a whole reply, but the stream ended before it was finished.");
  const Failure broken = failure_of(ModelApi::chat_completions,
                                    chunk({{"content", "Good"}}) + event({{"error", {{"message", "Overloaded"}}}}));
  EXPECT_EQ(broken.error, "refused");
  EXPECT_TRUE(broken.retryable);
  EXPECT_NE(broken.message.find("Overloaded"), std::string::npos);
  const Json generated = {{"code", "tool_use_failed"}, {"message", "No."}, {"failed_generation", "<find>"}};
  EXPECT_EQ(failure_of(ModelApi::chat_completions, event({{"error", generated}})).error, "bad_reply");
  EXPECT_EQ(failure_of(ModelApi::chat_completions, "data: {\n\n").error, "bad_reply");
  EXPECT_EQ(failure_of(ModelApi::responses, event({{"type", "error"}, {"message", "no"}})).error, "refused");
  const Json failed = {{"type", "response.failed"}, {"response", {{"error", {{"message", "server_error"}}}}}};
  EXPECT_EQ(failure_of(ModelApi::responses, event(failed)).error, "refused");
  EXPECT_EQ(failure_of(ModelApi::responses, "").error, "bad_reply");
}

TEST(ModelStream, a_call_out_of_place_makes_no_large_reply) {
  const Json far = {{"index", 1'000'000'000}, {"id", "a"}};
  EXPECT_EQ(failure_of(ModelApi::chat_completions, chunk({{"tool_calls", Json::array({far})}})).error, "bad_reply");
}

// --- endpoints ------------------------------------------------------------------------------------------------------

ModelRequest plain_question() {
  ModelRequest request;
  request.messages = {{{"role", "user"}, {"content", "Is it so?"}}};
  request.key = "run/1";
  return request;
}

Served streamed(std::vector<std::string> pieces) {
  Served served;
  served.headers = {{"content-type", "text/event-stream; charset=utf-8"}};
  served.pieces = std::move(pieces);
  return served;
}

Served whole(const std::string& text) {
  Json body = {{"id", "c"}, {"model", "served"}};
  body["choices"].push_back({{"message", {{"role", "assistant"}, {"content", text}}}, {"finish_reason", "stop"}});
  body["usage"] = {{"prompt_tokens", 1}, {"completion_tokens", 1}};
  return {.body = body.dump()};
}

bool asks_to_stream(const LoopbackServer::Request& request) {
  return Json::parse(request.body()).value("stream", false);
}

std::unique_ptr<Model> model_at(const LoopbackServer& server, bool streams = true) {
  ModelEndpoint endpoint;
  endpoint.url = server.url("/v1");
  endpoint.model = "m";
  endpoint.timeout_ms = 10'000;
  endpoint.streams = streams;
  return make_http_model(std::move(endpoint));
}

TEST(StreamingModel, a_slow_stream_is_put_together_and_its_use_is_on_record) {
  LoopbackServer server([](const auto&) {
    return streamed({chunk({{"content", "It "}}), chunk({{"content", "is."}}), chunk(Json::object(), "stop"),
                     usage(7, 2), "data: [DONE]\n\n"});
  });
  const auto model = model_at(server);
  const ModelAnswer answer = testing::run(model->ask(plain_question()));
  ASSERT_FALSE(answer.failure) << answer.failure->message;
  EXPECT_EQ(answer.reply.value, "It is.");
  EXPECT_EQ(answer.reply.tokens_in, 7);
  const Json body = Json::parse(server.requests().at(0).body());
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["stream_options"], Json({{"include_usage", true}}));
}

// Watchers see the text as it comes, so a key is found although its pieces come one by one.
TEST(StreamingModel, a_key_that_comes_in_pieces_is_told_to_no_one_who_watches) {
  const std::string key = "sk-Jq7vR2mXw9Tb4LcZ";
  LoopbackServer server([&key](const auto&) {
    return streamed({chunk({{"content", "The key is " + key.substr(0, 5)}}), chunk({{"content", key.substr(5, 9)}}),
                     chunk({{"content", key.substr(14) + ". So it is."}}), chunk(Json::object(), "stop"), usage(7, 2),
                     "data: [DONE]\n\n"});
  });
  ModelEndpoint endpoint;
  endpoint.url = server.url("/v1");
  endpoint.model = "m";
  endpoint.api_key = key;
  endpoint.timeout_ms = 10'000;
  std::string told;
  ModelRequest request = plain_question();
  request.watch = [&told]() -> TakeWritten { return [&told](std::string_view more) { told += more; }; };
  const ModelAnswer answer = testing::run(make_http_model(endpoint)->ask(request));
  ASSERT_FALSE(answer.failure) << answer.failure->message;
  EXPECT_EQ(answer.reply.value, "The key is ***. So it is.");
  EXPECT_EQ(told, "The key is ***. So it is.");
}

TEST(StreamingModel, an_endpoint_that_refuses_to_stream_is_asked_for_whole_answers_from_then_on) {
  LoopbackServer server([](const auto& request) -> Served {
    if (asks_to_stream(request))
      return {.status = 400, .body = R"({"error": {"message": "Unsupported value: 'stream'"}})"};
    return whole("yes");
  });
  const auto model = model_at(server);
  EXPECT_EQ(testing::run(model->ask(plain_question())).reply.value, "yes");
  EXPECT_EQ(testing::run(model->ask(plain_question())).reply.value, "yes");
  ASSERT_EQ(server.requests().size(), 3U);
  EXPECT_NE(server.requests()[0]["idempotency-key"], server.requests()[1]["idempotency-key"]);
}

TEST(StreamingModel, a_refusal_that_speaks_of_something_upstream_refuses_no_stream) {
  for (const char* message : {"The upstream has no such model", "bitstream_v2 is unknown", "mainstreaming"}) {
    LoopbackServer server([message](const LoopbackServer::Request&) -> Served {
      return {.status = 404, .body = Json{{"error", {{"message", message}}}}.dump()};
    });
    const auto model = model_at(server);
    EXPECT_TRUE(testing::run(model->ask(plain_question())).failure);
    EXPECT_EQ(server.requests().size(), 1U) << message;
    EXPECT_TRUE(testing::run(model->ask(plain_question())).failure);
    EXPECT_TRUE(asks_to_stream(server.requests().at(1))) << message;
  }
}

TEST(StreamingModel, one_that_is_cut_within_is_another_try) {
  LoopbackServer server([](const LoopbackServer::Request&) { return streamed({chunk({{"content", "It "}})}); });
  const ModelAnswer answer = testing::run(model_at(server)->ask(plain_question()));
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->error, "bad_reply");
  EXPECT_TRUE(answer.failure->retryable);
}

TEST(StreamingModel, a_stream_that_says_nothing_of_its_use_is_the_last_one) {
  LoopbackServer server([](const auto& request) -> Served {
    if (asks_to_stream(request)) return streamed({chunk({{"content", "yes"}}), chunk(Json::object(), "stop")});
    return whole("yes");
  });
  const auto model = model_at(server);
  EXPECT_EQ(testing::run(model->ask(plain_question())).reply.tokens_in, 0);
  EXPECT_EQ(testing::run(model->ask(plain_question())).reply.tokens_in, 1);
}

TEST(StreamingModel, one_that_answers_as_a_whole_nevertheless_is_read_so) {
  LoopbackServer server([](const auto&) { return whole("yes"); });
  EXPECT_EQ(testing::run(model_at(server)->ask(plain_question())).reply.value, "yes");
}

TEST(StreamingModel, never_means_never) {
  LoopbackServer server([](const auto&) { return whole("yes"); });
  EXPECT_EQ(testing::run(model_at(server, false)->ask(plain_question())).reply.value, "yes");
  EXPECT_FALSE(asks_to_stream(server.requests().at(0)));
}

// The endpoint writes on and on; a call that is given up ends the connection, and so the writing.
TEST(StreamingModel, a_call_that_is_cancelled_ends_the_stream) {
  LoopbackServer server([](const auto&) {
    Served served = streamed({chunk({{"content", "and "}})});
    served.endless = true;
    return served;
  });
  const auto model = model_at(server);
  boost::asio::io_context io;
  boost::asio::cancellation_signal signal;
  bool has_ended = false;
  boost::asio::co_spawn(io, model->ask(plain_question()),
                        boost::asio::bind_cancellation_slot(
                            signal.slot(), [&](const std::exception_ptr&, const ModelAnswer&) { has_ended = true; }));
  while (server.requests().empty()) io.run_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(has_ended);
  signal.emit(boost::asio::cancellation_type::terminal);
  io.run();
  EXPECT_TRUE(has_ended);
  EXPECT_TRUE(test::wait_until([&] { return server.ended_connections() == 1; }));
}

}  // namespace
}  // namespace cairn
