// The contents of a conversation with a model in its span: the messages of OpenTelemetry's GenAI conventions, whole
// JSON whatever the conversation's size. The form is held against what their schemas of version 1.41.0 require.
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "ops/traces/call_attributes.hpp"

namespace cairn {
namespace {

std::map<std::string, Json> contents_of(const Json& fields) {
  SpanAttributes attributes;
  add_model_contents(attributes, fields);
  std::map<std::string, Json> found;
  for (const Json& attribute : attributes.json()) found[attribute["key"]] = attribute["value"].begin().value();
  return found;
}

Json parsed(const Json& text) {
  EXPECT_LE(text.get_ref<const std::string&>().size(), span_text_bytes_max);
  Json value = Json::parse(text.get_ref<const std::string&>(), nullptr, false);
  EXPECT_FALSE(value.is_discarded()) << text;
  return value;
}

// The fields that the schemas require of each kind of part, apart from its type.
const std::map<std::string, std::set<std::string>> required_of_part = {
    {"text", {"content"}}, {"tool_call", {"id", "name", "arguments"}}, {"tool_call_response", {"id", "response"}}};

void expect_messages(const Json& messages) {
  ASSERT_TRUE(messages.is_array() && !messages.empty()) << messages;
  for (const Json& message : messages) {
    EXPECT_TRUE(std::set<std::string>({"system", "user", "assistant", "tool"}).contains(message.at("role"))) << message;
    ASSERT_TRUE(message.at("parts").is_array()) << message;
    for (const Json& part : message["parts"]) {
      const auto required = required_of_part.find(part.at("type"));
      ASSERT_NE(required, required_of_part.end()) << part;
      for (const std::string& name : required->second) EXPECT_TRUE(part.contains(name)) << name << " in " << part;
    }
  }
}

void expect_answers(const Json& messages) {
  expect_messages(messages);
  for (const Json& message : messages)
    EXPECT_TRUE(std::set<std::string>({"stop", "length", "content_filter", "tool_call", "error"})
                    .contains(message.at("finish_reason")))
        << message;
}

Json message(const std::string& role, const std::string& content) { return {{"role", role}, {"content", content}}; }

Json call_of_tool(const std::string& arguments) {
  return {
      {"role", "assistant"},
      {"tool_calls", Json::array({Json{{"id", "call-1"}, {"function", {{"name", "add"}, {"arguments", arguments}}}}})}};
}

// A tool's answer was a text that named no call, and no answer said why it ended.
TEST(ModelContents, messages_have_what_the_conventions_require) {
  const Json answer = {{"role", "tool"}, {"tool_call_id", "call-1"}, {"content", "3"}};
  const Json asked = Json::array(
      {message("system", "Be brief."), message("user", "1 + 2?"), call_of_tool(R"({"a": 1, "b": 2})"), answer});
  auto found = contents_of({{"request", {{"messages", asked}}}, {"reply", message("assistant", "3")}});
  const Json in = parsed(found["gen_ai.input.messages"]), out = parsed(found["gen_ai.output.messages"]);
  expect_messages(in);
  expect_answers(out);
  const Json call = {{"type", "tool_call"}, {"id", "call-1"}, {"name", "add"}, {"arguments", {{"a", 1}, {"b", 2}}}};
  EXPECT_EQ(in[2]["parts"], Json::array({call}));
  EXPECT_EQ(in[3]["parts"], Json::array({Json{{"type", "tool_call_response"}, {"id", "call-1"}, {"response", "3"}}}));
  EXPECT_EQ(out[0]["finish_reason"], "stop") << "it was whole";
  EXPECT_FALSE(found.contains("cairn.messages_left_out"));
}

TEST(ModelContents, an_answer_ends_by_the_words_of_the_conventions) {
  for (const char* reason : {"tool_calls", ""}) {
    auto found = contents_of({{"reply", call_of_tool("no JSON")}, {"finish_reason", reason}});
    const Json out = parsed(found["gen_ai.output.messages"]);
    expect_answers(out);
    EXPECT_EQ(out[0]["finish_reason"], "tool_call");
    EXPECT_EQ(out[0]["parts"][0]["arguments"], "no JSON");
  }
  auto found = contents_of({{"reply", message("assistant", "So")}, {"finish_reason", "length"}});
  EXPECT_EQ(parsed(found["gen_ai.output.messages"])[0]["finish_reason"], "length");
  EXPECT_TRUE(contents_of({{"ok", false}}).empty()) << "a call that failed has no answer";
}

// The list was encoded and then cut at 16 KiB, which no reader could parse.
TEST(ModelContents, a_long_conversation_is_whole_json_without_its_oldest_messages) {
  Json asked = Json::array();
  for (int n = 0; n < 9; ++n) asked.push_back(message("user", std::to_string(n) + std::string(5'000, '"')));
  auto found = contents_of({{"request", {{"messages", asked}}}});
  const Json in = parsed(found["gen_ai.input.messages"]);
  expect_messages(in);
  EXPECT_TRUE(in.back()["parts"][0]["content"].get<std::string>().starts_with("8\""));
  EXPECT_EQ(found["cairn.messages_left_out"], std::to_string(9 - in.size()));
  EXPECT_LT(in.size(), 9u);
}

TEST(ModelContents, a_message_that_is_too_long_alone_is_cut) {
  const std::string quotes(100'000, '"'), marks(100'000, '\x01');
  for (const Json& one : {message("user", quotes), message("user", marks), call_of_tool(Json(quotes).dump()),
                          Json{{"role", "tool"}, {"tool_call_id", "c"}, {"content", quotes}}}) {
    auto found = contents_of({{"request", {{"messages", Json::array({one})}}}});
    const Json in = parsed(found["gen_ai.input.messages"]);
    expect_messages(in);
    EXPECT_EQ(in.size(), 1u);
  }
}

// The version that GenAI's names are taken from: another one is a change for those who read the spans.
TEST(ModelContents, the_conventions_are_those_of_version_1_41_0) {
  const Json document = Json::parse(spans_document({}, "a database"));
  EXPECT_EQ(document["resourceSpans"][0]["schemaUrl"], "https://opentelemetry.io/schemas/1.41.0");
}

}  // namespace
}  // namespace cairn
