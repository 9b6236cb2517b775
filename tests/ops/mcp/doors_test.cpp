// The doors of the Model Context Protocol: what a token may see and do, Cairn's own tools, resources, and bad input.
#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>

#include "tests/ops/mcp/mcp_client.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

std::set<std::string> tool_names(LegacyClient& client) {
  std::set<std::string> names;
  const Json listed = client.ask("tools/list").result();
  for (const Json& tool : listed["tools"]) names.insert(tool["name"]);
  return names;
}

std::string waiting_run(const Server& server, const std::string& graph) {
  EXPECT_EQ(server.post("/api/v1/graphs", asking_tool(graph, {{"type", "string"}})).status, 201);
  return server.post(runs, {{"graph", graph}, {"tags", {{"team", "a"}}}}).json().at("run");
}

TEST(McpDoors, the_ten_tools_work_on_a_run) {
  const Server server;
  const std::string run = waiting_run(server, "ten_tools");
  LegacyClient client(server.port());
  const auto call = [&](const std::string& tool, Json arguments) {
    arguments["run"] = run;
    const Told told = client.call(tool, arguments);
    EXPECT_EQ(told.result().value("isError", true), false) << tool << ": " << told.last();
    return told.result().value("structuredContent", Json());
  };
  const Json listed = client.call("cairn_list_runs", {{"graph", "ten_tools"}, {"tags", {{"team", "a"}}}}).result();
  EXPECT_EQ(listed["structuredContent"]["runs"][0]["run"], run) << listed;
  EXPECT_EQ(call("cairn_show_run", {})["status"], "waiting");
  EXPECT_EQ(call("cairn_show_run", {{"at", 1}})["seq"], 1);
  EXPECT_EQ(call("cairn_events", {{"limit", 1}})["events"].size(), 1u);
  EXPECT_EQ(call("cairn_events", {{"limit", 1}})["next"], "2");
  EXPECT_NE(call("cairn_explain", {})["reasons"].dump().find("q1"), std::string::npos);
  const Json forked = call("cairn_fork", {{"at", 2}});
  EXPECT_NE(forked["run"], run);
  call("cairn_answer", {{"value", "blue"}, {"question", "q1"}});
  EXPECT_EQ(call("cairn_show_run", {})["output"], (Json{{"value", "blue"}}));
  EXPECT_TRUE(call("cairn_diff", {{"with", forked["run"]}}).is_object());
  const Json verified = call("cairn_verify", {});
  EXPECT_EQ(verified["sound"], true) << verified;
  EXPECT_GT(verified["events"], 3);
  const Json cancelled = client.call("cairn_cancel", {{"run", forked["run"]}, {"reason", "enough"}}).result();
  EXPECT_EQ(cancelled["isError"], false) << cancelled;
  const Json retried = client.call("cairn_retry", {{"run", run}}).result();
  EXPECT_EQ(retried["isError"], true) << "it did not fail";
  EXPECT_NE(retried["content"][0]["text"].get<std::string>().find("Expected"), std::string::npos);
}

TEST(McpDoors, each_of_the_ten_says_what_it_does_to_runs) {
  const Server server;
  LegacyClient client(server.port());
  int read_only = 0, destructive = 0;
  const Json listed = client.ask("tools/list").result();
  for (const Json& tool : listed["tools"]) {
    if (!tool["name"].get<std::string>().starts_with("cairn_")) continue;
    read_only += tool["annotations"]["readOnlyHint"] ? 1 : 0;
    destructive += tool["annotations"]["destructiveHint"] ? 1 : 0;
  }
  EXPECT_EQ(read_only, 6);
  EXPECT_EQ(destructive, 1);
}

TEST(McpDoors, runs_and_graphs_are_resources_a_page_at_a_time) {
  const Server server;
  const std::string run = waiting_run(server, "as_resources");
  for (int n = 0; n < 60; ++n) server.post(runs, {{"graph", "as_resources"}});
  LegacyClient client(server.port());
  std::set<std::string> uris;
  std::string cursor;
  int pages = 0;
  do {
    Json params = Json::object();
    if (!cursor.empty()) params["cursor"] = cursor;
    const Json page = client.ask("resources/list", params).result();
    for (const Json& resource : page["resources"]) EXPECT_TRUE(uris.insert(resource["uri"]).second) << resource;
    cursor = page.value("nextCursor", "");
    ++pages;
  } while (!cursor.empty());
  EXPECT_GE(pages, 2);
  EXPECT_TRUE(uris.contains("cairn://run/" + run));
  EXPECT_TRUE(uris.contains("cairn://graph/as_resources"));
  const Json templates = client.ask("resources/templates/list").result()["resourceTemplates"];
  EXPECT_EQ(
      std::count_if(templates.begin(), templates.end(),
                    [](const Json& one) { return one["uriTemplate"].get<std::string>().starts_with("cairn://"); }),
      4);
  const auto read = [&](const std::string& uri) { return client.ask("resources/read", {{"uri", uri}}); };
  const auto value_at = [&](const std::string& uri) {
    const Told told = read(uri);
    return Json::parse(told.result().at("contents").at(0).at("text").get<std::string>());
  };
  EXPECT_EQ(value_at("cairn://run/" + run)["status"], "waiting");
  EXPECT_EQ(value_at("cairn://run/" + run + "?at=1")["seq"], 1);
  EXPECT_EQ(value_at("cairn://run/" + run + "/events")[0]["type"], "run_started");
  EXPECT_EQ(value_at("cairn://run/" + run + "/plan"), Json::array());
  EXPECT_EQ(value_at("cairn://graph/as_resources")["name"], "as_resources");
  for (const std::string& uri :
       {std::string("cairn://run/" + nobody), std::string("cairn://graph/none"), std::string("file:///etc/passwd"),
        std::string("cairn://run/"), std::string("cairn://")}) {
    EXPECT_EQ(read(uri).error()["code"], -32002) << uri;
    const Told modern = send_modern(server.port(), modern_request(1, "resources/read", {{"uri", uri}}));
    EXPECT_EQ(modern.error()["code"], -32602) << uri;
  }
  EXPECT_EQ(read("cairn://run/" + run + "?wait_ms=60000").error()["code"], -32602) << "it is answered at once";
}

TEST(McpDoors, a_token_sees_and_calls_what_its_roles_and_its_scope_cover) {
  const std::string dsn = new_database();
  const Variable there("CAIRN_DSN", dsn);
  const std::string admin = new_token(dsn, "boss", {"--role", "admin"});
  const Server server;
  EXPECT_EQ(server.post("/api/v1/graphs", asking_tool("mine", nullptr), bearer(admin)).status, 201);
  EXPECT_EQ(server.post("/api/v1/graphs", asking_tool("theirs", nullptr), bearer(admin)).status, 201);
  const std::string theirs = server.post(runs, {{"graph", "theirs"}}, bearer(admin)).json()["run"];
  const std::string reader = new_token(dsn, "reader", {"--role", "read"});
  const std::string agent =
      new_token(dsn, "agent", {"--role", "run", "--role", "read", "--role", "answer", "--scope", "graph=mine"});
  EXPECT_EQ(send_mcp(server.port(), rpc_request(1, "ping").dump()).status, 401);
  EXPECT_TRUE(
      wait_until([&] { return send_mcp(server.port(), rpc_request(1, "ping").dump(), bearer(agent)).status == 200; }));
  LegacyClient read_only(server.port(), Json::object(), bearer(reader));
  const std::set<std::string> seen = tool_names(read_only);
  EXPECT_TRUE(seen.contains("cairn_show_run"));
  EXPECT_FALSE(seen.contains("mine") || seen.contains("cairn_answer") || seen.contains("cairn_fork")) << "roles";
  EXPECT_EQ(read_only.call("cairn_cancel", {{"run", theirs}}).error()["code"], -32602);
  EXPECT_EQ(read_only.call("mine").error()["code"], -32602);
  LegacyClient scoped(server.port(), Json::object(), bearer(agent));
  const std::set<std::string> own = tool_names(scoped);
  EXPECT_TRUE(own.contains("mine") && own.contains("cairn_answer"));
  EXPECT_FALSE(own.contains("theirs") || own.contains("cairn_cancel"));
  EXPECT_EQ(scoped.call("theirs").error()["code"], -32602);
  EXPECT_EQ(scoped.call("cairn_show_run", {{"run", theirs}}).result()["isError"], true);
  EXPECT_EQ(scoped.ask("resources/read", {{"uri", "cairn://run/" + theirs}}).error()["code"], -32002);
  EXPECT_EQ(scoped.ask("resources/read", {{"uri", "cairn://graph/theirs"}}).error()["code"], -32002);
  const Json with_tasks = {{"extensions", {{"io.modelcontextprotocol/tasks", Json::object()}}}};
  for (const char* method : {"tasks/get", "tasks/update", "tasks/cancel"}) {
    const Json params = {{"taskId", theirs}, {"inputResponses", Json::object()}};
    const Told foreign = send_modern(server.port(), modern_request(1, method, params, with_tasks), bearer(agent));
    EXPECT_EQ(foreign.error()["code"], -32602) << method << foreign.last();
  }
  EXPECT_EQ(server.get(runs + "/" + theirs, bearer(admin)).json()["status"], "waiting");
  EXPECT_EQ(scoped.call("mine").result()["isError"], false);
  EXPECT_EQ(server.get(runs + "?graph=mine", bearer(admin)).json()[0]["status"], "waiting");
}

TEST(McpDoors, a_token_has_its_quota_of_runs_here_too) {
  const std::string dsn = new_database();
  const Variable there("CAIRN_DSN", dsn);
  const std::string admin = new_token(dsn, "boss", {"--role", "admin"});
  const std::string few = new_token(dsn, "few", {"--role", "run", "--role", "read", "--quota", "runs=1/1h"});
  const Server server;
  EXPECT_EQ(server.post("/api/v1/graphs", asking_tool("quota_ask", nullptr), bearer(admin)).status, 201);
  EXPECT_TRUE(
      wait_until([&] { return send_mcp(server.port(), rpc_request(1, "ping").dump(), bearer(few)).status == 200; }));
  LegacyClient client(server.port(), Json::object(), bearer(few));
  EXPECT_EQ(client.call("quota_ask").result()["isError"], false);
  const Json beyond = client.call("quota_ask").result();
  EXPECT_EQ(beyond["isError"], true);
  EXPECT_NE(beyond["content"][0]["text"].get<std::string>().find("Expected at most 1 new runs"), std::string::npos);
}

// A refusal would hide the run, and a client that tries again would start another one.
TEST(McpDoors, a_call_without_a_place_for_its_stream_says_that_its_run_goes_on) {
  const std::string dsn = new_database();
  const Variable there("CAIRN_DSN", dsn);
  const std::string admin = new_token(dsn, "boss", {"--role", "admin"});
  const std::string few = new_token(dsn, "few", {"--role", "run", "--role", "read", "--quota", "streams=1"});
  const Server server;
  EXPECT_EQ(server.post("/api/v1/graphs", asking_tool("placed_ask", nullptr), bearer(admin)).status, 201);
  EXPECT_TRUE(
      wait_until([&] { return send_mcp(server.port(), rpc_request(1, "ping").dump(), bearer(few)).status == 200; }));
  const std::string other = server.post(runs, {{"graph", "placed_ask"}}, bearer(admin)).json()["run"];
  const ApiStreamReader stream(server.port(), runs + "/" + other + "/events", bearer(few));
  LegacyClient client(server.port(), Json::object(), bearer(few));
  const Json result = client.call("placed_ask").result();
  EXPECT_NE(result["content"][0]["text"].get<std::string>().find("goes on"), std::string::npos) << result;
  EXPECT_EQ(server.get(runs + "?graph=placed_ask", bearer(admin)).json().size(), 2u);
}

TEST(McpDoors, what_is_no_message_gets_the_right_code_and_one_sentence) {
  const Server server({"--body-bytes", "2000"});
  struct Bad {
    std::string body;
    int status;
    int code;
  };
  const std::vector<Bad> all = {
      {"{", 400, -32700},
      {"\xff", 400, -32700},
      {"[]", 400, -32600},
      {R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", 400, -32600},
      {"7", 400, -32600},
      {R"({"jsonrpc":"1.0","id":1,"method":"ping"})", 400, -32600},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", 400, -32600},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", 400, -32600},
      {R"({"jsonrpc":"2.0","id":1,"method":7})", 400, -32600},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})", 400, -32600},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":7}})", 400, -32600},
      {R"({"jsonrpc":"2.0","id":1})", 400, -32600},
      {R"({"jsonrpc":"2.0","id":1,"method":"nonsense"})", 200, -32601},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})", 200, -32602},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}})", 200, -32602},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}})", 200, -32602},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cairn_explain","arguments":7}})", 200,
       -32602},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":7}})", 200, -32602},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}})", 200, -32602},
      {R"({"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"x"}})", 200, -32602},
      {R"({"jsonrpc":"2.0","id":1,"method":"resources/templates/list","params":{"cursor":"x"}})", 200, -32602},
      {R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}})", 200, -32602},
      {R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})", 200, -32602},
      {R"({"jsonrpc":"2.0","id":1,"method":"server/discover"})", 400, -32602}};
  for (const Bad& bad : all) {
    const Told told = send_mcp(server.port(), bad.body);
    EXPECT_EQ(told.status, bad.status) << bad.body;
    EXPECT_EQ(told.error().value("code", 0), bad.code) << bad.body;
    const std::string says = told.error().value("message", "");
    EXPECT_TRUE(says.starts_with("Expected ") && says.ends_with('.')) << says;
  }
  EXPECT_EQ(send_mcp(server.port(), rpc_request(1, "ping", {{"x", std::string(3'000, 'x')}}).dump()).status, 413);
  EXPECT_EQ(send_mcp(server.port(), rpc_request(1, "ping").dump(), {{"MCP-Protocol-Version", "2099-01-01"}}).status,
            400);
  EXPECT_EQ(send_mcp(server.port(), rpc_request(1, "ping").dump(), {{"Mcp-Session-Id", std::string(200, 'x')}}).status,
            400);
  EXPECT_EQ(server.get("/mcp").status, 405);
  EXPECT_EQ(ApiConnection(server.port()).ask("DELETE", "/mcp").status, 405);
  EXPECT_EQ(ApiConnection(server.port()).ask("POST", "/mcp", "{}", {{"Content-Type", "text/plain"}}).status, 415);
  const Headers plain = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  EXPECT_EQ(ApiConnection(server.port()).ask("POST", "/mcp", rpc_request(1, "ping").dump(), plain).status, 406);
  EXPECT_EQ(send_mcp(server.port(), rpc_request(1, "ping").dump(), {{"Origin", "http://evil.example"}}).status, 403);
}

TEST(McpDoors, arguments_that_do_not_fit_are_said_to_the_model) {
  const Server server;
  EXPECT_EQ(server.post("/api/v1/graphs", echo_tool("fit_echo")).status, 201);
  LegacyClient client(server.port());
  const std::vector<std::pair<std::string, Json>> all = {{"fit_echo", Json::object()},
                                                         {"fit_echo", {{"text", 7}}},
                                                         {"cairn_explain", Json::object()},
                                                         {"cairn_explain", {{"run", 7}}},
                                                         {"cairn_explain", {{"run", nobody}}},
                                                         {"cairn_explain", {{"run", "x"}, {"more", 1}}},
                                                         {"cairn_list_runs", {{"limit", 0}}},
                                                         {"cairn_list_runs", {{"status", "odd"}}},
                                                         {"cairn_fork", {{"run", nobody}, {"at", 0}}}};
  for (const auto& [tool, arguments] : all) {
    const Told told = client.call(tool, arguments);
    EXPECT_EQ(told.status, 200) << tool << arguments;
    EXPECT_EQ(told.result().value("isError", false), true) << tool << arguments << told.last();
    EXPECT_NE(told.result()["content"][0]["text"].get<std::string>().find("Expected "), std::string::npos)
        << told.last();
  }
  EXPECT_TRUE(server.get(runs + "?graph=fit_echo").json().empty());
}

TEST(McpDoors, stdio_refuses_the_same_and_goes_on) {
  const std::vector<std::string> lines = {"{",
                                          "[]",
                                          std::string(1'200'000, 'x'),
                                          R"({"jsonrpc":"2.0","id":1,"method":"nonsense"})",
                                          modern_request("m", "server/discover").dump(),
                                          rpc_request(2, "ping").dump()};
  const std::vector<Json> said = speak_mcp(lines, lines.size(), {"--role", "read"});
  ASSERT_EQ(said.size(), lines.size());
  EXPECT_EQ(said[0]["error"]["code"], -32700);
  EXPECT_EQ(said[1]["error"]["code"], -32600);
  EXPECT_EQ(said[2]["error"]["code"], -32600);
  EXPECT_EQ(said[3]["error"]["code"], -32601);
  EXPECT_EQ(said[4]["result"]["supportedVersions"][0], "2026-07-28");
  EXPECT_EQ(said[5]["result"], Json::object());
}

TEST(McpDoors, stdio_outlives_a_database_that_is_away_and_hears_a_last_line_without_an_end) {
  const std::string data = (directory() / "mcp_away").string(), out = data + ".out";
  const std::string program = testing::cairn_program() + " --data " + data;
  ASSERT_EQ(run_program("/bin/bash", {"-c", program + " migrate"}).exit, 0);
  write_file("mcp_away.out", "");
  const auto ask = [](int id, const std::string& method) {
    return "printf '%s' '" + rpc_request(id, method).dump() + "'; ";
  };
  const auto await = [&out](int answers) {
    return "for i in $(seq 300); do [ $(wc -l < " + out + ") -ge " + std::to_string(answers) +
           " ] && break; sleep 0.1; done; ";
  };
  const std::string script = "{ " + ask(1, "tools/list") + "echo; " + await(1) + program + " down >&2; " +
                             ask(2, "tools/list") + "echo; " + ask(3, "resources/list") + "echo; " + await(3) +
                             program + " doctor >&2; " + ask(4, "tools/list") + "} | " + program + " mcp > " + out;
  const Ran ran = run_program("/bin/bash", {"-c", script});
  run_program("/bin/bash", {"-c", program + " down"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  std::istringstream text(read_file(out));
  std::vector<Json> said;
  for (std::string line; std::getline(text, line);) said.push_back(Json::parse(line));
  ASSERT_EQ(said.size(), 4u) << ran.err;
  for (const std::size_t away : {1u, 2u}) EXPECT_EQ(said[away]["error"]["code"], -32603) << said[away];
  EXPECT_FALSE(said[3]["result"]["tools"].empty()) << said[3];
}

TEST(McpDoors, a_graph_is_refused_whose_expose_is_not_as_it_should_be) {
  const Server server;
  const std::vector<std::pair<Json, std::string>> all = {
      {7, "Expected the graph's expose to be an object, but it is 7."},
      {{{"tool", "x"}}, "Expected the tool's description to be a text of 1 to 4096 bytes, but it is missing."},
      {{{"description", ""}}, "Expected the tool's description to be a text of 1 to 4096 bytes, but it is \"\"."},
      {{{"description", "d"}, {"tool", "a b"}},
       "Expected the tool's name to be 1 to 64 letters, digits and _-., but it is \"a b\"."},
      {{{"description", "d"}, {"tool", "cairn_x"}},
       "Expected the tool's name not to begin with cairn_, as Cairn's own tools do, but it is \"cairn_x\"."},
      {{{"description", "d"}, {"more", 1}},
       "Expected the graph's expose to have only the keys tool, description, resource, mime_type, but it has "
       "\"more\"."},
      {{{"description", "d"}, {"resource", "no uri"}},
       "Expected the resource's address to be a URI of at most 500 bytes, with {name} where a value stands, but it is "
       "\"no uri\"."},
      {{{"description", "d"}, {"resource", "cairn://run/{run}"}},
       "Expected the resource's address not to begin with cairn:, as Cairn's own resources do, but it is "
       "\"cairn://run/{run}\"."},
      {{{"description", "d"}, {"resource", "a:b"}, {"mime_type", "text"}},
       "Expected the resource's mime_type to be one like text/plain of at most 100 bytes, but it is \"text\"."},
      {{{"description", "d"}, {"mime_type", "text/plain"}},
       "Expected a resource where the graph's expose has a mime_type, but it is missing."}};
  for (const auto& [expose, says] : all) {
    Json graph = echo_tool("bad_expose");
    graph["expose"] = expose;
    const Reply refused = server.post("/api/v1/graphs", graph);
    EXPECT_EQ(refused.status, 400) << expose;
    EXPECT_EQ(refused.json()["error"]["message"], says);
  }
}

}  // namespace
}  // namespace cairn::program
