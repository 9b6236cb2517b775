// The spans that are made of a history: their form, their golden text, and what stands in them.
#include "ops/traces/run_trace.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

#include "engine/codec.hpp"
#include "engine/graph_parsing.hpp"
#include "ops/traces/call_attributes.hpp"
#include "ops/traces/otlp_client.hpp"
#include "tests/paths.hpp"
#include "workers/runs/trace_ids.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

struct Recorded {
  RunId run;
  Graphs graphs;
  std::vector<Event> events;
};

Recorded golden_history(const std::string& name) {
  std::ifstream file(testing::source_dir() + "/tests/golden/histories/" + name);
  const Json golden = Json::parse(file);
  Recorded recorded;
  recorded.run = *parse_run_id(golden["run"].get<std::string>());
  for (const Json& graph : golden["graphs"])
    recorded.graphs.add(stored_graph(graph, "version of " + graph["name"].get<std::string>()), true);
  for (const Json& event : golden["events"]) {
    Result<EventBody> body =
        decode_payload(event["type"], event["version"], event["payload"].get_ref<const std::string&>());
    EXPECT_TRUE(body) << event;
    recorded.events.push_back({event["seq"], event["at"], event["step"], event["actor"], *std::move(body)});
  }
  return recorded;
}

std::vector<Json> spans_of(const Recorded& recorded, bool with_contents = false,
                           std::optional<std::string> caller = {}) {
  std::vector<Json> spans;
  RunTrace trace(recorded.run, {with_contents}, std::move(caller),
                 [&](const Span& span) { spans.push_back(span_json(span)); });
  for (const Event& event : recorded.events) trace.add(event, recorded.graphs);
  trace.finish();
  return spans;
}

std::int64_t time_of(const Json& span, const char* key) { return std::stoll(span.at(key).get<std::string>()); }

void expect_well_formed(const std::vector<Json>& spans) {
  std::map<std::string, Json> by_id;
  for (const Json& span : spans) EXPECT_TRUE(by_id.emplace(span.at("spanId"), span).second) << "twice: " << span;
  int roots = 0;
  for (const Json& span : spans) {
    EXPECT_EQ(span.at("traceId"), spans.front().at("traceId"));
    EXPECT_LE(time_of(span, "startTimeUnixNano"), time_of(span, "endTimeUnixNano")) << span;
    if (!span.contains("parentSpanId")) {
      ++roots;
      continue;
    }
    const auto parent = by_id.find(span.at("parentSpanId"));
    ASSERT_NE(parent, by_id.end()) << span;
    EXPECT_LE(time_of(parent->second, "startTimeUnixNano"), time_of(span, "startTimeUnixNano")) << span;
    EXPECT_GE(time_of(parent->second, "endTimeUnixNano"), time_of(span, "endTimeUnixNano")) << span;
  }
  EXPECT_EQ(roots, 1);
}

std::map<std::string, Json> attributes_of(const Json& span) {
  std::map<std::string, Json> attributes;
  for (const Json& attribute : span.at("attributes"))
    attributes[attribute.at("key")] = attribute.at("value").begin().value();
  return attributes;
}

TEST(RunTrace, every_golden_history_gives_spans_that_fit_each_other) {
  int histories = 0;
  for (const auto& file : fs::directory_iterator(testing::source_dir() + "/tests/golden/histories")) {
    const std::string name = file.path().filename();
    if (name == "older_versions.json") continue;  // as no program ever wrote it: see upcaster_test.cpp
    SCOPED_TRACE(name);
    const std::vector<Json> spans = spans_of(golden_history(name));
    EXPECT_GT(spans.size(), 2u);
    expect_well_formed(spans);
    ++histories;
  }
  EXPECT_GE(histories, 5);
}

TEST(RunTrace, the_spans_of_a_history_are_the_same_each_time_and_as_they_were_first_shipped) {
  const Recorded recorded = golden_history("everything_ended.json");
  const std::string text = Json(spans_of(recorded, true)).dump(1) + "\n";
  EXPECT_EQ(Json(spans_of(recorded, true)).dump(1) + "\n", text);
  const fs::path file = testing::source_dir() + "/tests/ops/traces/everything_ended.spans.json";
  if (std::getenv("CAIRN_UPDATE_GOLDEN") != nullptr) std::ofstream(file) << text;
  std::stringstream golden;
  golden << std::ifstream(file).rdbuf();
  EXPECT_EQ(text, golden.str()) << "CAIRN_UPDATE_GOLDEN=1 writes it";
}

// --- a small history -------------------------------------------------------------------------------------------------

constexpr TimeUs start_us = 1'795'299'827'000'000;

// A call of the model; `error`: how it failed, "" if it did not.
Json model_call(const std::string& error) {
  Json call = {{"model", "small-2026"},
               {"latency_ms", 250},
               {"ok", error.empty()},
               {"tokens_in", 12},
               {"tokens_out", 3},
               {"cost", 0.25},
               {"finish_reason", "stop"},
               {"response_id", "r-1"},
               {"request",
                {{"model", "small"},
                 {"options", {{"temperature", 0.5}, {"max_tokens", 40}}},
                 {"messages", Json::array({Json{{"role", "user"}, {"content", "the prompt"}}})}}},
               {"reply", {{"role", "assistant"}, {"content", "the reply"}}}};
  if (error.empty()) return call;
  call["error"] = error;
  call["message"] = "No answer.";
  return call;
}

Recorded model_run(Tags tags = {}, const std::string& error = "") {
  const Json graph = {{"name", "asking"},
                      {"start", "ask"},
                      {"limits", {{"steps", 9}}},
                      {"nodes",
                       {{"ask", {{"do", "model.chat"}, {"on", {{"ok", "tell"}}}, {"labels", Json::array({"ok"})}}},
                        {"tell", {{"do", "x.tell"}, {"on", {{"ok", "end"}}}, {"labels", Json::array({"ok"})}}},
                        {"end", {{"end", "done"}}}}}};
  Recorded recorded;
  recorded.run = *parse_run_id("0190f3a2-7c41-7b3e-9d55-0123456789ab");
  recorded.graphs.add(stored_graph(graph, "v"), true);
  RunStarted started{.graph = "asking",
                     .version = "v",
                     .input = R"({"q":"the input"})",
                     .options = {},
                     .tags = std::move(tags),
                     .parent = {},
                     .continues = {},
                     .history = {},
                     .forked_from = {}};
  StepFailed failed;
  failed.node = "ask";
  failed.attempt = 1;
  failed.error = "timeout";
  failed.message = "It took too long.";
  failed.started_at = start_us;
  failed.retry_at = start_us + 1;
  StepSucceeded asked;
  asked.node = "ask";
  asked.label = "ok";
  asked.patch = R"({"said":"the patch"})";
  asked.next = {"tell"};
  asked.attempt = 2;
  StepSucceeded told = asked;
  told.node = "tell";
  told.next = {"end"};
  RunFinished finished;
  finished.output = R"({"said":"the output"})";
  const std::vector<std::pair<StepId, EventBody>> bodies = {
      {0, started}, {1, failed}, {1, Record{RecordKind::model_called, model_call(error).dump()}},
      {1, asked},   {2, told},   {0, finished}};
  for (const auto& [step, body] : bodies) {
    const auto seq = static_cast<std::int64_t>(recorded.events.size()) + 1;
    recorded.events.push_back({seq, start_us + seq * 1'000'000, step, "", body});
  }
  return recorded;
}

Json span_named(const std::vector<Json>& spans, const std::string& name) {
  for (const Json& span : spans)
    if (span.at("name") == name) return span;
  ADD_FAILURE() << name << " is not among " << Json(spans).dump(1);
  return Json::object();
}

TEST(RunTrace, a_model_call_has_the_attributes_of_the_conventions_and_the_time_that_it_took) {
  const std::vector<Json> spans = spans_of(model_run());
  expect_well_formed(spans);
  const Json span = span_named(spans, "chat small");
  EXPECT_EQ(span["kind"], 3);
  EXPECT_EQ(span["parentSpanId"], step_span_id(model_run().run, 1));
  EXPECT_EQ(time_of(span, "endTimeUnixNano") - time_of(span, "startTimeUnixNano"), 250'000'000);
  const auto attributes = attributes_of(span);
  const std::map<std::string, Json> expected = {
      {"gen_ai.operation.name", "chat"},
      {"gen_ai.provider.name", "openai"},
      {"gen_ai.request.model", "small"},
      {"gen_ai.request.temperature", 0.5},
      {"gen_ai.request.max_tokens", "40"},
      {"gen_ai.response.model", "small-2026"},
      {"gen_ai.response.id", "r-1"},
      {"gen_ai.usage.input_tokens", "12"},
      {"gen_ai.usage.output_tokens", "3"},
      {"cairn.cost", 0.25},
      {"gen_ai.response.finish_reasons", {{"values", Json::array({Json{{"stringValue", "stop"}}})}}}};
  EXPECT_EQ(Json(attributes).dump(1), Json(expected).dump(1));
}

TEST(RunTrace, a_call_that_failed_is_an_error_by_its_word) {
  const Json span = span_named(spans_of(model_run({}, "bad_reply")), "chat small");
  EXPECT_EQ(span["status"]["code"], 2);
  EXPECT_EQ(span["status"]["message"], "No answer.");
  EXPECT_EQ(attributes_of(span)["error.type"], "bad_reply");
}

TEST(RunTrace, nodes_name_the_node_before_them_for_tools_that_draw_graphs_and_attempts_that_failed_are_noted) {
  const std::vector<Json> spans = spans_of(model_run());
  const Json ask = span_named(spans, "ask");
  EXPECT_EQ(attributes_of(ask)["graph.node.id"], "ask");
  EXPECT_FALSE(attributes_of(ask).contains("graph.node.parent_id"));
  ASSERT_EQ(ask["events"].size(), 1u);
  EXPECT_EQ(ask["events"][0]["name"], "exception");
  EXPECT_EQ(attributes_of(ask["events"][0])["exception.type"], "timeout");
  const auto tell = attributes_of(span_named(spans, "tell"));
  EXPECT_EQ(tell.at("graph.node.id"), "tell");
  EXPECT_EQ(tell.at("graph.node.parent_id"), "ask");
}

TEST(RunTrace, contents_are_there_only_when_they_are_asked_for) {
  const std::vector<std::string> contents = {"the input", "the prompt", "the reply", "the patch", "the output"};
  const std::string without = Json(spans_of(model_run())).dump();
  const std::string with = Json(spans_of(model_run(), true)).dump();
  for (const std::string& text : contents) {
    EXPECT_EQ(without.find(text), std::string::npos) << text;
    EXPECT_NE(with.find(text), std::string::npos) << text;
  }
  const auto chat = attributes_of(span_named(spans_of(model_run(), true), "chat small"));
  EXPECT_EQ(Json::parse(chat.at("gen_ai.input.messages").get<std::string>()),
            Json::parse(R"([{"role": "user", "parts": [{"type": "text", "content": "the prompt"}]}])"));
}

TEST(RunTrace, a_run_that_was_started_under_a_span_belongs_to_its_trace) {
  const std::string header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  for (const Json& span : spans_of(model_run({{traceparent_tag, header}})))
    EXPECT_EQ(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
  const Json run = span_named(spans_of(model_run({{traceparent_tag, header}})), "invoke_workflow asking");
  EXPECT_EQ(run["parentSpanId"], "00f067aa0ba902b7");
  EXPECT_FALSE(span_named(spans_of(model_run()), "invoke_workflow asking").contains("parentSpanId"));
}

TEST(RunTrace, texts_are_cut_between_characters) {
  std::string text(span_text_bytes_max - 4, 'x');
  for (int n = 0; n < 10; ++n) text += "é";
  const std::string cut = cut_text(text);
  EXPECT_LE(cut.size(), span_text_bytes_max);
  EXPECT_TRUE(cut.ends_with("x...")) << cut.substr(cut.size() - 20);
  EXPECT_EQ(cut_text("short"), "short");
}

// --- ids -------------------------------------------------------------------------------------------------------------

TEST(TraceIds, are_those_that_were_first_shipped) {
  const RunId run = *parse_run_id("0190f3a2-7c41-7b3e-9d55-0123456789ab");
  EXPECT_EQ(trace_id(run, {}), "5ee91140144bc1f6e808b7750e76255f");
  EXPECT_EQ(run_span_id(run), "dca2cb6c3907d48e");
  EXPECT_EQ(step_span_id(run, 7), "448d09d7e86e487a");
  EXPECT_EQ(event_span_id(run, 7), "03025b0e67ebea59");
}

TEST(TraceIds, a_traceparent_is_read_strictly) {
  const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const TraceParent parent{"4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"};
  EXPECT_EQ(parse_traceparent(good), parent);
  EXPECT_EQ(parse_traceparent("01" + good.substr(2) + "-more"), parent);
  for (const std::string& bad : {std::string(), good.substr(1), good + "0", good + "-more", "ff" + good.substr(2),
                                 std::string("00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
                                 std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"),
                                 std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
                                 std::string("00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01"),
                                 std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-zz")})
    EXPECT_EQ(parse_traceparent(bad), std::nullopt) << bad;
}

TEST(OtlpEndpoint, is_a_base_url_or_the_path_of_traces_with_headers_of_the_environment) {
  EXPECT_EQ(otlp_endpoint("http://c.example:4318")->url, "http://c.example:4318/v1/traces");
  EXPECT_EQ(otlp_endpoint("https://c.example/otlp/")->url, "https://c.example/otlp/v1/traces");
  EXPECT_EQ(otlp_endpoint("http://c.example/v1/traces")->url, "http://c.example/v1/traces");
  EXPECT_FALSE(otlp_endpoint("c.example"));
  for (const char* bad : {"http://c.example/?key=secret", "http://c.example/v1/traces#a"}) {
    const auto refused = otlp_endpoint(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().message.find("secret"), std::string::npos);
  }
  setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20a%2Cb, x-key = 1", 1);
  EXPECT_EQ(otlp_endpoint("http://c.example")->headers,
            (std::vector<std::pair<std::string, std::string>>{{"authorization", "Bearer a,b"}, {"x-key", "1"}}));
  for (const char* bad : {"secret", "a=%zz", "a=b%0d%0ac", "a b=c", "a=%4", "a=%+9"}) {
    setenv("OTEL_EXPORTER_OTLP_HEADERS", bad, 1);
    const auto refused = otlp_endpoint("http://c.example");
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().message.find("secret"), std::string::npos);
  }
  unsetenv("OTEL_EXPORTER_OTLP_HEADERS");
}

}  // namespace
}  // namespace cairn
