// GET /questions and GET /report: what waits for a person, and what runs took.
#include <gtest/gtest.h>
#include <set>

#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

const std::string questions = "/api/v1/questions";

void add_graph(const std::string& dsn, const std::string& name) {
  cairn_ok({"graph", "add", write_file(name + ".json", ask_graph(name)), "--dsn", dsn});
}

std::string start(const std::string& dsn, const std::string& graph, const std::string& customer) {
  return cairn_ok({"start", graph, "--wait", "--json", "--tag", "customer=" + customer, "--dsn", dsn}).json()["run"];
}

std::vector<std::string> runs_of(const Json& lines) {
  std::vector<std::string> runs;
  for (const Json& line : lines) runs.push_back(line["run"]);
  return runs;
}

// The target of a Link header, on the path.
std::string link_of(const Reply& reply, const std::string& path = questions) {
  const std::string link = reply.header("Link");
  return link.empty() ? "" : path + link.substr(1, link.find('>') - 1);
}

TEST(ApiInbox, F26_open_questions_come_oldest_first_with_what_a_person_needs_to_answer) {
  const std::string dsn = new_database();
  add_graph(dsn, "inbox_a");
  add_graph(dsn, "inbox_b");
  const std::string first = start(dsn, "inbox_a", "jane"), second = start(dsn, "inbox_b", "joe"),
                    third = start(dsn, "inbox_a", "joe");
  const Server server({"--dsn", dsn});
  const Json all = server.get(questions).json();
  EXPECT_EQ(runs_of(all), (std::vector<std::string>{first, second, third}));
  EXPECT_EQ(all[0]["graph"], "inbox_a");
  EXPECT_EQ(all[0]["tags"], (Json{{"customer", "jane"}}));
  EXPECT_EQ(all[0]["schema"], (Json{{"type", "string"}}));
  EXPECT_TRUE(all[0].contains("prompt") && all[0].contains("asked_at") && all[0].contains("expires_at")) << all[0];
  EXPECT_EQ(runs_of(server.get(questions + "?tag=customer%3Djoe").json()), (std::vector<std::string>{second, third}));
  EXPECT_EQ(runs_of(server.get(questions + "?graph=inbox_b").json()), (std::vector<std::string>{second}));
  EXPECT_EQ(runs_of(server.get(questions + "?lineage=" + third).json()), (std::vector<std::string>{third}));
  std::vector<std::string> paged;
  for (std::string at = questions + "?limit=2&graph=inbox_a"; !at.empty();) {
    const Reply page = server.get(at);
    for (const std::string& run : runs_of(page.json())) paged.push_back(run);
    at = link_of(page);
  }
  EXPECT_EQ(paged, (std::vector<std::string>{first, third}));
  cairn_ok({"answer", first, "--question", all[0]["question"], "--value", "\"north\"", "--dsn", dsn});
  EXPECT_EQ(runs_of(server.get(questions).json()), (std::vector<std::string>{second, third}));
  EXPECT_EQ(server.get(questions + "?after=nowhere").status, 400);
  EXPECT_EQ(server.get(questions + "?color=red").status, 400);
}

TEST(ApiInbox, F26_the_commands_inbox_is_that_of_the_api) {
  const std::string dsn = new_database();
  add_graph(dsn, "inbox_a");
  add_graph(dsn, "inbox_b");
  const std::string first = start(dsn, "inbox_a", "jane"), second = start(dsn, "inbox_b", "joe"),
                    third = start(dsn, "inbox_a", "joe");
  const Server server({"--dsn", dsn});
  const auto command = [&](Arguments more) {
    more.insert(more.begin(), "questions");
    more.insert(more.end(), {"--dsn", dsn});
    return cairn_ok(more);
  };
  EXPECT_EQ(Json(command({"--json"}).lines()), server.get(questions).json());
  EXPECT_EQ(runs_of(command({"--json", "--tag", "customer=joe"}).lines()), (std::vector<std::string>{second, third}));
  EXPECT_EQ(runs_of(command({"--json", "--where", "graph=inbox_b"}).lines()), (std::vector<std::string>{second}));
  EXPECT_EQ(runs_of(command({"--json", "--lineage", third}).lines()), (std::vector<std::string>{third}));
  const std::string page = command({"--limit", "1"}).out;
  EXPECT_NE(page.find(first), std::string::npos) << page;
  EXPECT_EQ(page.find(second), std::string::npos) << page;
  const std::size_t at = page.find("--after ");
  ASSERT_NE(at, std::string::npos) << page;
  const std::string cursor = page.substr(at + 8, page.find('\n', at) - at - 8);
  EXPECT_EQ(runs_of(command({"--json", "--after", cursor}).lines()), (std::vector<std::string>{second, third}));
  EXPECT_EQ(command({}).out.find("--after"), std::string::npos) << "all are shown";
  expect_refused(cairn({"questions", "--after", "nowhere", "--dsn", dsn}), 2, "cursor");
  expect_refused(cairn({"questions", "--graph", "inbox_c", "--dsn", dsn}), 3, "inbox_c");
}

TEST(ApiInbox, questions_and_report_are_within_the_scope_of_the_token) {
  const std::string dsn = new_database();
  add_graph(dsn, "inbox_a");
  const std::string jane = start(dsn, "inbox_a", "jane");
  start(dsn, "inbox_a", "joe");
  const std::string token = new_token(dsn, "janes", {"--role", "read", "--scope", "tag=customer=jane"});
  const std::string blind = new_token(dsn, "blind", {"--role", "run"});
  const Server server({"--dsn", dsn});
  EXPECT_EQ(runs_of(server.get(questions, bearer(token)).json()), (std::vector<std::string>{jane}));
  EXPECT_EQ(server.get("/api/v1/report", bearer(token)).json()["runs"], 1);
  EXPECT_EQ(server.get(questions, bearer(blind)).status, 403);
  EXPECT_EQ(server.get("/api/v1/report", bearer(blind)).status, 403);
}

TEST(ApiInbox, a_report_is_that_of_the_command) {
  const std::string dsn = new_database();
  add_graph(dsn, "inbox_a");
  start(dsn, "inbox_a", "jane");
  start(dsn, "inbox_a", "joe");
  const Server server({"--dsn", dsn});
  EXPECT_EQ(server.get("/api/v1/report").json(), cairn_ok({"report", "--json", "--dsn", dsn}).json());
  const Json joes = server.get("/api/v1/report?tag=customer%3Djoe").json();
  EXPECT_EQ(joes["runs"], 1);
  EXPECT_EQ(joes["by_tag"].size(), 1U);
  EXPECT_TRUE(joes["by_graph"].contains("inbox_a") && joes.contains("by_model") && joes["by_day"].size() == 1) << joes;
  EXPECT_EQ(server.get("/api/v1/report?limit=3").status, 400);
}

TEST(ApiInbox, lineage_takes_the_first_letters_of_an_id) {
  const std::string dsn = new_database();
  add_graph(dsn, "inbox_a");
  const std::string run = start(dsn, "inbox_a", "jane");
  const Server server({"--dsn", dsn});
  EXPECT_EQ(runs_of(server.get(runs + "?lineage=" + run.substr(0, 20)).json()), (std::vector<std::string>{run}));
  EXPECT_EQ(server.get(runs + "?lineage=ffffffff").status, 404);
}

TEST(ApiInbox, a_lineage_has_pages_as_any_list_of_runs) {
  const std::string dsn = new_database();
  add_graph(dsn, "inbox_a");
  const std::string run = start(dsn, "inbox_a", "jane");
  const Server server({"--dsn", dsn});
  std::set<std::string> family = {run}, found;
  const Json at_now = {{"at", server.get(runs + "/" + run).json().at("seq")}};
  for (int fork = 0; fork < 3; ++fork)
    family.insert(server.post(runs + "/" + run + "/fork", at_now).json().at("run").get<std::string>());
  for (std::string at = runs + "?limit=2&lineage=" + run; !at.empty();) {
    const Reply page = server.get(at);
    ASSERT_EQ(page.status, 200) << at << page.body;
    for (const std::string& one : runs_of(page.json())) EXPECT_TRUE(found.insert(one).second) << "twice: " << one;
    at = link_of(page, runs);
  }
  EXPECT_EQ(found, family);
}

TEST(ApiInbox, the_next_page_of_a_filter_is_of_the_same_runs) {
  const std::string dsn = new_database();
  add_graph(dsn, "inbox_a");
  const std::string zone = "UTC+1, or so; a&b=c";
  std::set<std::string> tagged, found;
  for (int run = 0; run < 3; ++run) tagged.insert(start(dsn, "inbox_a", zone));
  start(dsn, "inbox_a", "UTC 1, or so; a&b=c");
  const Server server({"--dsn", dsn});
  std::string at = runs + "?limit=1&tag=customer%3DUTC%2B1%2C%20or%20so%3B%20a%26b%3Dc";
  for (at += "&since=2020-01-01T00%3A00%3A00%2B01%3A00"; !at.empty();) {
    const Reply page = server.get(at);
    ASSERT_EQ(page.status, 200) << at << page.body;
    for (const std::string& one : runs_of(page.json())) found.insert(one);
    at = link_of(page, runs);
  }
  EXPECT_EQ(found, tagged);
}

TEST(ApiInbox, forks_made_by_reset_and_bulk_take_from_the_quota_of_runs) {
  const std::string dsn = new_database();
  add_graph(dsn, "inbox_a");
  std::vector<std::string> started;
  for (const char* customer : {"a", "b", "c"}) {
    started.push_back(start(dsn, "inbox_a", customer));
    cairn_ok({"answer", started.back(), "--value", "\"north\"", "--dsn", dsn});
  }
  const std::string token = new_token(dsn, "operator", {"--role", "operate", "--role", "read", "--quota", "runs=2/1h"});
  const Server server({"--dsn", dsn});
  const Json reset = {{"to", "2"}};
  EXPECT_EQ(server.post(runs + "/" + started[0] + "/reset", reset, bearer(token)).status, 201);
  const Json bulk = {{"command", "reset"}, {"to", "2"}, {"where", {{"graph", "inbox_a"}, {"status", "done"}}}};
  const Reply some = server.post("/api/v1/bulk", bulk, bearer(token));
  EXPECT_EQ(some.status, 200) << some.body;
  EXPECT_EQ(some.json()["statuses"]["forked"], 1) << some.body;
  EXPECT_NE(some.body.find("at most 2 new runs in 3600 s"), std::string::npos) << some.body;
  const Reply none = server.post("/api/v1/bulk", bulk, bearer(token));
  EXPECT_EQ(none.status, 429) << none.body;
  EXPECT_FALSE(none.header("Retry-After").empty());
  EXPECT_EQ(server.post(runs + "/" + started[1] + "/reset", reset, bearer(token)).status, 429);
}

}  // namespace
}  // namespace cairn::program
