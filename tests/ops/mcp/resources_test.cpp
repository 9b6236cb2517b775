// Graphs that are resources of the Model Context Protocol: how they are listed, what a read gives, in both revisions,
// and what is no resource.
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/mcp/mcp_client.hpp"

namespace cairn::program {
namespace {

// One that gives this output at once.
Json giving(const std::string& name, const std::string& resource, const Json& output) {
  return {{"name", name},
          {"start", "give"},
          {"expose", {{"resource", resource}, {"description", "Gives " + name + "."}}},
          {"limits", {{"steps", 5}}},
          {"nodes", {{"give", {{"end", {{"status", "done"}, {"output", output}}}}}}}};
}

Json read_of(const std::string& uri, const Json& capabilities = Json::object()) {
  return modern_request(1, "resources/read", {{"uri", uri}}, capabilities);
}

// The entry of a list that has this name; null: there is none.
Json entry_of(const Json& list, const std::string& name) {
  for (const Json& entry : list)
    if (entry["name"] == name) return entry;
  return nullptr;
}

TEST(McpResources, a_graph_is_listed_as_a_resource_and_is_a_tool_only_by_name) {
  const Server server;
  Json text = giving("listed_text", "test://listed", {{"text", "x"}});
  text["expose"]["mime_type"] = "text/markdown";
  add_graph(server, text);
  Json both = giving("listed_both", "test://listed/{id}", {{"id", "$id"}});
  both["expose"]["tool"] = "listed_tool";
  add_graph(server, both);
  LegacyClient client(server.port());
  const Json listed = client.ask("resources/list").result()["resources"];
  const Json templates = client.ask("resources/templates/list").result()["resourceTemplates"];
  const Json tools = client.ask("tools/list").result()["tools"];
  EXPECT_EQ(entry_of(listed, "listed_text"), (Json{{"uri", "test://listed"},
                                                   {"name", "listed_text"},
                                                   {"description", "Gives listed_text."},
                                                   {"mimeType", "text/markdown"}}));
  EXPECT_EQ(
      entry_of(templates, "listed_both"),
      (Json{{"uriTemplate", "test://listed/{id}"}, {"name", "listed_both"}, {"description", "Gives listed_both."}}));
  EXPECT_TRUE(entry_of(templates, "listed_text").is_null());
  EXPECT_TRUE(entry_of(listed, "listed_both").is_null());
  EXPECT_TRUE(entry_of(tools, "listed_tool").is_object());
  EXPECT_TRUE(entry_of(tools, "listed_text").is_null());
}

TEST(McpResources, a_read_is_a_run_whose_output_is_the_contents) {
  const Server server;
  add_graph(server, giving("text", "test://text", {{"text", "hello"}}));
  add_graph(server, giving("blob", "test://blob", {{"blob", "aGVsbG8="}}));
  add_graph(server, giving("json", "test://json", {{"text", "hello"}, {"more", 1}}));
  LegacyClient client(server.port());
  const auto contents = [&client](const std::string& uri) {
    const Told told = client.ask("resources/read", {{"uri", uri}});
    EXPECT_EQ(told.result().value("contents", Json::array()).size(), 1u) << told.last();
    return told.result()["contents"][0];
  };
  EXPECT_EQ(contents("test://text"), (Json{{"uri", "test://text"}, {"mimeType", "text/plain"}, {"text", "hello"}}));
  EXPECT_EQ(contents("test://blob"),
            (Json{{"uri", "test://blob"}, {"mimeType", "application/octet-stream"}, {"blob", "aGVsbG8="}}));
  EXPECT_EQ(contents("test://json"),
            (Json{{"uri", "test://json"}, {"mimeType", "application/json"}, {"text", R"({"more":1,"text":"hello"})"}}));
  EXPECT_EQ(server.get(runs + "?graph=text").json().size(), 1u);
  const Json modern = send_modern(server.port(), read_of("test://text")).result();
  EXPECT_EQ(modern["resultType"], "complete") << modern;
  EXPECT_EQ(modern["contents"][0]["text"], "hello");
  EXPECT_EQ(modern["ttlMs"], 0);
  EXPECT_EQ(modern["cacheScope"], "private");
}

TEST(McpResources, the_names_of_a_template_are_the_input_of_the_run) {
  const Server server;
  Json files = giving("files", "test://{owner}/files/{name}.txt", {{"owner", "$owner"}, {"name", "$name"}});
  files["input"] = {{"type", "object"}, {"properties", {{"owner", {{"type", "string"}, {"maxLength", 10}}}}}};
  add_graph(server, files);
  add_graph(server, giving("zexact", "test://ann/files/exact.txt", {{"text", "itself"}}));
  LegacyClient client(server.port());
  const auto read = [&client](const std::string& uri) { return client.ask("resources/read", {{"uri", uri}}); };
  const auto values = [&read](const std::string& uri) {
    return Json::parse(read(uri).result().at("contents").at(0).at("text").get<std::string>());
  };
  EXPECT_EQ(values("test://ann/files/a.txt.txt"), (Json{{"owner", "ann"}, {"name", "a.txt"}}));
  EXPECT_EQ(values("test://a%2F..%2Fb/files/%C3%BC.txt"), (Json{{"owner", "a/../b"}, {"name", "ü"}}));
  EXPECT_EQ(read("test://ann/files/exact.txt").result()["contents"][0]["text"], "itself") << "it goes before";
  const Json refused = read("test://a-long-owner/files/a.txt").error();
  EXPECT_EQ(refused["code"], -32602) << refused;
  EXPECT_NE(refused["message"].get<std::string>().find("owner"), std::string::npos) << refused;
  EXPECT_EQ(server.get(runs + "?graph=files").json().size(), 2u);
}

TEST(McpResources, a_uri_that_is_no_resource_starts_no_run) {
  const Server server;
  add_graph(server, giving("hostile", "test://item/{id}", {{"id", "$id"}}));
  LegacyClient client(server.port());
  for (const char* uri :
       {"test://item/", "test://item/a/b", "test://item/a?b", "test://item/a#b", "test://item/%zz", "test://item/%ff",
        "test://item/%c3", "test://item/a%", "test://item/a b", "test://item/{id}", "test://item", "TEST://item/a",
        "test://item/\xc3\xbc", "test://other", "", "cairn:item", "cairn://item/a", "file:///etc/passwd"}) {
    const Json legacy = client.ask("resources/read", {{"uri", uri}}).error();
    EXPECT_EQ(legacy["code"], -32002) << uri;
    EXPECT_TRUE(legacy["message"].get<std::string>().starts_with("Expected ")) << uri;
  }
  EXPECT_EQ(send_modern(server.port(), read_of("test://item/a/b")).error()["code"], -32602);
  EXPECT_EQ(client.ask("resources/read", {{"uri", "test://item/" + std::string(2'000, 'x')}}).error()["code"], -32602);
  EXPECT_EQ(client.ask("resources/read", {{"uri", "test://item/a%00"}}).error()["code"], -32602) << "no text holds it";
  EXPECT_TRUE(server.get(runs + "?graph=hostile").json().empty());
}

TEST(McpResources, a_read_that_gives_nothing_is_an_error_that_names_the_run) {
  const Server server({"--mcp-wait-ms", "3000"});
  Json failing = giving("failing", "test://failing", nullptr);
  failing["nodes"]["give"]["end"] = {{"status", "failed"}, {"reason", "It is not there."}};
  add_graph(server, failing);
  add_graph(server, giving("broken", "test://broken", {{"blob", "no base64!"}}));
  Json slow = echo_tool("slow");  // no one works
  slow["expose"] = {{"resource", "test://slow/{text}"}, {"description", "Repeats a text."}};
  add_graph(server, slow);
  LegacyClient client(server.port());
  const std::vector<std::pair<std::string, std::string>> all = {
      {"test://failing", "It is not there."}, {"test://broken", "to be base64"}, {"test://slow/a", "goes on"}};
  for (const auto& [uri, part] : all) {
    const Told told = client.ask("resources/read", {{"uri", uri}});
    EXPECT_EQ(told.error()["code"], -32603) << uri << told.last();
    const std::string says = told.error()["message"];
    EXPECT_NE(says.find(part), std::string::npos) << says;
    EXPECT_NE(says.find("un "), std::string::npos) << says;
  }
  EXPECT_EQ(server.get(runs + "?graph=slow").json().at(0)["status"], "running") << "it is durable and goes on";
}

TEST(McpResources, a_read_that_asks_is_read_again_with_the_answer) {
  const Server server;
  Json asks = asking_tool("asks", {{"type", "integer"}});
  asks["expose"] = {{"resource", "test://asked"}, {"description", "Asks for a value."}};
  add_graph(server, asks);
  const Json asked = send_modern(server.port(), read_of("test://asked", shows_forms)).result();
  EXPECT_EQ(asked["resultType"], "input_required") << asked;
  Json again = read_of("test://asked", shows_forms);
  again["id"] = 2;
  again["params"]["requestState"] = asked["requestState"];
  again["params"]["inputResponses"] = {{"q1", {{"action", "accept"}, {"content", {{"answer", 7}}}}}};
  const Json result = send_modern(server.port(), again).result();
  EXPECT_EQ(result["contents"][0]["text"], R"({"value":7})") << result;
  EXPECT_EQ(server.get(runs + "?graph=asks").json().size(), 1u);
}

TEST(McpResources, a_read_does_not_go_on_with_the_run_of_another_uri) {
  const Server server;
  Json asks = asking_tool("asks_of", {{"type", "integer"}});
  asks["expose"] = {{"resource", "test://asked/{id}"}, {"description", "Asks for a value."}};
  asks["nodes"]["end"]["end"]["output"]["id"] = "$id";
  add_graph(server, asks);
  const Json asked = send_modern(server.port(), read_of("test://asked/b", shows_forms)).result();
  EXPECT_EQ(asked["resultType"], "input_required") << asked;
  const auto read_again = [&](const std::string& uri) {
    Json again = read_of(uri, shows_forms);
    again["params"]["requestState"] = asked["requestState"];
    again["params"]["inputResponses"] = {{"q1", {{"action", "accept"}, {"content", {{"answer", 7}}}}}};
    return send_modern(server.port(), again);
  };
  const Json refused = read_again("test://asked/a").error();
  EXPECT_EQ(refused["code"], -32602) << refused;
  EXPECT_NE(refused["message"].get<std::string>().find("it is another's"), std::string::npos) << refused;
  EXPECT_EQ(read_again("test://asked/b").result()["contents"][0]["text"], R"({"id":"b","value":7})");
}

TEST(McpResources, a_read_that_a_quota_refuses_has_no_bad_parameter) {
  const std::string dsn = new_database();
  const Variable there("CAIRN_DSN", dsn);
  const std::string admin = new_token(dsn, "boss", {"--role", "admin"});
  const std::string agent = new_token(dsn, "agent", {"--role", "run", "--role", "read", "--quota", "runs=1/1h"});
  const Server server;
  EXPECT_EQ(server.post("/api/v1/graphs", giving("once", "test://once", {{"text", "x"}}), bearer(admin)).status, 201);
  LegacyClient client(server.port(), Json::object(), bearer(agent));
  EXPECT_EQ(client.ask("resources/read", {{"uri", "test://once"}}).result()["contents"][0]["text"], "x");
  const Json refused = client.ask("resources/read", {{"uri", "test://once"}}).error();
  EXPECT_EQ(refused["code"], -32603) << refused;
}

TEST(McpResources, a_graph_is_a_resource_for_those_who_may_run_and_read_it) {
  const std::string dsn = new_database();
  const Variable there("CAIRN_DSN", dsn);
  const std::string admin = new_token(dsn, "boss", {"--role", "admin"});
  const std::string reader = new_token(dsn, "reader", {"--role", "read"});
  const std::string agent = new_token(dsn, "agent", {"--role", "run", "--role", "read", "--scope", "graph=mine"});
  const Server server;
  for (const std::string name : {"mine", "theirs"})
    EXPECT_EQ(server.post("/api/v1/graphs", giving(name, "test://" + name, {{"text", name}}), bearer(admin)).status,
              201);
  EXPECT_TRUE(
      wait_until([&] { return send_mcp(server.port(), rpc_request(1, "ping").dump(), bearer(agent)).status == 200; }));
  LegacyClient scoped(server.port(), Json::object(), bearer(agent));
  LegacyClient read_only(server.port(), Json::object(), bearer(reader));
  const auto read = [](LegacyClient& client, const std::string& uri) {
    return client.ask("resources/read", {{"uri", uri}});
  };
  EXPECT_EQ(read(scoped, "test://mine").result()["contents"][0]["text"], "mine");
  EXPECT_EQ(read(scoped, "test://theirs").error()["code"], -32002);
  EXPECT_EQ(read(read_only, "test://mine").error()["code"], -32002);
  EXPECT_EQ(read_only.ask("resources/list").result().dump().find("test://"), std::string::npos);
  EXPECT_EQ(server.get(runs, bearer(admin)).json().size(), 1u);
}

}  // namespace
}  // namespace cairn::program
