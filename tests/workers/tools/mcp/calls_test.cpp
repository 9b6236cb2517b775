// Tools of MCP servers: both transports, the newest revision and the ones with a handshake.
#include <boost/asio.hpp>
#include <gtest/gtest.h>

#include "storage/digest.hpp"
#include "tests/workers/tools/mcp/mcp_desk.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using testing::McpDesk;
using testing::SmallHttpServer;
using testing::SmallServer;

// Each way to the same server: how it is reached, and what it speaks.
class McpCalls : public ::testing::TestWithParam<std::pair<bool, bool>> {
 protected:
  bool is_http() const { return GetParam().first; }
  bool is_legacy() const { return GetParam().second; }
  static std::vector<std::string> era(bool is_legacy) {
    return is_legacy ? std::vector<std::string>{"--legacy"} : std::vector<std::string>();
  }
  static Json way(bool is_http, const SmallServer& server, const std::optional<SmallHttpServer>& http) {
    return is_http ? Json(http->url()) : Json(server.argv());
  }

  SmallServer server_{era(is_legacy())};
  std::optional<SmallHttpServer> http_ = is_http() ? std::optional<SmallHttpServer>(server_) : std::nullopt;
  Json way_ = way(is_http(), server_, http_);
  Json entry(Json more = Json::object()) const { return McpDesk::with(std::move(more), way_); }
};

TEST_P(McpCalls, each_tool_of_all_pages_has_its_name_inputs_and_words) {
  const McpDesk desk(entry({{"queue", "far"}}));
  ASSERT_NE(desk.tools, nullptr) << desk.refusal.message;
  const ToolTable& table = desk.tools->table();
  EXPECT_EQ(table.size(), 19u + 2u);  // and mcp.call and mcp.list
  const auto echo = table.find("s.echo");
  ASSERT_NE(echo, table.end());
  EXPECT_EQ(echo->second.queue, "far");
  EXPECT_EQ(echo->second.needs, std::vector<std::string>{"text"});
  EXPECT_EQ(echo->second.about, "Gives a text back. It takes text (string).");
  const Json declared = desk.servers->declared();
  ASSERT_EQ(declared.size(), 19u);
  EXPECT_EQ(declared[0]["name"], "s.echo");
  EXPECT_EQ(declared[0]["schema"]["required"], Json::array({"text"}));
}

TEST_P(McpCalls, results_are_json_objects) {
  McpDesk desk(entry());
  EXPECT_EQ(desk.outputs("echo", {{"text", "hello"}}), (Json{{"text", "hello"}}));
  EXPECT_EQ(desk.outputs("structured", {{"a", {1, 2}}}), (Json{{"a", {1, 2}}}));
  const Json content = desk.outputs("picture")["content"];
  ASSERT_EQ(content.size(), 3u);
  EXPECT_EQ(content[1]["data"], "iVBORw==");
  EXPECT_EQ(content[2]["resource"]["text"], "inside");
}

TEST_P(McpCalls, a_failure_has_the_words_of_the_server_and_is_not_repeated) {
  McpDesk desk(entry());
  const Failure broken = desk.failure("broken");
  EXPECT_EQ(broken.error, "error");
  EXPECT_EQ(broken.message, "There is no such city.");
  EXPECT_FALSE(broken.retryable);
  const Failure refused = desk.failure("refuse");
  EXPECT_EQ(refused.error, "invalid");
  EXPECT_NE(refused.message.find("Unknown tool: refuse"), std::string::npos) << refused.message;
  const Failure wrong = desk.failure("wrong");
  EXPECT_EQ(wrong.error, "bad_output");
}

TEST_P(McpCalls, the_server_gets_the_idempotency_key) {
  McpDesk desk(entry());
  const Json said = Json::parse(desk.outputs("key", {{"region", "Zürich"}})["text"].get<std::string>());
  EXPECT_EQ(said["key"], "run/7");
  if (is_http() && !is_legacy()) {
    EXPECT_EQ(said["region"], "=?base64?WsO8cmljaA==?=");
    EXPECT_EQ(said["name"], "key");
  }
  if (is_http() && is_legacy()) {
    EXPECT_EQ(said["session"], "s-1");
  }
}

TEST_P(McpCalls, progress_is_passed_on_while_the_call_runs) {
  McpDesk desk(entry());
  ToolCall call = desk.call_of("steps", {{"until", server_.calls() + ".seen"}});
  std::vector<std::string> said;
  call.progress = [&](std::string_view text) {
    said.emplace_back(text);
    server_.touch(".seen");  // without this it never ends
  };
  const ToolAnswer answer = desk.call(std::move(call));
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.front(), "page (1 of 3)");
}

TEST_P(McpCalls, a_call_that_is_too_late_is_cancelled_at_the_server) {
  McpDesk desk(entry({{"timeout_ms", 1'000}}));
  const Failure late = desk.failure("slow");
  EXPECT_EQ(late.error, "timeout");
  EXPECT_TRUE(late.retryable);
  EXPECT_TRUE(server_.wrote(".cancelled"));
  EXPECT_EQ(desk.outputs("echo", {{"text", "on"}})["text"], "on");
}

TEST_P(McpCalls, a_call_that_is_given_up_is_cancelled_at_the_server) {
  McpDesk desk(entry());
  asio::io_context io;
  asio::cancellation_signal give_up;
  auto calling = desk.tools->call(desk.call_of("slow"));
  asio::co_spawn(io, std::move(calling),
                 asio::bind_cancellation_slot(give_up.slot(), [](const std::exception_ptr&, const ToolAnswer&) {}));
  ASSERT_TRUE(test::wait_until([&] {
    io.poll();
    return std::filesystem::exists(server_.calls() + ".begun");
  }));
  give_up.emit(asio::cancellation_type::terminal);
  io.run();
  EXPECT_TRUE(server_.wrote(".cancelled"));
}

TEST_P(McpCalls, many_calls_share_one_server) {
  McpDesk desk(entry());
  asio::io_context io;
  int answered = 0;
  for (int n = 0; n < 50; ++n) {
    auto calling = desk.tools->call(desk.call_of("echo", {{"text", std::to_string(n)}}));
    asio::co_spawn(io, std::move(calling), [n, &answered](const std::exception_ptr&, const ToolAnswer& answer) {
      if (answer && (*answer)["text"] == std::to_string(n)) ++answered;
    });
  }
  io.run();
  EXPECT_EQ(answered, 50);
}

std::string name_of_way(const ::testing::TestParamInfo<std::pair<bool, bool>>& info) {
  return std::string(info.param.first ? "http" : "stdio") + (info.param.second ? "_handshake" : "_newest");
}

INSTANTIATE_TEST_SUITE_P(Ways, McpCalls,
                         ::testing::Values(std::pair(false, false), std::pair(false, true), std::pair(true, false),
                                           std::pair(true, true)),
                         name_of_way);

TEST(McpQuestions, without_a_policy_a_call_that_asks_fails_with_the_question) {
  McpDesk desk{SmallServer()};
  const Failure asks = desk.failure("ask");
  EXPECT_EQ(asks.error, "input_required");
  EXPECT_FALSE(asks.retryable);
  EXPECT_NE(asks.message.find("Who is it?"), std::string::npos) << asks.message;
  EXPECT_NE(asks.message.find("\"required\":[\"name\"]"), std::string::npos) << asks.message;
}

TEST(McpQuestions, a_policy_answers_them) {
  const SmallServer server;
  McpDesk accepting(server, {{"elicitation", "defaults"}});
  EXPECT_EQ(accepting.outputs("ask")["text"], R"(hello {"action": "accept", "content": {"name": "Nemo"}})");
  EXPECT_EQ(accepting.outputs("late")["text"], "hello {'name': 'Nemo'}");
  McpDesk declining(server, {{"elicitation", "decline"}});
  EXPECT_EQ(declining.outputs("ask")["text"], R"(hello {"action": "decline"})");
}

TEST(McpQuestions, a_call_in_parts_asks_and_goes_on_with_the_answer) {
  McpDesk desk{SmallServer()};
  Json inputs = {{"tool", "s.ask"}, {"arguments", Json::object()}};
  const Json asks = desk.outputs("mcp.call", inputs);
  EXPECT_EQ(asks["state"], "asks");
  EXPECT_EQ(asks["prompt"], "Who is it?");
  EXPECT_EQ(asks["schema"]["required"], Json::array({"name"}));
  inputs["previous"] = asks["previous"];
  inputs["entered"] = {{"name", "Ann"}};
  McpDesk another{SmallServer()};  // the first one's process is not needed
  const Json done = another.outputs("mcp.call", inputs);
  EXPECT_EQ(done["state"], "complete");
  EXPECT_EQ(done["outputs"]["text"], R"(hello {"action": "accept", "content": {"name": "Ann"}})");
}

TEST(McpTasks, a_call_waits_for_its_task_and_says_how_it_stands) {
  const SmallServer server;
  McpDesk desk(server);
  ToolCall call = desk.call_of("task");
  std::vector<std::string> said;
  call.progress = [&](std::string_view text) {
    said.emplace_back(text);
    server.touch(".go");
  };
  const ToolAnswer answer = desk.call(std::move(call));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)["text"], "after a while");
  EXPECT_EQ(said.front(), "half done");
}

TEST(McpTasks, a_task_that_is_no_longer_waited_for_is_cancelled_at_the_server) {
  const SmallServer late, left, ended;
  McpDesk patient_for_a_while(late, {{"timeout_ms", 500}});
  EXPECT_EQ(patient_for_a_while.failure("task").error, "timeout");
  EXPECT_TRUE(late.wrote(".ended"));
  McpDesk without_a_person(left);
  EXPECT_EQ(without_a_person.failure("late").error, "input_required");
  EXPECT_TRUE(left.wrote(".ended"));
  ended.touch(".go");
  McpDesk desk(ended);
  EXPECT_EQ(desk.outputs("task")["text"], "after a while");
  EXPECT_FALSE(std::filesystem::exists(ended.calls() + ".ended"));
}

TEST(McpTasks, a_look_that_failed_is_made_again_and_cancels_nothing) {
  for (const char* how : {"cut_look", "busy_look"}) {
    const SmallServer server({"--bad", how});
    const SmallHttpServer http(server);
    McpDesk desk(http);
    ToolCall call = desk.call_of("task");
    call.progress = [&](std::string_view) { server.touch(".go"); };
    const ToolAnswer answer = desk.call(std::move(call));
    ASSERT_TRUE(answer) << how << ": " << answer.error().message;
    EXPECT_EQ((*answer)["text"], "after a while");
    EXPECT_EQ(server.called().size(), 1u);
    EXPECT_FALSE(std::filesystem::exists(server.calls() + ".ended"));
  }
}

TEST(McpTasks, an_answer_that_did_not_arrive_is_given_again) {
  const SmallServer server({"--bad", "busy_update"});
  const SmallHttpServer http(server);
  McpDesk desk(http, {{"elicitation", "defaults"}});
  EXPECT_EQ(desk.outputs("late")["text"], "hello {'name': 'Nemo'}");
  EXPECT_EQ(server.called().size(), 1u);
}

TEST(McpTasks, a_task_that_the_server_does_not_know_is_not_waited_for) {
  const SmallServer server({"--bad", "lost_task"});
  McpDesk desk(server);
  const Failure lost = desk.failure("task");
  EXPECT_EQ(lost.error, "invalid");
  EXPECT_FALSE(lost.retryable);
}

TEST(McpTasks, a_call_in_parts_comes_back_to_its_task_through_another_process) {
  const SmallServer server;
  Json inputs = {{"tool", "s.task"}};
  {
    McpDesk desk(server);
    const Json begun = desk.outputs("mcp.call", inputs);
    EXPECT_EQ(begun["state"], "working");
    EXPECT_EQ(begun["poll_ms"], 100);
    inputs["previous"] = begun["previous"];
    EXPECT_EQ(desk.outputs("mcp.call", inputs)["state"], "working");
  }
  server.touch(".go");
  McpDesk desk(server);
  EXPECT_EQ(desk.outputs("mcp.call", inputs), (Json{{"state", "complete"}, {"outputs", {{"text", "after a while"}}}}));
  EXPECT_EQ(server.called().size(), 1u);
}

TEST(McpTasks, a_question_of_a_task_is_asked_once) {
  const SmallServer server;
  McpDesk desk(server);
  Json inputs = {{"tool", "s.late"}};
  inputs["previous"] = desk.outputs("mcp.call", inputs)["previous"];
  const Json asks = desk.outputs("mcp.call", inputs);
  EXPECT_EQ(asks["state"], "asks");
  inputs["previous"] = asks["previous"];
  inputs["entered"] = {{"name", "Ann"}};
  EXPECT_EQ(desk.outputs("mcp.call", inputs)["outputs"]["text"], "hello {'name': 'Ann'}");
}

TEST(McpTasks, a_question_that_stays_for_two_looks_after_its_answer_is_asked_once) {
  const SmallServer server({"--bad", "keeps_question"});
  McpDesk desk(server);
  Json inputs = {{"tool", "s.late"}};
  for (const char* state : {"working", "asks", "working", "working"}) {
    const Json part = desk.outputs("mcp.call", inputs);
    EXPECT_EQ(part["state"], state);
    inputs["previous"] = part["previous"];
    if (part["state"] == "asks") inputs["entered"] = {{"name", "Ann"}};
  }
  EXPECT_EQ(desk.outputs("mcp.call", inputs)["outputs"]["text"], "hello {'name': 'Ann'}");
}

TEST(McpList, gives_the_functions_for_a_model_and_their_hash) {
  McpDesk desk{SmallServer()};
  const Json one = desk.outputs("mcp.list", {{"tools", Json::array({"s.echo"})}});
  ASSERT_EQ(one["tools"].size(), 1u);
  EXPECT_EQ(one["tools"][0]["function"]["name"], "s.echo");
  EXPECT_EQ(one["tools"][0]["function"]["parameters"]["required"], Json::array({"text"}));
  EXPECT_EQ(one["hash"], hex(sha256(canonical(one["tools"]))));
  EXPECT_EQ(desk.outputs("mcp.list", {{"tools", Json::array({"s.*"})}})["tools"].size(), 19u);
}

TEST(McpServers, a_worker_without_the_entry_leaves_a_call_in_parts) {
  McpDesk desk{SmallServer()};
  const ToolCall call = desk.call_of("mcp.call", {{"tool", "other.x"}});
  EXPECT_EQ(desk.tools->needs_of(call), (std::vector<std::string>{"tool mcp.call", "tool other.x"}));
  EXPECT_EQ(desk.failure("mcp.call", {{"tool", "other.x"}}).error, "unknown_tool");
}

}  // namespace
}  // namespace cairn
