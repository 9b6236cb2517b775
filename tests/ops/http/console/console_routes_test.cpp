// The console's page and files over HTTP, views that are saved for all, and links by which one question is answered
// without a token.
#include <gtest/gtest.h>
#include <set>

#include "ops/http/console/answer_link.hpp"
#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

const std::string views = "/api/v1/views";
const std::string linked = "/api/v1/links/question";
const std::string answered = "/api/v1/links/answer";

std::string asking_run(const std::string& dsn) {
  const std::filesystem::path graph = write_file("linked.json", ask_graph("linked"));
  cairn_ok({"graph", "add", graph, "--dsn", dsn});
  return cairn_ok({"start", "linked", "--dsn", dsn, "--json"}).json().at("run");
}

// --- the page --------------------------------------------------------------------------------------------------------

// The script that the page loads; "": it loads none.
std::string script_of(const std::string& page) {
  const std::string before = "src=\"";
  const std::size_t at = page.find(before);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + before.size();
  return "/" + page.substr(begin, page.find('"', begin) - begin);
}

TEST(ApiConsole, the_page_needs_no_token_may_load_from_here_alone_and_has_a_tag) {
  const std::string dsn = new_database();
  new_token(dsn, "web", {"--role", "read"});
  const Server server({"--dsn", dsn});
  const Reply page = server.get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_TRUE(page.header("Content-Security-Policy").starts_with("default-src 'self';"));
  EXPECT_EQ(page.header("X-Content-Type-Options"), "nosniff");
  const std::string tag = page.header("ETag");
  EXPECT_EQ(server.get("/", {{"If-None-Match", tag}}).status, 304);
  EXPECT_EQ(server.get("/?a=1").status, 400);
}

TEST(ApiConsole, what_the_page_loads_is_kept_for_good_and_compressed) {
  const Server server;
  const std::string script = script_of(server.get("/").body);
  ASSERT_FALSE(script.empty()) << "Expected a program that was built where npm is.";
  const Reply plain = server.get(script);
  EXPECT_EQ(plain.status, 200);
  EXPECT_EQ(plain.type, "text/javascript; charset=utf-8");
  EXPECT_NE(plain.header("Cache-Control").find("immutable"), std::string::npos);
  const Reply packed = server.get(script, {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(packed.header("Content-Encoding"), "gzip");
  EXPECT_EQ(gunzipped(packed.body), plain.body);
  EXPECT_EQ(server.get("/console/index.html").status, 404);
  EXPECT_EQ(server.get("/console/..%2Fapi").status, 404);
}

TEST(ApiConsole, the_index_of_the_api_says_what_the_caller_may_do) {
  const std::string dsn = new_database();
  const std::string token = new_token(dsn, "web", {"--role", "read", "--role", "answer", "--scope", "graph=order"});
  const Server server({"--dsn", dsn});
  const Json caller = server.get("/api/v1", bearer(token)).json()["caller"];
  EXPECT_EQ(caller,
            (Json{{"actor", "token:web"}, {"roles", {"read", "answer"}}, {"all_runs", false}, {"all_queues", true}}));
}

// --- views and links -------------------------------------------------------------------------------------------------

TEST(ApiViews, a_view_is_saved_for_all_replaced_and_removed) {
  const Server server;
  const Json view = {{"name", "Failed today"}, {"address", "runs?where=status%3Dfailed"}};
  EXPECT_EQ(server.post(views, view).status, 201);
  EXPECT_EQ(server.post(views, {{"name", "Failed today"}, {"address", "runs?where=since%3D24h"}}).status, 201);
  const Json all = server.get(views).json();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["address"], "runs?where=since%3D24h");
  EXPECT_EQ(all[0]["created_by"], "api");
  const auto remove = [&](const std::string& name) {
    return ApiConnection(server.port()).ask("DELETE", views + "/" + name).status;
  };
  EXPECT_EQ(remove("Failed%20today"), 200);
  EXPECT_EQ(remove("Failed%20today"), 404);
  EXPECT_EQ(server.post(views, {{"name", ""}, {"address", "runs"}}).status, 400);
  EXPECT_EQ(server.post(views, {{"name", "x"}, {"address", std::string(5'000, 'a')}}).status, 400);
}

TEST(ApiViews, there_are_no_more_than_two_hundred_and_they_have_pages) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  for (int n = 0; n < 200; ++n)
    ASSERT_EQ(server.post(views, {{"name", std::to_string(n)}, {"address", "runs"}}).status, 201);
  EXPECT_EQ(server.post(views, {{"name", "one more"}, {"address", "runs"}}).status, 409);
  EXPECT_EQ(server.post(views, {{"name", "199"}, {"address", "inbox"}}).status, 201);
  EXPECT_EQ(server.get(views).json().size(), 200U);
  std::set<std::string> seen;
  for (std::string at = views + "?limit=90"; !at.empty();) {
    const Reply page = server.get(at);
    ASSERT_EQ(page.status, 200) << at << page.body;
    for (const Json& view : page.json()) EXPECT_TRUE(seen.insert(view["name"]).second) << "twice: " << view;
    const std::string link = page.header("Link");
    at = link.empty() ? "" : views + link.substr(1, link.find('>') - 1);
  }
  EXPECT_EQ(seen.size(), 200U);
  EXPECT_EQ(server.get(views + "?color=red").status, 400);
}

TEST(ApiLinks, a_link_answers_its_question_once_without_a_token) {
  const std::string dsn = new_database();
  const std::string run = asking_run(dsn);
  const Headers may = bearer(new_token(dsn, "web", {"--role", "answer"}));
  const Server server({"--dsn", dsn});
  const std::string links = runs + "/" + run + "/links";
  EXPECT_EQ(server.post(links, Json::object()).status, 401);
  const Reply made = server.post(links, {{"for", "ann@example.com"}}, may);
  ASSERT_EQ(made.status, 200) << made.body;
  const Json link = made.json();
  EXPECT_EQ(link["address"], "#/answer?token=" + link["token"].get<std::string>());
  const Json shown = server.post(linked, {{"token", link["token"]}}).json();
  EXPECT_EQ(shown["run"], run);
  EXPECT_EQ(shown["question"]["id"], link["question"]);
  EXPECT_FALSE(shown.contains("channels"));
  EXPECT_EQ(server.post(answered, {{"token", link["token"]}, {"value", 5}}).status, 400);  // does not fit the schema
  EXPECT_EQ(server.post(answered, {{"token", link["token"]}, {"value", "north"}}).status, 200);
  for (const Reply& late : {server.post(answered, {{"token", link["token"]}, {"value", "south"}}),
                            server.post(linked, {{"token", link["token"]}})}) {
    EXPECT_EQ(late.status, 409);
    EXPECT_NE(late.body.find("link:ann@example.com"), std::string::npos) << late.body;
  }
  const Json event = cairn_ok({"events", run, "--dsn", dsn, "--json"}).lines().at(2);
  EXPECT_EQ(event["type"], "question_answered");
  EXPECT_EQ(event["actor"], "link:ann@example.com");
  EXPECT_EQ(event["by"], "link:ann@example.com");
}

TEST(ApiLinks, a_link_that_was_changed_or_made_elsewhere_opens_nothing) {
  const std::string dsn = new_database();
  const std::string run = asking_run(dsn);
  const Server server({"--dsn", dsn});
  const std::string token = server.post(runs + "/" + run + "/links", Json::object()).json()["token"];
  std::string changed = token;
  changed[5] = changed[5] == 'A' ? 'B' : 'A';
  const std::string forged = link_token({*parse_run_id(run), "q1", "link:eve", INT64_MAX}, std::string(32, 'k'));
  for (const std::string& wrong : {changed, token + "A", token.substr(1), std::string("a.b"), std::string("."), forged})
    EXPECT_EQ(server.post(answered, {{"token", wrong}, {"value", "north"}}).status, 400) << wrong;
  EXPECT_EQ(server.post(linked, {{"token", token}}).status, 200);
}

TEST(ApiLinks, a_link_ends_with_its_time) {
  const AnswerLink link{*parse_run_id(nobody), "q1", "link:ann", 1'000'000};
  const std::string token = link_token(link, "key");
  EXPECT_EQ(link_of(token, "key", 999'999)->question, "q1");
  EXPECT_EQ(link_of(token, "key", 1'000'000).error().code, Code::closed);
  EXPECT_EQ(link_of(token, "other", 0).error().code, Code::invalid);
}

TEST(ApiLinks, none_is_made_for_a_question_that_is_not_open_or_in_another_ones_name) {
  const std::string dsn = new_database();
  const std::string run = asking_run(dsn);
  const Server server({"--dsn", dsn});
  const std::string links = runs + "/" + run + "/links";
  EXPECT_EQ(server.post(links, {{"question", "none"}}).status, 404);
  EXPECT_EQ(server.post(links, {{"for", "a b"}}).status, 400);
  EXPECT_EQ(server.post(links, {{"expires_ms", 5}}).status, 400);
  EXPECT_EQ(server.post(runs + "/" + run + "/answers", {{"value", "x"}, {"by", "link:ann"}}).status, 400);
  EXPECT_EQ(server.post(runs + "/" + run + "/answers", {{"value", "x"}}).status, 200);
  EXPECT_EQ(server.post(links, Json::object()).status, 409);
}

}  // namespace
}  // namespace cairn::program
