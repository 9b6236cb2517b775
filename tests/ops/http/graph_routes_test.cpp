// Graphs that come over HTTP: added with all their faults said, runs moved to another version, one by one and in bulk;
// and where an answer says that something new is found.
#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <regex>
#include <set>

#include "storage/postgres/connection.hpp"
#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

Json asking(const std::string& name, const std::string& prompt = "Which region?") {
  Json graph = Json::parse(ask_graph(name));
  for (auto& [node, settings] : graph["nodes"].items())
    if (settings.contains("ask")) settings["ask"]["prompt"] = prompt;
  return graph;
}

std::size_t versions_of(const Server& server, const std::string& name) {
  std::size_t count = 0;
  for (const Json& line : server.get(graphs).json()) count += line["name"] == name ? 1 : 0;
  return count;
}

std::string started(const Server& server, const std::string& graph, const std::string& customer = "jane") {
  return server.post(runs, {{"graph", graph}, {"tags", {{"customer", customer}}}}).json().at("run");
}

std::string version_of(const Server& server, const std::string& run) {
  return server.get(runs + "/" + run).json().at("version");
}

TEST(ApiGraphs, a_run_is_moved_to_another_version_as_the_command_does_it) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  const Json other = asking("moves", "Which country?");
  ASSERT_EQ(server.post(graphs, asking("moves")).status, 201);
  const std::string run = started(server, "moves");
  const std::string before = version_of(server, run);
  const Reply unfit = server.post(runs + "/" + run + "/move", {{"graph", asking("another")}});
  EXPECT_EQ(unfit.status, 400) << unfit.body;
  EXPECT_EQ(versions_of(server, "another"), 0U) << "a refused move left its graph";
  const Reply moved = server.post(runs + "/" + run + "/move", {{"graph", other}});
  EXPECT_EQ(moved.status, 200) << moved.body;
  EXPECT_EQ(moved.json()["run"], run);
  EXPECT_NE(version_of(server, run), before);
  EXPECT_EQ(cairn_ok({"events", run, "--json", "--dsn", dsn}).lines().back()["type"], "run_moved");
  const Json current = cairn_ok({"graph", "show", "moves", "--dsn", dsn}).json();
  EXPECT_EQ(current, asking("moves")) << "new runs begin with the version that was added";
  EXPECT_EQ(server.post(runs + "/" + run + "/move", Json::object()).status, 400);
  EXPECT_EQ(server.post(runs + "/" + nobody + "/move", {{"graph", other}}).status, 404);
  cairn_ok({"verify", run, "--dsn", dsn});
}

TEST(ApiGraphs, rules_that_were_altered_in_the_database_are_a_finding_of_their_runs) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  ASSERT_EQ(server.post(graphs, asking("altered")).status, 201);
  const std::string run = started(server, "altered");
  EXPECT_EQ(server.get(runs + "/" + run + "/verify").json()["sound"], true);
  PgConnection database({dsn, "test", false});
  database.query(
      {"alter_rules", "update cairn.graph set text = replace(text, 'Which', 'That') where name = 'altered'"});
  const Json verified = server.get(runs + "/" + run + "/verify").json();
  EXPECT_EQ(verified["sound"], false);
  EXPECT_NE(verified["findings"].dump().find("Expected the text of graph altered to have the hash"), std::string::npos);
}

TEST(ApiGraphs, one_graph_that_was_altered_stops_its_own_runs_and_no_command_or_server_for_others) {
  const std::string dsn = new_database();
  std::string run, other;
  {
    const Server before({"--dsn", dsn});
    for (const char* name : {"altered", "sound"}) ASSERT_EQ(before.post(graphs, asking(name)).status, 201);
    run = started(before, "altered");
    other = started(before, "sound");
  }
  PgConnection database({dsn, "test", false});
  database.query(
      {"alter_rules", "update cairn.graph set text = replace(text, 'Which', 'That') where name = 'altered'"});
  EXPECT_EQ(cairn_ok({"show", other, "--json", "--dsn", dsn}).json()["status"], "waiting");
  expect_refused(cairn({"show", run, "--dsn", dsn}), 4, "Expected to read graph altered, but its text has the hash ");
  const Server server({"--dsn", dsn});
  EXPECT_EQ(server.get(runs + "/" + other).status, 200);
  const Reply refused = server.get(graphs + "/altered");
  EXPECT_EQ(refused.status, 500);
  EXPECT_EQ(refused.json()["error"]["code"], "corrupt");
  database.query({"mend_rules", "update cairn.graph set text = replace(text, 'That', 'Which') where name = 'altered'"});
  EXPECT_EQ(server.get(graphs + "/altered").status, 200) << "it is read again when it is asked for";
  EXPECT_EQ(server.get(runs + "/" + run).status, 200);
}

TEST(ApiGraphs, many_runs_are_moved_by_bulk_and_a_dry_run_stores_nothing) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  ASSERT_EQ(server.post(graphs, asking("moves")).status, 201);
  const std::vector<std::string> open = {started(server, "moves", "a"), started(server, "moves", "b")};
  const std::string ended = started(server, "moves", "c");
  ASSERT_EQ(server.post(runs + "/" + ended + "/cancel").status, 200);
  Json bulk = {{"command", "move"},
               {"graph", asking("moves", "Which country?")},
               {"where", {{"graph", "moves"}}},
               {"dry_run", true}};
  const Json dry = server.post("/api/v1/bulk", bulk).json();
  EXPECT_EQ(dry["runs"], 3);
  EXPECT_EQ(dry["refused"], 1) << dry;
  EXPECT_EQ(dry["refusals"][0]["run"], ended);
  EXPECT_EQ(versions_of(server, "moves"), 1U);
  bulk.erase("dry_run");
  EXPECT_EQ(server.post("/api/v1/bulk", bulk).json()["refused"], 1);
  EXPECT_EQ(versions_of(server, "moves"), 2U);
  EXPECT_EQ(version_of(server, open[0]), version_of(server, open[1]));
  EXPECT_NE(version_of(server, open[0]), version_of(server, ended));
  bulk.erase("graph");
  EXPECT_EQ(server.post("/api/v1/bulk", bulk).status, 400);
  bulk["command"] = "pause";
  bulk["graph"] = asking("moves");
  EXPECT_EQ(server.post("/api/v1/bulk", bulk).status, 400);
}

TEST(ApiGraphs, a_graph_for_a_move_is_within_the_scope_of_the_token) {
  const std::string dsn = new_database();
  cairn_ok({"graph", "add", write_file("scoped.json", asking("moves").dump()), "--dsn", dsn});
  const std::string run = cairn_ok({"start", "moves", "--json", "--dsn", dsn}).json()["run"];
  const std::string token = new_token(dsn, "narrow", {"--role", "operate", "--role", "read", "--scope", "graph=moves"});
  const Server server({"--dsn", dsn});
  const std::string move = runs + "/" + run + "/move";
  EXPECT_EQ(server.post(move, {{"graph", asking("another")}}, bearer(token)).status, 403);
  EXPECT_EQ(server.post(move, {{"graph", asking("moves", "Where?")}}, bearer(token)).status, 200);
}

TEST(ApiGraphs, faults_of_a_graph_are_a_list_in_the_error) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  Json graph = asking("faulty");
  for (int i = 0; i < 7; ++i) graph["nodes"]["node_" + std::to_string(i)] = {{"dou", "data.set"}};
  const Json faults = server.post(graphs + "/check", graph).json()["faults"];
  ASSERT_GE(faults.size(), 7U);
  const Reply refused = server.post(graphs, graph);
  EXPECT_EQ(refused.status, 400);
  const Json error = refused.json()["error"];
  EXPECT_EQ(error["code"], "invalid");
  EXPECT_EQ(error["faults"], faults);
  const std::string says = error["message"];
  EXPECT_NE(says.find(faults[0].get<std::string>()), std::string::npos) << says;
  EXPECT_EQ(says.find(faults[1].get<std::string>()), std::string::npos) << says;
  const std::string run = server.post(runs, {{"graph", "plan_runner"}, {"input", {{"goal", "g"}}}}).json().at("run");
  EXPECT_EQ(server.post(runs + "/" + run + "/move", {{"graph", graph}}).json()["error"]["faults"], faults);
  graph = asking("faulty");
  graph["start"] = "nowhere";
  const Json one = server.post(graphs, graph).json()["error"];
  EXPECT_EQ(one["message"], one["faults"][0]) << one;
}

TEST(ApiGraphs, an_answer_that_something_was_made_says_where) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  const Reply added = server.post(graphs, asking("made"));
  ASSERT_EQ(added.status, 201) << added.body;
  EXPECT_EQ(server.get(added.header("Location")).json(), asking("made")) << added.header("Location");
  const Reply begun = server.post(runs, {{"graph", "made"}, {"key", "once"}});
  ASSERT_EQ(begun.status, 201);
  EXPECT_EQ(begun.header("Location"), runs + "/" + begun.json()["run"].get<std::string>());
  EXPECT_EQ(server.get(begun.header("Location")).json()["run"], begun.json()["run"]);
  EXPECT_EQ(server.post(runs, {{"graph", "made"}, {"key", "once"}}).header("Location"), "");
  const Reply fork = server.post(begun.header("Location") + "/fork", {{"at", 2}});
  ASSERT_EQ(fork.status, 201) << fork.body;
  EXPECT_EQ(fork.header("Location"), runs + "/" + fork.json()["run"].get<std::string>());
}

TEST(ApiGraphs, F12_the_address_of_the_api_answers_with_its_routes) {
  const Server server;
  for (const char* path : {"/api/v1/", "/api/v1"}) {
    const Reply index = server.get(path);
    ASSERT_EQ(index.status, 200) << path;
    const Json routes = index.json()["routes"];
    const auto has = [&routes](const Json& route) {
      return std::find(routes.begin(), routes.end(), route) != routes.end();
    };
    EXPECT_TRUE(has({{"method", "POST"}, {"path", "/api/v1/runs/{run}/move"}, {"role", "operate"}})) << routes;
    EXPECT_TRUE(has({{"method", "GET"}, {"path", "/healthz"}, {"role", nullptr}})) << routes;
  }
}

TEST(ApiGraphs, F12_what_up_prints_can_be_opened) {
  Beside up({"up", "--workers", "1", "--listen", "127.0.0.1:0", "--dsn", new_database()});
  static const std::regex printed("API +(http://\\S+)");
  std::smatch found;
  std::string out;
  ASSERT_TRUE(wait_until([&] {
    out = up.out();
    return std::regex_search(out, found, printed);
  })) << up.err();
  const Ran opened = run_program("/usr/bin/curl", {"-s", "-w", "%{http_code}", found[1].str()});
  EXPECT_TRUE(opened.out.ends_with("200")) << found[1] << " " << opened.out;
  up.signal(SIGTERM);
  EXPECT_EQ(up.wait(), 0);
}

TEST(ApiGraphs, short_lists_have_pages_too) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  ASSERT_EQ(server.post(graphs, asking("paged", "First?")).status, 201);
  ASSERT_EQ(server.post(graphs, asking("paged", "Second?")).status, 201);
  cairn_ok({"queue", "set", "one", "--concurrency", "1", "--dsn", dsn});
  cairn_ok({"queue", "set", "c++", "--concurrency", "1", "--dsn", dsn});  // the link after it names it
  cairn_ok({"queue", "set", "two", "--concurrency", "2", "--dsn", dsn});
  const Beside worker({"work", "--dsn", dsn}), another({"work", "--dsn", dsn});
  ASSERT_TRUE(wait_until([&] { return server.get("/api/v1/workers").json().size() == 2; }));
  Json sub_goals = Json::array();
  for (const char* id : {"c", "a", "b"}) sub_goals.push_back({{"id", id}, {"tool", "echo"}, {"inputs", {{"n", 1}}}});
  const Json planned = {{"graph", "plan_runner"}, {"input", {{"goal", "g"}, {"sub_goals", sub_goals}}}};
  const std::string run = runs + "/" + server.post(runs, planned).json().at("run").get<std::string>();
  ASSERT_EQ(server.get(run + "?wait_ms=30000").json()["status"], "done");
  for (const auto& [path, least] : std::vector<std::pair<std::string, std::size_t>>{
           {"/api/v1/graphs", 3}, {"/api/v1/queues", 3}, {"/api/v1/workers", 2}, {run + "/plan", 3}}) {
    const Json all = server.get(path).json();
    ASSERT_GE(all.size(), least) << path;
    std::set<std::string> seen, known;
    const auto name_of = [](const Json& line) {
      return line.value("name", "") + line.value("version", "") + line.value("session", Json()).dump() +
             line.value("queue", "") + line.value("id", "");
    };
    for (const Json& line : all) known.insert(name_of(line));
    if (path == run + "/plan") {
      EXPECT_EQ(server.get(path + "?after=1").json().size(), all.size() - 1);
    }
    std::size_t pages = 0;
    for (std::string at = path + "?limit=1"; !at.empty(); ++pages) {
      const Reply page = server.get(at);
      ASSERT_EQ(page.status, 200) << page.body;
      ASSERT_EQ(page.json().size(), 1U) << at;
      EXPECT_TRUE(seen.insert(name_of(page.json()[0])).second) << "twice: " << page.body;
      const std::string link = page.header("Link");
      at = link.empty() ? "" : path + link.substr(1, link.find('>') - 1);
    }
    EXPECT_EQ(pages, all.size()) << path;
    EXPECT_EQ(seen, known) << path;
    EXPECT_EQ(server.get(path + "?limit=0").status, 400);
    EXPECT_EQ(server.get(path + "?color=red").status, 400);
  }
}

}  // namespace
}  // namespace cairn::program
