// Server-sent events as the API writes them.
#include "ops/http/streams/event_stream.hpp"

#include <gtest/gtest.h>

#include "workers/models/event_stream.hpp"

namespace cairn {
namespace {

TEST(ApiEventStream, an_event_has_its_id_its_type_and_one_line_of_data) {
  const Json data = {{"text", "two\nlines\r\n"}};
  EXPECT_EQ(stream_event(data, "7"), "id: 7\ndata: {\"text\":\"two\\nlines\\r\\n\"}\n\n");
  EXPECT_EQ(stream_event(1, "", "progress"), "event: progress\ndata: 1\n\n");
  EXPECT_EQ(stream_event(1), "data: 1\n\n");
}

TEST(ApiEventStream, what_it_writes_is_what_its_clients_read) {
  const Json data = {{"text", "\xE2\x80\xA8 data: x\n\nid: 9"}};
  EventStream read;
  const std::vector<std::string> events =
      read.add(event_stream_reply().pulse + stream_event(data, "7") + stream_event(2, "", "progress"));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(Json::parse(events[0]), data);
  EXPECT_EQ(events[1], "2");
  EXPECT_EQ(read.last_id(), "7");
}

}  // namespace
}  // namespace cairn
