// Hooks over HTTP: as the commands do it, each change under the caller's name.
#include <gtest/gtest.h>
#include <set>

#include "tests/ops/api_client.hpp"
#include "tests/ops/hooks/receiver.hpp"

namespace cairn::program {
namespace {

const std::string hooks = "/api/v1/hooks";

Json chat(const std::string& url = "https://chat.example/in") {
  return {{"name", "chat"}, {"url", url}, {"on", Json::array({"ended", "waits"})}, {"private", true}};
}

TEST(HookRoutes, a_hook_is_added_shown_listed_paused_resumed_and_removed) {
  const Server server({"--dsn", new_database()});
  const Reply added = server.post(hooks, chat());
  ASSERT_EQ(added.status, 201) << added.body;
  EXPECT_EQ(added.json()["words"], "sends to https://chat.example/in when a run has ended or has opened a question");
  EXPECT_NE(added.header("Location").find("chat"), std::string::npos);
  EXPECT_EQ(server.post(hooks, chat()).status, 409);
  EXPECT_EQ(server.get(hooks + "/chat").json(), added.json());
  EXPECT_EQ(server.get(hooks).json(), Json::array({added.json()}));
  const Reply paused = server.post(hooks + "/chat/pause", {{"reason", "it moves"}});
  ASSERT_EQ(paused.status, 200) << paused.body;
  EXPECT_EQ(paused.json()["paused"]["reason"], "it moves");
  EXPECT_TRUE(server.post(hooks + "/chat/resume", Json::object()).json()["paused"].is_null());
  EXPECT_EQ(ApiConnection(server.port()).ask("DELETE", hooks + "/chat").status, 200);
  EXPECT_EQ(server.get(hooks + "/chat").status, 404);
  const Json history = server.get(hooks + "/chat/history").json();
  ASSERT_EQ(history.size(), 4u);
  EXPECT_EQ(history[0]["kind"], "removed") << "the newest first";
  const Reply page = server.get(hooks + "/chat/history?before=3&limit=1");
  EXPECT_EQ(page.json()[0]["kind"], "paused");
  EXPECT_EQ(page.header("Link"), "<?limit=1&before=" + page.json()[0]["number"].dump() + ">; rel=\"next\"");
}

TEST(HookRoutes, the_list_has_each_hooks_last_notice_and_notices_come_in_pages) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  ASSERT_EQ(server.post(hooks, chat("http://127.0.0.1:9/in")).status, 201);
  EXPECT_TRUE(server.get(hooks).json()[0]["last"].is_null());
  server.post(hooks + "/chat/pause", {{"reason", "it moves"}});
  std::set<std::string> tested;
  std::string last;
  for (int n = 0; n < 5; ++n) tested.insert(last = server.post(hooks + "/chat/test", Json::object()).json()["event"]);
  EXPECT_EQ(server.get(hooks).json()[0]["last"]["id"], last);
  EXPECT_EQ(server.get(hooks + "/chat").json()["last"]["status"], "waiting");
  const std::string path = hooks + "/chat/deliveries";
  std::set<std::string> seen;
  int pages = 0;
  for (std::string query = "?limit=2"; !query.empty() && pages < 9; ++pages) {
    const Reply page = server.get(path + query);
    for (const Json& notice : page.json()) EXPECT_TRUE(seen.insert(notice["id"]).second) << "twice: " << notice;
    const std::string link = page.header("Link");
    query = link.empty() ? "" : link.substr(1, link.find('>') - 1);
  }
  EXPECT_EQ(seen, tested);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(server.get(path + "?limit=2&after=7").status, 400);
  EXPECT_EQ(server.get(path).header("Link"), "");
  const Json first = cairn_ok({"hook", "show", "chat", "--limit", "3", "--json", "--dsn", dsn}).json();
  const Json rest = cairn_ok({"hook", "show", "chat", "--after", first["next"], "--json", "--dsn", dsn}).json();
  EXPECT_EQ(rest["deliveries"].size(), 2u);
  EXPECT_TRUE(rest["next"].is_null());
  EXPECT_EQ(cairn_ok({"hook", "list", "--json", "--dsn", dsn}).json()["last"]["id"], last);
}

TEST(HookRoutes, a_command_is_no_matter_of_the_api_and_what_is_no_hook_is_refused) {
  const Server server({"--dsn", new_database()});
  Json with_command = chat();
  with_command.erase("url");
  with_command["command"] = "true";
  const Reply refused = server.post(hooks, with_command);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.message(),
            "Expected a URL, but found a command: a hook with a command is added on its machine, by `cairn hook add`.");
  EXPECT_EQ(server.post(hooks, chat("gopher://h")).status, 400);
  EXPECT_EQ(server.post(hooks, Json::object()).status, 400);
  EXPECT_EQ(server.get(hooks + "/none/deliveries").status, 404);
  EXPECT_EQ(server.post(hooks + "/none/test", Json::object()).status, 404);
  EXPECT_EQ(server.get(hooks).json(), Json::array());
}

TEST(HookRoutes, a_hook_is_edited_in_how_it_sends_and_not_in_what_it_is_about) {
  const Server server({"--dsn", new_database()});
  ASSERT_EQ(server.post(hooks, chat()).status, 201);
  const std::string path = hooks + "/chat";
  const Reply edited = server.post(path, {{"url", "https://chat.example/new"}, {"ordered", true}, {"attempts", 3}});
  ASSERT_EQ(edited.status, 200) << edited.body;
  EXPECT_EQ(edited.json()["url"], "https://chat.example/new");
  EXPECT_EQ(edited.json()["attempts"], 3);
  EXPECT_EQ(edited.json()["ordered"], true);
  EXPECT_EQ(server.post(path, {{"attempts", nullptr}}).json()["attempts"], 12) << "as if it had not been given";
  EXPECT_EQ(server.post(path, {{"graph", "order"}}).status, 409);
  EXPECT_EQ(server.post(path, {{"url", nullptr}}).status, 400);
  EXPECT_EQ(server.post(path, {{"command", "true"}}).status, 400);
  EXPECT_EQ(server.post(path, Json::object()).status, 400);
  EXPECT_EQ(server.post(hooks + "/none", {{"attempts", 3}}).status, 404);
  const Json history = server.get(path + "/history").json();
  ASSERT_EQ(history.size(), 3u) << "a refused edit is none";
  EXPECT_EQ(history[0]["kind"], "edited");
  EXPECT_EQ(history[1]["definition"]["url"], "https://chat.example/new");
}

TEST(HookRoutes, a_server_sends_what_is_tested_parks_it_and_sends_it_again) {
  const Receiver receiver;
  receiver.answer_with(Json::array({500, 204}));
  const std::string dsn = new_database();
  const std::string token = new_token(dsn, "ops", {"--role", "operate", "--role", "read"});
  const Server server({"--dsn", dsn});
  cairn_ok(
      {"hook", "add", "chat", "--url", receiver.url(), "--on", "ended", "--private", "--attempts", "1", "--dsn", dsn});
  const Headers as_ops = {{"Authorization", "Bearer " + token}, {"Content-Type", "application/json"}};
  const auto ask = [&](const std::string& method, const std::string& path, const std::string& body = "") {
    return ApiConnection(server.port()).ask(method, hooks + path, body, as_ops);
  };
  EXPECT_EQ(ask("POST", "", chat().dump()).status, 403) << "adding is for an admin";
  const Reply tested = ask("POST", "/chat/test", "{}");
  ASSERT_EQ(tested.status, 200) << tested.body;
  const std::string event = tested.json()["event"];
  ASSERT_TRUE(wait_until([&] { return ask("GET", "/chat/deliveries?status=parked").json().size() == 1; }));
  EXPECT_EQ(ask("GET", "/chat/deliveries").json()[0]["id"], event);
  EXPECT_EQ(ask("GET", "/chat/deliveries").json()[0]["answer"], 500);
  EXPECT_EQ(ask("GET", "/chat/deliveries?status=lost").status, 400);
  EXPECT_EQ(ask("POST", "/chat/resend", Json{{"event", event}}.dump()).json()["resent"], 1);
  ASSERT_TRUE(receiver.has_delivered(1));
  ASSERT_TRUE(wait_until([&] { return ask("GET", "/chat").json()["delivered"] == 1; }));
  EXPECT_EQ(ask("POST", "/chat/skip", Json{{"event", event}}.dump()).status, 404) << "it is over";
  EXPECT_EQ(ask("POST", "/chat/resend", Json{{"event", "7"}}.dump()).status, 400);
  const std::string metrics = ApiConnection(server.port()).ask("GET", "/metrics", "", as_ops).body;
  EXPECT_NE(metrics.find("cairn_hook_notices{hook=\"chat\",state=\"parked\"} 0"), std::string::npos) << metrics;
  const Json history = ask("GET", "/chat/history").json();
  EXPECT_EQ(history[0]["actor"], "token:ops");
  EXPECT_EQ(history[0]["kind"], "resent");
}

TEST(HookRoutes, F19_the_id_of_an_event_may_begin_with_the_first_letters_of_its_run) {
  const Receiver receiver;
  receiver.answer_with(Json::array({400}));
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  cairn_ok(
      {"hook", "add", "chat", "--url", receiver.url(), "--on", "ended", "--private", "--attempts", "1", "--dsn", dsn});
  cairn_ok({"start", "plan_runner", "--input", R"({"goal": "g", "sub_goals": []})", "--wait", "--dsn", dsn});
  const std::string path = hooks + "/chat";
  ASSERT_TRUE(wait_until([&] { return server.get(path + "/deliveries?status=parked").json().size() == 1; }));
  server.post(path + "/pause", {{"reason", "it moves"}});
  const std::string event = server.get(path + "/deliveries").json()[0]["id"];
  const std::string letters = event.substr(0, 12) + event.substr(event.find('/'));
  EXPECT_EQ(cairn_ok({"hook", "resend", "chat", letters, "--json", "--dsn", dsn}).json()["resent"], 1);
  const Reply skipped = server.post(path + "/skip", {{"event", letters}});
  EXPECT_EQ(skipped.status, 200) << skipped.body;
  EXPECT_EQ(skipped.json()["event"], event);
  cairn_ok({"hook", "resend", "chat", event, "--dsn", dsn});
  EXPECT_EQ(cairn_ok({"hook", "skip", "chat", letters, "--dsn", dsn}).out, event + " will not be sent.\n");
  expect_refused(cairn({"hook", "skip", "chat", "0000/7", "--dsn", dsn}), 3,
                 "Expected a run whose id begins with 0000");
  EXPECT_EQ(server.post(path + "/resend", {{"event", "0000/7"}}).status, 404);
}

}  // namespace
}  // namespace cairn::program
