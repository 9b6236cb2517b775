// Server-sent events as they are read from any sender.
#include "workers/models/event_stream.hpp"

#include <gtest/gtest.h>

#include "workers/models/model_stream.hpp"

namespace cairn {
namespace {

using Texts = std::vector<std::string>;

TEST(EventStream, events_cut_anywhere_are_read_once) {
  const std::string bytes =
      ": hello\n\nid: 7\ndata: one\ndata:two\n\nevent: x\r\ndata: three\r\n\r\ndata\n\ndata: four\r\r";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    EventStream stream;
    Texts all = stream.add(bytes.substr(0, cut));
    for (std::string& text : stream.add(bytes.substr(cut))) all.push_back(std::move(text));
    EXPECT_EQ(all, (Texts{"one\ntwo", "three", "four"})) << cut;
    EXPECT_EQ(stream.last_id(), "7");
    EXPECT_EQ(stream.bytes_kept(), 0U);
  }
}

TEST(EventStream, a_stream_that_broke_off_within_an_event_begins_again_without_it) {
  EventStream stream;
  EXPECT_EQ(stream.add("id: 1\ndata: one\n\nid: 2\ndata: tw"), Texts{"one"});
  EXPECT_EQ(stream.bytes_kept(), 8U);
  stream.begin_again();
  EXPECT_EQ(stream.add("id: 2\ndata: two\n\n"), Texts{"two"});
  EXPECT_EQ(stream.last_id(), "2");
}

TEST(EventStream, a_model_may_end_its_stream_without_the_last_empty_line) {
  const Json response = {{"status", "completed"}};
  const std::string event = "data: " + Json{{"type", "response.completed"}, {"response", response}}.dump();
  for (const char* end : {"", "\n", "\r", "\r\n", "\n\n"}) {
    const Result<Json, Failure> answer = answer_of_stream(ModelApi::responses, event + end);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(*answer, response);
  }
}

}  // namespace
}  // namespace cairn
