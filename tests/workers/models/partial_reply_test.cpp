// The text of an answer that is not whole yet.
#include "workers/models/partial_reply.hpp"

#include <gtest/gtest.h>

#include "engine/json.hpp"
#include "workers/models/model_stream.hpp"

namespace cairn {
namespace {

std::string member_of(const std::string& reply, const std::string& member = "answer") {
  PartialReply partial(member);
  return partial.add(reply);
}

TEST(PartialReply, at_every_cut_a_members_text_is_the_beginning_of_what_it_will_be) {
  const std::string answer = "He said \"no\\yes\",\n\tin 5 \u20ac, \u00e4 and \U0001F600 {not: [a, member]}";
  const std::string others = R"("n": [1, {"answer": "an inner one", "x": "]}\""}], "answers": "also not", "e": {}, )";
  for (const bool is_ascii : {true, false}) {
    const std::string reply = "{ " + others + "\"answer\" : " + Json(answer).dump(-1, ' ', is_ascii) + ", \"z\": null}";
    ASSERT_EQ(parse_json(reply, "the reply")->at("answer"), answer);
    for (std::size_t cut = 0; cut <= reply.size(); ++cut) {
      PartialReply partial("answer");
      const std::string before = partial.add(reply.substr(0, cut));
      EXPECT_TRUE(answer.starts_with(before)) << reply.substr(0, cut);
      EXPECT_EQ(partial.add(reply.substr(cut)), answer) << cut;
    }
    PartialReply by_bytes("answer");
    std::size_t length = 0;
    for (const char c : reply) {
      const std::size_t now = by_bytes.add({&c, 1}).size();
      EXPECT_GE(now, length);
      length = now;
    }
    EXPECT_EQ(length, answer.size());
  }
}

TEST(PartialReply, escapes_are_read_as_far_as_they_have_come) {
  EXPECT_EQ(member_of(R"({"answer": "a\)"), "a");
  EXPECT_EQ(member_of(R"({"answer": "a\u00e)"), "a");
  EXPECT_EQ(member_of(R"({"answer": "a\u00e4)"), "a\u00e4");
  EXPECT_EQ(member_of(R"({"answer": "\ud83d\ude)"), "");
  EXPECT_EQ(member_of(R"({"answer": "\ud83d\ude00!)"), "\U0001F600!");
  EXPECT_EQ(member_of(R"({"answer": "\ud83dx\ude00"})"), "\uFFFDx\uFFFD");
  EXPECT_EQ(member_of(R"({"answer": "\ud83d\n\/\"\\"})"), "\uFFFD\n/\"\\");
  EXPECT_EQ(member_of(R"({"\u0061nswer": "x"})"), "x");
}

TEST(PartialReply, what_has_no_such_text_says_nothing) {
  for (const char* reply : {"", "The sky is blue.", "{", "{}", R"({"answer": 5})", R"({"answer": {"answer": "no"}})",
                            R"({"answer": ["no"]})", R"({"other": "x"})", R"(["answer", "no"])", R"("answer")"})
    EXPECT_EQ(member_of(reply), "") << reply;
}

TEST(PartialReply, thoughts_and_prose_before_the_object_are_left_out) {
  EXPECT_EQ(member_of("<think>{\"answer\": \"a thought\"}"), "");
  EXPECT_EQ(member_of("<think>{\"answer\": \"a thought\"}</think>\n```json\n{\"answer\": \"it is\""), "it is");
  EXPECT_EQ(member_of("Here {as asked} is it: {\"answer\": \"it is\"}"), "it is");
  EXPECT_EQ(member_of("Here is it: {\"answer\": \"it is </think>"), "");  // as json_in_reply() has it
  EXPECT_EQ(member_of("{\"answer\": \"</think> is a tag\"}"), "</think> is a tag");
  PartialReply partial("");
  EXPECT_EQ(partial.add("<thi"), "");
  EXPECT_EQ(partial.add("nk>Hm"), "");
  EXPECT_EQ(partial.add("m</thi"), "");
  EXPECT_EQ(partial.add("nk>\n\nIt "), "It ");
  EXPECT_EQ(partial.add("is."), "It is.");
}

TEST(PartialReply, a_plain_reply_is_its_own_text) {
  PartialReply partial("");
  EXPECT_EQ(partial.add("{\"a\": "), "{\"a\": ");
  EXPECT_EQ(partial.add("1}"), "{\"a\": 1}");
}

// --- out of a stream
// --------------------------------------------------------------------------------------------------

TEST(StreamedText, events_cut_anywhere_bring_their_text_once) {
  const std::string chat =
      ": hello\n\ndata: {\"choices\": [{\"delta\": {\"role\": \"assistant\"}}]}\n\n"
      "data: {\"choices\": [{\"delta\": {\"content\": \"The \"}}]}\r\n\r\n"
      "data: not JSON\n\ndata: {\"choices\": []}\n\ndata: {\"choices\": [{\"delta\": {\"reasoning_content\": "
      "\"no\"}}]}\n\n"
      "data: {\"choices\": [{\"delta\": {\"content\": \"sky\"}}]}\n\ndata: [DONE]\n\n";
  const std::string responses =
      "event: response.output_text.delta\ndata: {\"type\": \"response.output_text.delta\", \"delta\": \"The \"}\n\n"
      "data: {\"type\": \"response.reasoning_text.delta\", \"delta\": \"no\"}\n\n"
      "data: {\"type\": \"response.output_text.delta\", \"delta\": \"sky\"}\n\n";
  for (const auto& [api, stream] :
       {std::pair(ModelApi::chat_completions, chat), std::pair(ModelApi::responses, responses)})
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
      StreamedText text(api);
      std::string all = text.add(stream.substr(0, cut));
      all += text.add(stream.substr(cut));
      EXPECT_EQ(all, "The sky") << cut;
    }
}

TEST(StreamedText, an_answer_that_does_not_stream_brings_none) {
  StreamedText text(ModelApi::chat_completions);
  EXPECT_EQ(text.add(R"({"choices": [{"message": {"content": "The sky"}}]})"), "");
}

}  // namespace
}  // namespace cairn
