// The Model Context Protocol of 2026-07-28 over HTTP, by its text: no handshake, headers that repeat the message,
// result types, questions as input requests, runs as tasks.
#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <thread>

#include "tests/ops/mcp/mcp_client.hpp"

namespace cairn::program {
namespace {

const Json tasks = {{"extensions", {{"io.modelcontextprotocol/tasks", Json::object()}}}};
const Json tasks_and_forms = {{"elicitation", Json::object()},
                              {"extensions", {{"io.modelcontextprotocol/tasks", Json::object()}}}};

Json call_of(const Json& id, const std::string& tool, const Json& arguments = Json::object(),
             const Json& capabilities = Json::object()) {
  return modern_request(id, "tools/call", {{"name", tool}, {"arguments", arguments}}, capabilities);
}

TEST(McpModern, server_discover_names_revisions_capabilities_and_the_server) {
  const Server server;
  const Told told = send_modern(server.port(), modern_request("d", "server/discover"));
  ASSERT_EQ(told.status, 200);
  const Json result = told.result();
  EXPECT_EQ(result["resultType"], "complete");
  EXPECT_EQ(result["supportedVersions"], (Json{"2026-07-28", "2025-11-25", "2025-06-18"}));
  EXPECT_TRUE(result["capabilities"]["extensions"].contains("io.modelcontextprotocol/tasks"));
  EXPECT_EQ(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "cairn");
  EXPECT_GT(result["ttlMs"], 0);
  EXPECT_EQ(result["cacheScope"], "public");
}

TEST(McpModern, lists_can_be_cached_and_come_in_the_same_order) {
  const Server server;
  for (const char* method : {"tools/list", "resources/list", "resources/templates/list"}) {
    const Told told = send_modern(server.port(), modern_request(1, method));
    EXPECT_EQ(told.result()["resultType"], "complete") << method;
    EXPECT_TRUE(told.result().contains("ttlMs")) << method;
    EXPECT_TRUE(told.result().contains("cacheScope")) << method;
  }
  std::vector<std::string> names;
  const Json listed = send_modern(server.port(), modern_request(1, "tools/list")).result();
  for (const Json& tool : listed["tools"]) names.push_back(tool["name"]);
  EXPECT_GE(names.size(), 10u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(McpModern, headers_that_differ_from_the_message_are_refused) {
  const Server server;
  const Json message = call_of(1, "cairn_list_runs");
  const auto sent = [&](const std::string& name, const std::string& value) {
    Headers headers = modern_headers(message);
    std::erase_if(headers, [&](const auto& header) { return header.first == name; });
    if (!value.empty()) headers.emplace_back(name, value);
    return send_mcp(server.port(), message.dump(), headers);
  };
  for (const auto& [name, value] : Headers{{"MCP-Protocol-Version", ""},
                                           {"MCP-Protocol-Version", "2025-11-25"},
                                           {"Mcp-Method", ""},
                                           {"Mcp-Method", "tools/list"},
                                           {"Mcp-Name", ""},
                                           {"Mcp-Name", "cairn_events"},
                                           {"Mcp-Name", "=?base64?Y2Fpcm5?="}}) {
    const Told told = sent(name, value);
    EXPECT_EQ(told.status, 400) << name << ": " << value;
    EXPECT_EQ(told.error()["code"], -32020) << name << ": " << value;
    EXPECT_EQ(told.last()["id"], 1);
  }
  EXPECT_EQ(sent("Mcp-Name", "=?base64?Y2Fpcm5fbGlzdF9ydW5z?=").status, 200) << "encoded, it is the name";
  EXPECT_EQ(sent("Mcp-Session-Id", "whatever").status, 200) << "it is ignored";
}

TEST(McpModern, what_a_message_must_have_is_asked_for_by_name) {
  const Server server;
  Json unknown = modern_request(1, "tools/list");
  unknown["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1900-01-01";
  const Told told =
      send_mcp(server.port(), unknown.dump(), {{"MCP-Protocol-Version", "1900-01-01"}, {"Mcp-Method", "tools/list"}});
  EXPECT_EQ(told.status, 400);
  EXPECT_EQ(told.error()["code"], -32022);
  EXPECT_EQ(told.error()["data"]["requested"], "1900-01-01");
  EXPECT_EQ(told.error()["data"]["supported"][0], "2026-07-28");
  Json lacks = modern_request(1, "tools/list");
  lacks["params"]["_meta"].erase("io.modelcontextprotocol/clientCapabilities");
  const Told incomplete = send_modern(server.port(), lacks);
  EXPECT_EQ(incomplete.status, 400);
  EXPECT_EQ(incomplete.error()["code"], -32602);
  for (const char* method : {"nonsense", "initialize", "ping", "logging/setLevel", "prompts/list"}) {
    const Told none = send_modern(server.port(), modern_request(1, method));
    EXPECT_EQ(none.status, 404) << method;
    EXPECT_EQ(none.error()["code"], -32601) << method;
  }
}

TEST(McpModern, a_call_gives_the_output_with_a_result_type) {
  const Server server;
  add_graph(server, echo_tool("modern_echo"));
  const Beside working({"work"});
  const Json result = send_modern(server.port(), call_of(1, "modern_echo", {{"text", "hello"}})).result();
  EXPECT_EQ(result["resultType"], "complete") << result;
  EXPECT_EQ(result["structuredContent"], (Json{{"said", "hello"}}));
}

TEST(McpModern, a_repeated_call_is_the_same_run_where_the_client_names_a_key_or_ids_that_last) {
  const Server server;
  add_graph(server, echo_tool("keyed_echo"));
  const Beside working({"work"});
  const auto count = [&] { return server.get(runs + "?graph=keyed_echo").json().size(); };
  const Json arguments = {{"text", "x"}};
  send_modern(server.port(), call_of(1, "keyed_echo", arguments));
  send_modern(server.port(), call_of(1, "keyed_echo", arguments));
  EXPECT_EQ(count(), 2u) << "an id may come again since 2026-07-28";
  const std::string id = "8d5a3c1e-9f0b-4b4e-8a43-6f1d2c3b4a59";
  send_modern(server.port(), call_of(id, "keyed_echo", arguments));
  send_modern(server.port(), call_of(id, "keyed_echo", arguments));
  EXPECT_EQ(count(), 3u);
  Json keyed = call_of(2, "keyed_echo", arguments);
  keyed["params"]["_meta"]["cairn/key"] = "monday";
  send_modern(server.port(), keyed);
  keyed["id"] = 3;
  send_modern(server.port(), keyed);
  EXPECT_EQ(count(), 4u);
  keyed["params"]["arguments"]["text"] = "another";
  EXPECT_EQ(send_modern(server.port(), keyed).result()["isError"], true) << "a key with another input";
}

TEST(McpModern, a_question_is_an_input_request_and_the_call_comes_again_with_the_answer) {
  const Server server;
  add_graph(server, asking_tool("input_ask", {{"type", "string"}, {"enum", {"small", "large"}}}));
  const Json call = call_of(1, "input_ask", Json::object(), shows_forms);
  const Json asked = send_modern(server.port(), call).result();
  EXPECT_EQ(asked["resultType"], "input_required") << asked;
  const Json& form = asked["inputRequests"]["q1"];
  EXPECT_EQ(form["method"], "elicitation/create");
  EXPECT_EQ(form["params"]["mode"], "form");
  EXPECT_EQ(form["params"]["requestedSchema"]["properties"]["answer"]["enum"], (Json{"small", "large"}));
  Json again = call_of(2, "input_ask", Json::object(), shows_forms);
  again["params"]["requestState"] = asked["requestState"];
  EXPECT_EQ(send_modern(server.port(), again).result()["resultType"], "input_required") << "it is asked for again";
  again["params"]["inputResponses"] = {{"q1", {{"action", "accept"}, {"content", {{"answer", "large"}}}}},
                                       {"q9", {{"action", "accept"}, {"content", Json::object()}}}};
  again["id"] = 3;
  const Json result = send_modern(server.port(), again).result();
  EXPECT_EQ(result["structuredContent"], (Json{{"value", "large"}})) << result;
  EXPECT_EQ(server.get(runs + "?graph=input_ask").json().size(), 1u);
}

TEST(McpModern, a_question_of_a_called_run_is_an_input_request_of_the_call) {
  const Server server;
  const Beside working({"work"});
  add_graph(server, asking_tool("below_ask", {{"type", "string"}, {"enum", {"small", "large"}}}));
  add_graph(server, calling_tool("middle_ask", "below_ask"));
  add_graph(server, calling_tool("above_ask", "middle_ask"));
  const Json asked = send_modern(server.port(), call_of(1, "above_ask", Json::object(), shows_forms)).result();
  EXPECT_EQ(asked["resultType"], "input_required") << asked;
  const std::string child = server.get(runs + "?graph=below_ask").json().at(0)["run"];
  ASSERT_TRUE(asked["inputRequests"].contains(child + "/q1")) << asked;
  Json again = call_of(2, "above_ask", Json::object(), shows_forms);
  again["params"]["requestState"] = asked["requestState"];
  again["params"]["inputResponses"] = {{child + "/q1", {{"action", "accept"}, {"content", {{"answer", "large"}}}}}};
  const Json result = send_modern(server.port(), again).result();
  EXPECT_EQ(result["structuredContent"]["came"]["came"], (Json{{"value", "large"}})) << result;
}

TEST(McpModern, a_question_of_a_called_run_is_a_task_that_needs_input) {
  const Server server;
  const Beside working({"work"});
  add_graph(server, asking_tool("task_below", {{"type", "integer"}}));
  add_graph(server, calling_tool("task_above", "task_below"));
  const std::string run =
      send_modern(server.port(), call_of(1, "task_above", Json::object(), tasks_and_forms)).result()["taskId"];
  Json asked;
  const auto get = [&] {
    asked = send_modern(server.port(), modern_request(2, "tasks/get", {{"taskId", run}}, tasks_and_forms)).result();
    return asked["status"];
  };
  EXPECT_TRUE(wait_until([&] { return get() == "input_required"; })) << asked;
  ASSERT_EQ(asked["inputRequests"].size(), 1u) << asked;
  const Json answer = {{asked["inputRequests"].begin().key(), {{"action", "accept"}, {"content", {{"answer", 7}}}}}};
  const Json update = modern_request(3, "tasks/update", {{"taskId", run}, {"inputResponses", answer}}, tasks_and_forms);
  EXPECT_EQ(send_modern(server.port(), update).result()["resultType"], "complete");
  EXPECT_TRUE(wait_until([&] { return get() == "completed"; })) << asked;
  EXPECT_EQ(asked["result"]["structuredContent"]["came"], (Json{{"value", 7}})) << asked;
}

// A question that no form can show.
Json deep_tool(const std::string& name) {
  return asking_tool(
      name,
      {{"type", "object"}, {"properties", {{"deep", {{"type", "object"}}}}}, {"required", Json::array({"deep"})}});
}

const Json opens_pages = {{"elicitation", {{"form", Json::object()}, {"url", Json::object()}}}};

// That of a call of the tool, with the person led to the page of question q1.
Json led_call(const Json& id, const std::string& tool, const Json& asked) {
  Json again = call_of(id, tool, Json::object(), opens_pages);
  again["params"]["requestState"] = asked["requestState"];
  again["params"]["inputResponses"] = {{"q1", {{"action", "accept"}}}};
  return again;
}

TEST(McpModern, a_question_that_no_form_can_show_is_a_page_of_the_console) {
  const Server server({"--console-url", "https://cairn.example/console/"});
  add_graph(server, deep_tool("paged_ask"));
  const Json asked = send_modern(server.port(), call_of(1, "paged_ask", Json::object(), opens_pages)).result();
  EXPECT_EQ(asked["resultType"], "input_required") << asked;
  const std::string run = asked["requestState"];
  const Json request = {{"method", "elicitation/create"},
                        {"params",
                         {{"mode", "url"},
                          {"message", "Which one?"},
                          {"url", "https://cairn.example/console/#/run/" + run + "?view=questions"}}}};
  EXPECT_EQ(asked["inputRequests"], (Json{{"q1", request}}));
  const Json again = led_call(2, "paged_ask", asked);
  McpStream stream(server.port(), again, modern_headers(again));
  EXPECT_EQ(server.post(runs + "/" + run + "/answers", {{"value", {{"deep", Json::object()}}}}).status, 200);
  const Json last = stream.next();
  EXPECT_EQ(last["result"]["structuredContent"], (Json{{"value", {{"deep", Json::object()}}}})) << last;
}

TEST(McpModern, a_page_that_was_opened_is_asked_for_again_when_the_call_has_waited) {
  const Server server({"--console-url", "https://cairn.example", "--mcp-wait-ms", "3000"});
  add_graph(server, deep_tool("unanswered_ask"));
  const Json call = call_of(1, "unanswered_ask", Json::object(), opens_pages);
  const Json asked = send_modern(server.port(), call).result();
  const Json again = send_modern(server.port(), led_call(2, "unanswered_ask", asked)).result();
  EXPECT_EQ(again["resultType"], "input_required") << again;
  EXPECT_EQ(again["inputRequests"], asked["inputRequests"]);
  EXPECT_EQ(server.get(runs + "?graph=unanswered_ask").json().at(0)["status"], "waiting");
  const Json both = {{"elicitation", {{"url", Json::object()}}},
                     {"extensions", {{"io.modelcontextprotocol/tasks", Json::object()}}}};
  const auto task = [&](const std::string& method, Json params) {
    params["taskId"] = asked["requestState"];
    return send_modern(server.port(), modern_request(3, method, std::move(params), both)).result();
  };
  EXPECT_EQ(task("tasks/get", Json::object())["inputRequests"], asked["inputRequests"]);
  EXPECT_EQ(task("tasks/update", {{"inputResponses", {{"q1", {{"action", "accept"}}}}}})["resultType"], "complete");
  EXPECT_EQ(task("tasks/get", Json::object())["status"], "input_required");
}

TEST(McpModern, a_question_that_no_form_can_show_is_put_in_words) {
  const Server server;
  add_graph(server, deep_tool("deep_ask"));
  const Json result = send_modern(server.port(), call_of(1, "deep_ask", Json::object(), shows_forms)).result();
  EXPECT_EQ(result["resultType"], "complete");
  EXPECT_NE(result["content"][0]["text"].get<std::string>().find("question q1"), std::string::npos) << result;
}

TEST(McpModern, a_foreign_request_state_is_refused) {
  const Server server;
  add_graph(server, asking_tool("state_ask", nullptr));
  add_graph(server, asking_tool("state_other", nullptr));
  const Json asked = send_modern(server.port(), call_of(1, "state_ask", Json::object(), shows_forms)).result();
  for (const Json& state : {asked["requestState"], Json("x"), Json(7), Json(nobody)}) {
    Json again = call_of(2, "state_other", Json::object(), shows_forms);
    again["params"]["requestState"] = state;
    const Told told = send_modern(server.port(), again);
    const bool is_unknown = state == nobody;  // the run's own refusal
    EXPECT_EQ(is_unknown ? told.result()["isError"] : Json(told.error()["code"] == -32602), true) << told.last();
  }
}

TEST(McpModern, a_run_is_a_task_that_is_durable_before_the_answer) {
  const Server server;
  add_graph(server, asking_tool("task_ask", {{"type", "integer"}}));
  const Told told = send_modern(server.port(), call_of(1, "task_ask", Json::object(), tasks_and_forms));
  const Json created = told.result();
  ASSERT_EQ(created["resultType"], "task") << told.last();
  EXPECT_EQ(created["status"], "working");
  EXPECT_TRUE(created.contains("ttlMs"));
  const std::string run = created["taskId"];
  EXPECT_EQ(server.get(runs + "/" + run).status, 200);
  const auto get = [&] {
    return send_modern(server.port(), modern_request(2, "tasks/get", {{"taskId", run}}, tasks_and_forms)).result();
  };
  const Json asked = get();
  EXPECT_EQ(asked["resultType"], "complete");
  EXPECT_EQ(asked["status"], "input_required") << asked;
  EXPECT_EQ(asked["inputRequests"]["q1"]["params"]["requestedSchema"]["properties"]["answer"]["type"], "integer");
  const auto update = [&](const Json& responses) {
    return send_modern(
        server.port(),
        modern_request(3, "tasks/update", {{"taskId", run}, {"inputResponses", responses}}, tasks_and_forms));
  };
  EXPECT_EQ(update({{"q1", {{"action", "accept"}, {"content", {{"answer", "seven"}}}}}}).error()["code"], -32602);
  const Json answer = {{"q1", {{"action", "accept"}, {"content", {{"answer", 7}}}}}};
  EXPECT_EQ(update(answer).result()["resultType"], "complete");
  EXPECT_EQ(update(answer).result()["resultType"], "complete") << "what is answered already is ignored";
  const Json done = get();
  EXPECT_EQ(done["status"], "completed") << done;
  EXPECT_EQ(done["result"]["structuredContent"], (Json{{"value", 7}}));
}

TEST(McpModern, a_task_that_is_cancelled_is_a_run_that_was_and_one_that_failed_has_an_error_result) {
  const Server server;
  add_graph(server, asking_tool("task_cancel", nullptr));
  Json failing = asking_tool("task_fail", nullptr);
  failing["nodes"]["end"] = {{"end", {{"status", "failed"}, {"reason", "No."}}}};
  add_graph(server, failing);
  const auto begin = [&](const std::string& tool) -> std::string {
    return send_modern(server.port(), call_of(1, tool, Json::object(), tasks)).result()["taskId"];
  };
  const auto ask = [&](const std::string& method, const std::string& run) {
    return send_modern(server.port(), modern_request(2, method, {{"taskId", run}}, tasks));
  };
  const std::string cancelled = begin("task_cancel");
  EXPECT_EQ(ask("tasks/get", cancelled).result()["status"], "working") << "this client shows no forms";
  EXPECT_NE(ask("tasks/get", cancelled).result()["statusMessage"].get<std::string>().find("q1"), std::string::npos);
  EXPECT_EQ(ask("tasks/cancel", cancelled).result()["resultType"], "complete");
  EXPECT_EQ(ask("tasks/cancel", cancelled).result()["resultType"], "complete") << "again";
  EXPECT_EQ(ask("tasks/get", cancelled).result()["status"], "cancelled");
  const std::string failed = begin("task_fail");
  server.post(runs + "/" + failed + "/answers", {{"value", "x"}});
  const Json task = ask("tasks/get", failed).result();
  EXPECT_EQ(task["status"], "completed") << task;
  EXPECT_EQ(task["result"]["isError"], true);
}

TEST(McpModern, tasks_are_for_clients_that_name_the_extension_and_for_known_ids) {
  const Server server;
  const Told lacks = send_modern(server.port(), modern_request(1, "tasks/get", {{"taskId", nobody}}));
  EXPECT_EQ(lacks.status, 400);
  EXPECT_EQ(lacks.error()["code"], -32021);
  EXPECT_TRUE(lacks.error()["data"]["requiredCapabilities"]["extensions"].contains("io.modelcontextprotocol/tasks"));
  for (const char* method : {"tasks/get", "tasks/update", "tasks/cancel"}) {
    const Json params = {{"taskId", nobody}, {"inputResponses", Json::object()}};
    const Told unknown = send_modern(server.port(), modern_request(1, method, params, tasks));
    EXPECT_EQ(unknown.error()["code"], -32602) << method;
    const Told none = send_modern(server.port(), modern_request(1, method, {{"taskId", "x"}}, tasks));
    EXPECT_EQ(none.error()["code"], -32602) << method;
  }
}

TEST(McpModern, a_call_that_finds_no_place_for_its_stream_keeps_its_run_only_if_it_has_a_key) {
  const Server server({"--connections", "2"});
  add_graph(server, echo_tool("placeless_echo"));  // no one works
  const Json input = {{"text", "x"}};
  const std::string other = server.post(runs, {{"graph", "placeless_echo"}, {"input", input}}).json()["run"];
  const Json unkeyed = call_of(1, "placeless_echo", input);
  Json keyed = call_of(2, "placeless_echo", input);
  keyed["params"]["_meta"]["cairn/key"] = "monday";
  {
    const ApiStreamReader held(server.port(), runs + "/" + other + "/events");
    EXPECT_EQ(send_modern(server.port(), unkeyed).status, 503);
    EXPECT_EQ(send_modern(server.port(), keyed).status, 503);
  }
  std::multiset<std::string> standing;
  const Json started = server.get(runs + "?graph=placeless_echo").json();
  for (const Json& run : started) standing.insert(run["status"]);
  EXPECT_EQ(standing, (std::multiset<std::string>{"aborted", "running", "running"})) << started;
}

TEST(McpModern, the_end_of_its_stream_cancels_a_request_and_its_run) {
  const Server server;
  add_graph(server, echo_tool("gone_echo"));  // no one works
  {
    Json call = call_of(1, "gone_echo", {{"text", "x"}});
    call["params"]["_meta"]["progressToken"] = 1;
    McpStream stream(server.port(), call, modern_headers(call));
    EXPECT_EQ(stream.next()["method"], "notifications/progress") << "it waits";
  }
  EXPECT_TRUE(wait_until([&] {
    const Json started = server.get(runs + "?graph=gone_echo").json();
    return !started.empty() && started[0]["status"] == "aborted";
  }));
}

TEST(McpModern, the_same_is_said_on_stdio_with_a_call_and_an_input_request) {
  const Server server;
  add_graph(server, echo_tool("stdio_modern"));
  add_graph(server, asking_tool("stdio_asks", {{"type", "integer"}}));
  const Beside working({"work"});
  const Json called = call_of(1, "stdio_modern", {{"text", "hi"}});
  Json asks = call_of(2, "stdio_asks", Json::object(), shows_forms);
  std::vector<Json> said = speak_mcp({called.dump(), asks.dump()}, 2);
  ASSERT_EQ(said.size(), 2u);
  if (said[0]["id"] == 2) std::swap(said[0], said[1]);
  EXPECT_EQ(said[0]["result"]["resultType"], "complete") << said[0];
  EXPECT_EQ(said[0]["result"]["structuredContent"], (Json{{"said", "hi"}})) << said[0];
  EXPECT_EQ(said[1]["result"]["resultType"], "input_required") << said[1];
  asks["id"] = 3;
  asks["params"]["requestState"] = said[1]["result"]["requestState"];
  asks["params"]["inputResponses"] = {{"q1", {{"action", "accept"}, {"content", {{"answer", 7}}}}}};
  said = speak_mcp({asks.dump()}, 1);
  ASSERT_EQ(said.size(), 1u) << "another process takes the answer";
  EXPECT_EQ(said[0]["result"]["structuredContent"], (Json{{"value", 7}})) << said[0];
  EXPECT_EQ(server.get(runs + "?graph=stdio_asks").json().size(), 1u);
}

// Such a run began a trace of its own, whatever the agent had said.
TEST(McpModern, a_run_is_under_the_span_that_its_call_names) {
  const Server server({"--mcp-wait-ms", "0"});
  add_graph(server, echo_tool("traced_tool"));
  const std::string spans[] = {"00f067aa0ba902b7", "00f067aa0ba902b8"};
  const auto parent = [](const std::string& span) { return "00-4bf92f3577b34da6a3ce929d0e0e4736-" + span + "-01"; };
  Json message = call_of(1, "traced_tool", {{"text", "a"}});
  message["params"]["_meta"]["traceparent"] = parent(spans[0]);
  EXPECT_EQ(send_modern(server.port(), message).status, 200);
  EXPECT_EQ(send_modern(server.port(), message, {{"traceparent", parent(spans[1])}}).status, 200);
  for (const std::string& span : spans) {
    const Json found = server.get(runs + "?graph=traced_tool&tag=traceparent=" + parent(span)).json();
    EXPECT_EQ(found.size(), 1u) << found;
  }
}

TEST(McpModern, a_server_that_is_killed_between_a_task_and_its_result_loses_nothing) {
  auto server = std::make_unique<Server>();
  add_graph(*server, asking_tool("killed_task", {{"type", "integer"}}));
  const std::uint16_t port = server->port();
  const std::string run =
      send_modern(port, call_of(1, "killed_task", Json::object(), tasks_and_forms)).result().at("taskId");
  server->process().signal(SIGKILL);
  server->process().wait();
  server.reset();
  const Server again({"--listen", "127.0.0.1:" + std::to_string(port)});
  const auto ask = [&](const char* method, Json params) {
    params["taskId"] = run;
    return send_modern(port, modern_request(2, method, std::move(params), tasks_and_forms)).result();
  };
  EXPECT_EQ(ask("tasks/get", Json::object())["status"], "input_required");
  const Json responses = {{"q1", {{"action", "accept"}, {"content", {{"answer", 7}}}}}};
  EXPECT_EQ(ask("tasks/update", {{"inputResponses", responses}})["resultType"], "complete");
  const Json done = ask("tasks/get", Json::object());
  EXPECT_EQ(done["status"], "completed") << done;
  EXPECT_EQ(done["result"]["structuredContent"], (Json{{"value", 7}})) << done;
  EXPECT_EQ(again.get(runs + "?graph=killed_task").json().size(), 1u);
}

}  // namespace
}  // namespace cairn::program
