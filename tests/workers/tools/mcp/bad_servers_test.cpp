// Servers that end, flood, answer nonsense or list what no one can use: one sentence each, and no other call is harmed.
#include <gtest/gtest.h>

#include "tests/workers/ports/few_descriptors.hpp"
#include "tests/workers/tools/mcp/mcp_desk.hpp"
#include "workers/models/event_stream.hpp"

namespace cairn {
namespace {

using testing::McpDesk;
using testing::SmallHttpServer;
using testing::SmallServer;

TEST(BadMcpServer, one_that_ends_in_a_call_is_begun_again_for_the_next) {
  const SmallServer server;
  McpDesk desk(server);
  const Failure died = desk.failure("die");
  EXPECT_EQ(died.error, "unreachable");
  EXPECT_TRUE(died.retryable);
  EXPECT_NE(died.message.find("out of luck"), std::string::npos) << died.message;
  EXPECT_EQ(desk.outputs("die")["text"], "alive");
}

TEST(BadMcpServer, one_that_starts_slower_than_a_call_may_take_is_there_for_a_later_call) {
  const SmallServer server({"--slow-start", "1.5"});
  McpDesk desk(server, {{"timeout_ms", 1'000}});
  EXPECT_EQ(desk.failure("die").error, "unreachable");
  EXPECT_TRUE(test::wait_until([&] { return desk.call("echo", {{"text", "on"}}).ok(); }, std::chrono::seconds(30)));
}

TEST(BadMcpServer, one_that_floods_is_ended) {
  McpDesk desk{SmallServer()};
  const Failure flooded = desk.failure("flood");
  EXPECT_EQ(flooded.error, "bad_output");
  EXPECT_NE(flooded.message.find("16777216"), std::string::npos) << flooded.message;
  EXPECT_EQ(desk.outputs("echo", {{"text", "on"}})["text"], "on");
}

TEST(BadMcpServer, one_that_asks_and_reads_no_answer_is_ended) {
  McpDesk desk(SmallServer({"--bad", "pings"}), {{"timeout_ms", 60'000}});
  const Failure deaf = desk.failure("pings");
  EXPECT_EQ(deaf.error, "unreachable");
  EXPECT_NE(deaf.message.find("to read what it gets"), std::string::npos) << deaf.message;
  EXPECT_EQ(desk.outputs("echo", {{"text", "on"}})["text"], "on");
}

TEST(BadMcpServer, over_http_few_of_its_own_requests_are_answered_at_once) {
  const SmallServer server({"--legacy", "--bad", "pings"});
  const SmallHttpServer http(server);
  McpDesk desk(http, {{"timeout_ms", 60'000}});
  const int most = std::stoi(desk.outputs("pings").value("text", "0"));
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 16) << "of 200";
}

TEST(BadMcpServer, nonsense_and_answers_to_others_are_no_answers) {
  McpDesk desk(SmallServer(), {{"timeout_ms", 1'500}});
  const Failure nonsense = desk.failure("nonsense");
  EXPECT_EQ(nonsense.error, "timeout");
  const Failure other = desk.failure("other_id");
  EXPECT_EQ(other.error, "timeout");
  EXPECT_EQ(desk.outputs("echo", {{"text", "on"}})["text"], "on");
}

TEST(BadMcpServer, a_listing_that_does_not_come_leaves_a_call_most_of_its_time) {
  McpDesk desk(SmallServer({"--legacy", "--bad", "mute_list"}), {{"timeout_ms", 2'000}});
  for (const char* text : {"listed", "changed", "still changed"})
    EXPECT_EQ(desk.outputs("echo", {{"text", text}})["text"], text);
}

TEST(BadMcpServer, over_http_an_answer_to_another_request_fails_at_once) {
  const SmallServer server;
  const SmallHttpServer http(server);
  McpDesk desk(http);
  const Failure other = desk.failure("other_id");
  EXPECT_EQ(other.error, "bad_output");
  EXPECT_NE(other.message.find("987654"), std::string::npos) << other.message;
}

TEST(BadMcpServer, definitions_that_cannot_be_used_are_left_out) {
  const McpDesk desk{SmallServer({"--bad", "names"})};
  ASSERT_NE(desk.tools, nullptr) << desk.refusal.message;
  EXPECT_EQ(desk.tools->table().size(), 19u + 2u);
}

TEST(BadMcpServer, a_process_short_of_descriptors_refuses_one_by_url_and_does_not_wait_for_ever) {
  if (testing::needs_descriptors_itself) return;
  const Json entry = {{"mcp", "http://127.0.0.1:9/mcp"}};
  const testing::FewDescriptors few;
  const McpDesk desk(entry, Json::object(), 1'000);
  EXPECT_EQ(desk.tools, nullptr);
  EXPECT_EQ(desk.refusal.code, Code::unavailable);
  EXPECT_NE(desk.refusal.message.find("Too many open files"), std::string::npos) << desk.refusal.message;
}

TEST(BadMcpServer, too_many_tools_are_refused_with_one_sentence) {
  const McpDesk desk{SmallServer({"--bad", "many"})};
  EXPECT_EQ(desk.tools, nullptr);
  EXPECT_EQ(desk.refusal.code, Code::unavailable);
  EXPECT_NE(desk.refusal.message.find("at most 1000 tools"), std::string::npos) << desk.refusal.message;
}

TEST(BadMcpServer, one_that_is_no_server_is_refused_with_its_last_words) {
  const Json entry = {{"mcp", {"python3", "-c", "raise SystemExit('no such module')"}}};
  const McpDesk desk(entry, Json::object(), 20'000);  // it ends by itself, once it has begun
  EXPECT_EQ(desk.tools, nullptr);
  EXPECT_NE(desk.refusal.message.find("no such module"), std::string::npos) << desk.refusal.message;
}

TEST(BadMcpServer, a_lost_session_is_opened_again) {
  const SmallServer server({"--legacy"});
  const SmallHttpServer http(server);
  McpDesk desk(http);
  std::ofstream(server.calls() + ".session") << "s-2";
  const Json said = Json::parse(desk.outputs("key")["text"].get<std::string>());
  EXPECT_EQ(said["session"], "s-2");
}

TEST(BadMcpServer, a_session_that_is_refused_with_status_400_is_opened_again) {
  const SmallServer server({"--legacy", "--bad", "lost_400"});
  const SmallHttpServer http(server);
  McpDesk desk(http);
  std::ofstream(server.calls() + ".session") << "s-2";
  const Json said = Json::parse(desk.outputs("key")["text"].get<std::string>());
  EXPECT_EQ(said["session"], "s-2");
}

TEST(BadMcpServer, over_http_one_that_speaks_another_revision_by_now_is_asked_in_that) {
  for (const std::vector<std::string>& before : {std::vector<std::string>(), std::vector<std::string>{"--legacy"}}) {
    const SmallServer server(before);
    const SmallHttpServer http(server);
    McpDesk desk(http);
    EXPECT_EQ(desk.outputs("echo", {{"text", "before"}})["text"], "before");
    server.touch(".rolled");
    EXPECT_EQ(desk.outputs("echo", {{"text", "after"}})["text"], "after");
    EXPECT_EQ(server.called().size(), 2u);
  }
}

TEST(BadMcpServer, a_session_that_is_lost_while_a_stream_is_resumed_sends_no_call_again) {
  const SmallServer server({"--legacy", "--bad", "lost_stream"});
  const SmallHttpServer http(server);
  McpDesk desk(http);
  const Failure lost = desk.failure("cut");
  EXPECT_EQ(lost.error, "unreachable");
  EXPECT_TRUE(lost.retryable);
  EXPECT_EQ(server.called().size(), 1u);
}

TEST(BadMcpServer, a_stream_that_is_cut_is_resumed_before_2026_07_28_and_tried_again_since) {
  const SmallServer legacy({"--legacy"});
  const SmallHttpServer legacy_http(legacy);
  EXPECT_EQ(McpDesk(legacy_http).outputs("cut")["text"], "resumed");
  const SmallServer newest;
  const SmallHttpServer newest_http(newest);
  const Failure cut = McpDesk(newest_http).failure("cut");
  EXPECT_EQ(cut.error, "unreachable");
  EXPECT_TRUE(cut.retryable);
}

TEST(BadMcpServer, a_stream_that_stays_open_after_the_reply_is_closed) {
  const SmallServer server;
  const SmallHttpServer http(server);
  McpDesk desk(http);
  EXPECT_EQ(desk.outputs("open")["text"], "open");
  EXPECT_TRUE(server.wrote(".cancelled"));  // its connection was closed
}

TEST(BadMcpServer, one_that_wants_no_pause_between_streams_gets_one) {
  EventStream stream;
  EXPECT_TRUE(stream.add("retry: 0\n\n").empty());
  EXPECT_GE(stream.retry_ms(), 100);
}

TEST(BadMcpServer, secrets_go_to_the_program_and_never_come_back) {
  ::setenv("MCP_TEST_TOKEN", "hush-hush-token", 1);
  const SmallServer server;
  McpDesk desk(McpDesk::with({{"secrets", {{"TOKEN", "T"}}}}, Json(server.argv())),
               {{"T", {{"env", "MCP_TEST_TOKEN"}}}});
  EXPECT_EQ(desk.outputs("secret")["text"], "***");
  EXPECT_EQ(desk.failure("ask").error, "bad_output") << "the state would be in an event, or go back as another";
  const SmallHttpServer http(server);
  McpDesk far(McpDesk::with({{"auth", {{"bearer", "T"}}}}, http.url()), {{"T", {{"env", "MCP_TEST_TOKEN"}}}});
  const Json said = Json::parse(far.outputs("key")["text"].get<std::string>());
  EXPECT_EQ(said["authorization"], "Bearer ***");
}

}  // namespace
}  // namespace cairn
