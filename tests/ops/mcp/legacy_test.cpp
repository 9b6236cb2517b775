// The Model Context Protocol of 2025-06-18 and 2025-11-25, over HTTP and on stdio: the handshake, graphs as tools,
// forms, progress, cancellation, a server that is killed.
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <thread>

#include "tests/ops/mcp/mcp_client.hpp"

namespace cairn::program {
namespace {

const Json* named(const Json& tools, const std::string& name) {
  for (const Json& tool : tools)
    if (tool["name"] == name) return &tool;
  return nullptr;
}

std::string text_of(const Json& result) { return result.at("content").at(0).at("text"); }

TEST(McpLegacy, a_graph_that_is_exposed_is_a_tool_and_its_call_is_a_run) {
  const Server server;
  add_graph(server, echo_tool("legacy_echo", "say-it"));
  const Beside working({"work"});
  LegacyClient client(server.port());
  EXPECT_EQ(client.initialized()["protocolVersion"], "2025-11-25");
  EXPECT_EQ(client.initialized()["serverInfo"]["name"], "cairn");
  EXPECT_EQ(client.send({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}).status, 202);
  EXPECT_EQ(client.ask("ping").result(), Json::object());
  const Json tools = client.ask("tools/list").result()["tools"];
  const Json* tool = named(tools, "say-it");
  ASSERT_NE(tool, nullptr) << tools;
  EXPECT_EQ((*tool)["inputSchema"]["required"], Json::array({"text"}));
  EXPECT_EQ((*tool)["outputSchema"]["required"], Json::array({"said"}));
  const Told called = client.call("say-it", {{"text", "hello"}});
  EXPECT_EQ(called.result()["structuredContent"], (Json{{"said", "hello"}})) << called.last();
  EXPECT_EQ(called.result()["isError"], false);
  EXPECT_EQ(server.get(runs + "?graph=legacy_echo").json().size(), 1u);
}

TEST(McpLegacy, the_same_is_said_on_stdio_one_message_a_line) {
  const Server server;
  add_graph(server, echo_tool("stdio_echo"));
  const Beside working({"work"});
  const std::vector<Json> said = speak_mcp(
      {rpc_request(1, "initialize", {{"protocolVersion", "2025-06-18"}, {"capabilities", Json::object()}}).dump(),
       R"({"jsonrpc":"2.0","method":"notifications/initialized"})", "",
       rpc_request("two", "tools/call", {{"name", "stdio_echo"}, {"arguments", {{"text", "hi"}}}}).dump(),
       rpc_request(3, "ping").dump()},
      3);
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[0]["result"]["protocolVersion"], "2025-06-18");
  EXPECT_EQ(said[1]["id"], 3) << "a call that waits does not hold up the next message";
  EXPECT_EQ(said[2]["id"], "two");
  EXPECT_EQ(said[2]["result"]["structuredContent"], (Json{{"said", "hi"}})) << said[2];
}

TEST(McpLegacy, the_same_request_of_a_session_is_the_same_run) {
  const Server server;
  add_graph(server, echo_tool("same_echo"));
  const Beside working({"work"});
  LegacyClient client(server.port());
  const Json call = rpc_request(7, "tools/call", {{"name", "same_echo"}, {"arguments", {{"text", "once"}}}});
  EXPECT_EQ(client.send(call).result(), client.send(call).result());
  EXPECT_EQ(server.get(runs + "?graph=same_echo").json().size(), 1u);
  LegacyClient other(server.port());
  EXPECT_EQ(other.send(call).result()["isError"], false);
  EXPECT_EQ(server.get(runs + "?graph=same_echo").json().size(), 2u) << "another session";
}

TEST(McpLegacy, a_server_that_is_killed_between_a_call_and_its_result_loses_nothing) {
  auto server = std::make_unique<Server>();
  add_graph(*server, asking_tool("killed_ask", {{"type", "string"}}));
  const std::uint16_t port = server->port();
  const LegacyClient client(port, shows_forms);
  const Json call = rpc_request(5, "tools/call", {{"name", "killed_ask"}, {"arguments", Json::object()}});
  Headers headers = {{"Content-Type", "application/json"}, {"Accept", "application/json, text/event-stream"}};
  headers.insert(headers.end(), client.headers().begin(), client.headers().end());
  std::thread caller([&] { EXPECT_EQ(ApiConnection(port).ask("POST", "/mcp", call.dump(), headers).status, 0); });
  std::string run;
  EXPECT_TRUE(wait_until([&] {
    const Json started = server->get(runs + "?graph=killed_ask").json();
    if (!started.empty()) run = started[0]["run"];
    return !run.empty();
  }));
  server->process().signal(SIGKILL);
  caller.join();
  server.reset();
  const Server again({"--listen", "127.0.0.1:" + std::to_string(port)});
  const Json answer = {
      {"jsonrpc", "2.0"}, {"id", run + "/q1"}, {"result", {{"action", "accept"}, {"content", {{"answer", "blue"}}}}}};
  EXPECT_EQ(client.send(answer).status, 202) << "the form's answer reaches the run through another process";
  const Told told = client.send(call);
  EXPECT_EQ(told.result()["structuredContent"], (Json{{"value", "blue"}})) << told.last();
  EXPECT_EQ(again.get(runs + "?graph=killed_ask").json().size(), 1u);
}

TEST(McpLegacy, a_question_is_a_form_and_what_is_entered_goes_on_with_the_run) {
  const Server server;
  add_graph(server, asking_tool("form_ask", {{"type", "object"},
                                             {"properties",
                                              {{"size", {{"type", "string"}, {"enum", {"small", "large"}}}},
                                               {"cups", {{"type", "integer"}, {"default", 1}}}}},
                                             {"required", Json::array({"size"})}}));
  LegacyClient client(server.port(), shows_forms);
  McpStream stream(server.port(), rpc_request(9, "tools/call", {{"name", "form_ask"}}), client.headers());
  const Json form = stream.next();
  EXPECT_EQ(form["method"], "elicitation/create");
  EXPECT_EQ(form["params"]["message"], "Which one?");
  EXPECT_EQ(form["params"]["requestedSchema"]["properties"]["cups"]["default"], 1);
  const Json wrong = {{"action", "accept"}, {"content", {{"size", "huge"}}}};
  const Told refused = client.send({{"jsonrpc", "2.0"}, {"id", form["id"]}, {"result", wrong}});
  EXPECT_EQ(refused.status, 400) << refused.error();
  const Json entered = {{"action", "accept"}, {"content", {{"size", "large"}, {"cups", 2}}}};
  EXPECT_EQ(client.send({{"jsonrpc", "2.0"}, {"id", form["id"]}, {"result", entered}}).status, 202);
  const Json told = stream.next();
  EXPECT_EQ(told["result"]["structuredContent"], (Json{{"value", entered["content"]}})) << told;
}

TEST(McpLegacy, a_question_of_a_called_run_is_a_form_of_the_call) {
  const Server server;
  const Beside working({"work"});
  add_graph(server, asking_tool("form_below", {{"type", "string"}}));
  add_graph(server, calling_tool("form_above", "form_below"));
  LegacyClient client(server.port(), shows_forms);
  for (const bool accepts : {true, false}) {
    McpStream stream(server.port(), rpc_request(accepts ? 9 : 10, "tools/call", {{"name", "form_above"}}),
                     client.headers());
    const Json form = stream.next();
    ASSERT_EQ(form["method"], "elicitation/create") << form;
    const Json entered =
        accepts ? Json{{"action", "accept"}, {"content", {{"answer", "blue"}}}} : Json{{"action", "decline"}};
    EXPECT_EQ(client.send({{"jsonrpc", "2.0"}, {"id", form["id"]}, {"result", entered}}).status, 202);
    const Json told = stream.next();
    if (accepts) {
      EXPECT_EQ(told["result"]["structuredContent"]["came"], (Json{{"value", "blue"}})) << told;
    } else {
      EXPECT_NE(text_of(told["result"]).find("stays open"), std::string::npos) << told;
    }
  }
}

TEST(McpLegacy, a_client_without_forms_is_given_the_question_in_words) {
  const Server server;
  add_graph(server, asking_tool("worded_ask", {{"type", "string"}}));
  LegacyClient client(server.port());
  const Json result = client.call("worded_ask").result();
  const std::string run = server.get(runs + "?graph=worded_ask").json()[0]["run"];
  const std::string text = result["content"][0]["text"];
  EXPECT_NE(text.find("Run " + run + " waits for the answer to question q1: Which one?"), std::string::npos) << text;
  const Told answered = client.call("cairn_answer", {{"run", run}, {"value", "blue"}});
  EXPECT_EQ(answered.result()["isError"], false) << answered.last();
  EXPECT_EQ(client.call("cairn_show_run", {{"run", run}}).result()["structuredContent"]["output"],
            (Json{{"value", "blue"}}));
}

TEST(McpLegacy, a_form_that_is_declined_leaves_the_question_open_and_ends_the_call) {
  const Server server;
  add_graph(server, asking_tool("declined_ask", {{"type", "boolean"}}));
  LegacyClient client(server.port(), shows_forms);
  std::string text;
  std::atomic<bool> is_answered{false};
  std::thread caller([&] {
    text = LegacyClient(server.port(), shows_forms).call("declined_ask").result()["content"][0]["text"];
    is_answered = true;
  });
  std::string run;
  EXPECT_TRUE(wait_until([&] {
    const Json started = server.get(runs + "?graph=declined_ask").json();
    if (!started.empty()) run = started[0]["run"];
    return !run.empty();
  }));
  EXPECT_TRUE(wait_until([&] {
    client.send({{"jsonrpc", "2.0"}, {"id", run + "/q1"}, {"result", {{"action", "decline"}}}});
    return is_answered.load();
  }));
  caller.join();
  EXPECT_NE(text.find("declined"), std::string::npos) << text;
  EXPECT_EQ(server.get(runs + "/" + run).json()["questions"].size(), 1u);
}

TEST(McpLegacy, a_form_that_the_client_cannot_show_ends_the_call_as_a_declined_one_does) {
  const Server server;
  add_graph(server, asking_tool("unshown_ask", {{"type", "boolean"}}));
  LegacyClient client(server.port(), shows_forms);
  McpStream stream(server.port(), rpc_request(9, "tools/call", {{"name", "unshown_ask"}}), client.headers());
  const Json form = stream.next();
  const Json error = {{"code", -32603}, {"message", "no"}};
  EXPECT_EQ(client.send({{"jsonrpc", "2.0"}, {"id", form["id"]}, {"error", error}}).status, 202);
  const Json told = stream.next();
  EXPECT_NE(text_of(told["result"]).find("stays open"), std::string::npos) << told;
  EXPECT_EQ(server.get(runs + "?graph=unshown_ask").json()[0]["status"], "waiting");
}

TEST(McpLegacy, progress_is_sent_where_it_is_asked_for_and_always_increases) {
  const Server server;
  add_graph(server, echo_tool("progress_echo"));
  const Beside working({"work"});
  LegacyClient client(server.port());
  const Told told = client.ask(
      "tools/call", {{"name", "progress_echo"}, {"arguments", {{"text", "x"}}}, {"_meta", {{"progressToken", "t"}}}});
  std::int64_t last = 0;
  for (const Json& message : told.messages) {
    if (message.value("method", "") != "notifications/progress") continue;
    EXPECT_EQ(message["params"]["progressToken"], "t");
    EXPECT_GT(message["params"]["progress"], last);
    last = message["params"]["progress"];
  }
  EXPECT_GE(last, 3) << "started, a step, finished";
  EXPECT_EQ(told.result()["isError"], false);
}

TEST(McpLegacy, a_call_that_is_cancelled_cancels_its_run_and_gets_no_answer) {
  const Server server;
  add_graph(server, asking_tool("cancelled_ask", {{"type", "string"}}));
  LegacyClient client(server.port(), shows_forms);
  Told told;
  std::thread caller([&] { told = client.send(rpc_request(4, "tools/call", {{"name", "cancelled_ask"}})); });
  EXPECT_TRUE(wait_until([&] { return !server.get(runs + "?graph=cancelled_ask").json().empty(); }));
  EXPECT_EQ(client
                .send({{"jsonrpc", "2.0"},
                       {"method", "notifications/cancelled"},
                       {"params", {{"requestId", 4}, {"reason", "no"}}}})
                .status,
            202);
  caller.join();
  EXPECT_EQ(server.get(runs + "?graph=cancelled_ask").json()[0]["status"], "aborted");
  EXPECT_EQ(told.status, 200);
  for (const Json& message : told.messages) EXPECT_EQ(message["method"], "elicitation/create") << message;
}

TEST(McpLegacy, a_call_whose_cancelling_came_first_gets_no_answer_and_its_run_is_cancelled) {
  const Server server;
  add_graph(server, asking_tool("early_cancelled", {{"type", "string"}}));
  const LegacyClient client(server.port(), shows_forms);
  EXPECT_EQ(
      client.send({{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 4}}}}).status,
      202);
  const Told told = client.send(rpc_request(4, "tools/call", {{"name", "early_cancelled"}}));
  EXPECT_EQ(told.status, 200);
  for (const Json& message : told.messages) EXPECT_EQ(message["method"], "elicitation/create") << message;
  EXPECT_EQ(server.get(runs + "?graph=early_cancelled").json()[0]["status"], "aborted");
}

TEST(McpLegacy, a_call_with_a_key_of_its_own_is_cancelled_by_its_request) {
  const Server server;
  add_graph(server, asking_tool("keyed_ask", {{"type", "string"}}));
  LegacyClient client(server.port(), shows_forms);
  const Json call = rpc_request(4, "tools/call", {{"name", "keyed_ask"}, {"_meta", {{"cairn/key", "monday"}}}});
  McpStream stream(server.port(), call, client.headers());
  EXPECT_EQ(stream.next()["method"], "elicitation/create");
  const auto cancel = [&](int id) {
    return client.send({{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", id}}}});
  };
  EXPECT_EQ(cancel(5).status, 202);
  EXPECT_EQ(server.get(runs + "?graph=keyed_ask").json()[0]["status"], "waiting") << "another request";
  EXPECT_EQ(cancel(4).status, 202);
  EXPECT_EQ(server.get(runs + "?graph=keyed_ask").json()[0]["status"], "aborted");
}

TEST(McpLegacy, a_call_on_stdio_is_cancelled_in_the_same_way) {
  const Server server;
  add_graph(server, asking_tool("stdio_cancelled", {{"type", "string"}}));
  const std::vector<Json> said = speak_mcp(
      {rpc_request(1, "initialize", {{"protocolVersion", "2025-11-25"}, {"capabilities", shows_forms}}).dump(),
       rpc_request(2, "tools/call", {{"name", "stdio_cancelled"}}).dump(),
       R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})",
       rpc_request(3, "ping").dump()},
      2);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[1]["id"], 3);
  EXPECT_EQ(server.get(runs + "?graph=stdio_cancelled").json()[0]["status"], "aborted");
}

TEST(McpLegacy, a_form_on_stdio_is_answered_by_a_response) {
  const Server server;
  add_graph(server, asking_tool("stdio_form", {{"type", "integer"}}));
  const std::string run =
      server.post(runs, {{"graph", "stdio_form"}, {"key", "k"}}).json()["run"];  // its form's id is known
  const Json answer = {
      {"jsonrpc", "2.0"}, {"id", run + "/q1"}, {"result", {{"action", "accept"}, {"content", {{"answer", 7}}}}}};
  const std::vector<Json> said = speak_mcp({answer.dump(), rpc_request(1, "ping").dump()}, 1);
  ASSERT_EQ(said.size(), 1u) << "a response has no answer";
  EXPECT_EQ(server.get(runs + "/" + run).json()["output"], (Json{{"value", 7}}));
}

TEST(McpLegacy, a_run_that_takes_longer_is_named_and_goes_on) {
  const Server server({"--mcp-wait-ms", "100"});
  add_graph(server, echo_tool("slow_echo"));  // no one works
  LegacyClient client(server.port());
  const Json slow = client.call("slow_echo", {{"text", "x"}}).result();
  const Json run = server.get(runs + "?graph=slow_echo").json()[0];
  EXPECT_EQ(run["status"], "running");
  EXPECT_NE(text_of(slow).find("Run " + run["run"].get<std::string>() + " goes on."), std::string::npos) << slow;
  EXPECT_EQ(slow["isError"], true) << "a client refuses a result without a value where the tool has a schema for it";
}

TEST(McpLegacy, a_run_that_failed_is_an_error_with_its_reason) {
  const Server server;
  Json failing = asking_tool("failing", nullptr);
  failing["nodes"]["end"] = {{"end", {{"status", "failed"}, {"reason", "No coffee today."}}}};
  add_graph(server, failing);
  LegacyClient client(server.port());
  const Json call = rpc_request("k", "tools/call", {{"name", "failing"}, {"_meta", {{"cairn/key", "monday"}}}});
  EXPECT_NE(text_of(client.send(call).result()).find("waits for the answer"), std::string::npos);
  const std::string run = server.get(runs + "?graph=failing").json()[0]["run"];
  EXPECT_EQ(server.post(runs + "/" + run + "/answers", {{"value", "y"}}).status, 200);
  const Json result = client.send(call).result();
  EXPECT_EQ(result["isError"], true);
  EXPECT_NE(text_of(result).find("Run " + run + " has failed: No coffee today."), std::string::npos) << result;
}

TEST(McpLegacy, an_exposed_graph_may_give_blocks_of_the_protocol_itself) {
  const Server server;
  Json graph = asking_tool("blocks", nullptr);
  const Json blocks = {{{"type", "text"}, {"text", "a"}},
                       {{"type", "resource"}, {"resource", {{"uri", "test://x"}, {"text", "b"}}}}};
  graph["nodes"]["end"]["end"]["output"] = {{"content", blocks}};
  add_graph(server, graph);
  LegacyClient client(server.port());
  const Json call = rpc_request(1, "tools/call", {{"name", "blocks"}, {"_meta", {{"cairn/key", "k"}}}});
  client.send(call);
  const std::string run = server.get(runs + "?graph=blocks").json()[0]["run"];
  EXPECT_EQ(server.post(runs + "/" + run + "/answers", {{"value", "y"}}).status, 200);
  const Told told = client.send(call);
  EXPECT_EQ(told.result()["content"], blocks) << told.last();
}

}  // namespace
}  // namespace cairn::program
