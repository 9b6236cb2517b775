// Commands of an operator over HTTP: a run decided again from its record or blamed, a queue limited or paused.
#include <gtest/gtest.h>
#include <set>

#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

const std::string queues = "/api/v1/queues";

Json small_graph(const std::string& says) {
  return Json::parse(R"({"name": "small", "start": "make", "limits": {"steps": 9}, "nodes": {
    "make": {"do": "data.set", "with": {"set": {"a": 1}}, "on": {"ok": "over"}},
    "over": {"end": {"status": "done", "output": {"says": "?"}}}}})")
      .patch(Json::array({{{"op", "replace"}, {"path", "/nodes/over/end/output/says"}, {"value", says}}}));
}

std::string ended_run(const std::string& dsn) {
  cairn_ok({"graph", "add", write_file("small.json", small_graph("one").dump()), "--dsn", dsn});
  return cairn_ok({"start", "small", "--wait", "--json", "--dsn", dsn}).json()["run"];
}

TEST(ApiReplay, a_run_is_decided_again_as_the_command_does_it) {
  const std::string dsn = new_database();
  const std::string run = ended_run(dsn);
  const Server server({"--dsn", dsn});
  const std::string path = runs + "/" + run + "/replay";
  const Json report = server.get(path).json();
  EXPECT_EQ(report, cairn_ok({"replay", run, "--json", "--dsn", dsn}).json());
  EXPECT_EQ(report["same"], 1) << report;
  EXPECT_EQ(server.get(path + "?handlers=true").json()["same"], 1);
  EXPECT_EQ(server.get(path + "?handler=true").status, 400);
  EXPECT_EQ(server.get(runs + "/" + nobody + "/replay").status, 404);
}

TEST(ApiReplay, another_graph_shows_where_the_run_would_go_another_way_and_is_not_stored) {
  const std::string dsn = new_database();
  const std::string run = ended_run(dsn);
  const Server server({"--dsn", dsn});
  const std::string path = runs + "/" + run + "/replay";
  EXPECT_EQ(server.post(path, {{"graph", small_graph("one")}}).json()["same"], 1);
  const Json report = server.post(path, {{"graph", small_graph("two")}}).json();
  EXPECT_EQ(report["diverged"], 1) << report;
  EXPECT_EQ(report["divergences"][0]["type"], "run_finished") << report;
  EXPECT_EQ(report["divergences"][0]["examples"][0]["run"], run);
  EXPECT_EQ(server.get("/api/v1/graphs/small").json(), small_graph("one"));
  EXPECT_EQ(server.post(path, {{"graph", {{"name", "small"}}}}).status, 400);
  EXPECT_EQ(server.post(path, {{"graf", 1}}).status, 400);
}

TEST(ApiBlame, a_run_is_blamed_as_the_command_does_it) {
  const std::string dsn = new_database();
  const std::string run = ended_run(dsn);
  const Server server({"--dsn", dsn});
  const std::string path = runs + "/" + run + "/blame";
  const Json blame = server.get(path).json();
  EXPECT_EQ(blame, cairn_ok({"blame", run, "--json", "--dsn", dsn}).json());
  EXPECT_EQ(blame["of"]["kind"], "end") << blame;
  EXPECT_EQ(server.get(path + "?step=1").json()["of"]["kind"], "rule") << "data.set decides the same again";
  EXPECT_EQ(server.get(path + "?seq=1").json()["of"]["kind"], "input");
  for (const char* wrong : {"?step=0", "?step=x", "?step=99", "?seq=99", "?step=1&seq=1", "?limit=1001", "?at=1"})
    EXPECT_EQ(server.get(path + wrong).status, 400) << wrong;
  EXPECT_EQ(server.get(runs + "/" + nobody + "/blame").status, 404);
}

TEST(ApiQueues, a_queue_is_limited_and_paused_as_by_the_command_and_what_is_not_given_stays) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  const std::string path = queues + "/slow";
  const auto set = [&](const Json& change) { return server.post(path, change).json(); };
  Json expected = {{"queue", "slow"},      {"concurrency", 3}, {"rate", nullptr},
                   {"ageing_ms", nullptr}, {"paused", false},  {"revision", 1}};
  expected.update({{"key", nullptr}, {"key_concurrency", nullptr}, {"key_rate", nullptr}, {"weights", Json::object()}});
  expected.update({{"budgets", Json::array()}, {"key_budgets", Json::array()}, {"reserve", Json::object()}});
  EXPECT_EQ(set({{"concurrency", 3}}), expected);
  expected["paused"] = true;
  expected["revision"] = 2;
  EXPECT_EQ(set({{"paused", true}}), expected);
  expected["paused"] = false;
  expected["revision"] = 3;
  EXPECT_EQ(cairn_ok({"queue", "set", "slow", "--resume", "--json", "--dsn", dsn}).json(), expected);
  EXPECT_EQ(set({{"concurrency", nullptr}})["concurrency"], nullptr);
  EXPECT_EQ(server.get(queues).json(), Json::array()) << "it is as if it had never been set";
}

TEST(ApiQueues, a_weight_is_taken_back_by_null) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  const std::string path = queues + "/weighed";
  EXPECT_EQ(server.post(path, {{"key", "tag.team"}, {"weights", {{"a", 3}, {"b", 2}}}}).json()["weights"],
            (Json{{"a", 3}, {"b", 2}}));
  EXPECT_EQ(server.post(path, {{"weights", {{"a", nullptr}}}}).json()["weights"], (Json{{"b", 2}}));
  EXPECT_EQ(server.post(path, {{"weights", {{"a", 0}}}}).status, 400);
}

TEST(ApiQueues, an_empty_key_an_ageing_beyond_its_bound_and_a_name_with_a_line_break_are_refused_and_nothing_is_set) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  const std::string path = queues + "/keyed";
  const Json set = server.post(path, {{"key", "tag.team"}, {"key_concurrency", 2}, {"ageing_ms", 1'000}}).json();
  for (const Json& change : {Json{{"key", ""}}, Json{{"ageing_ms", 0}}, Json{{"ageing_ms", 30LL * 86'400'000 + 1}}})
    EXPECT_EQ(server.post(path, change).status, 400) << change;
  EXPECT_NE(server.post(path, {{"ageing_ms", 60LL * 86'400'000}}).body.find("2592000000"), std::string::npos);
  for (const char* name : {"%20", "a%0Ab"})
    EXPECT_EQ(server.post(queues + "/" + name, {{"concurrency", 2}}).status, 400) << name;
  const Json listed = server.get(queues).json();
  ASSERT_EQ(listed.size(), 1u) << listed;
  for (const char* field : {"key", "key_concurrency", "ageing_ms", "revision"})
    EXPECT_EQ(listed[0][field], set[field]) << field;
  EXPECT_EQ(server.post(path, {{"key", nullptr}}).json()["key_concurrency"], nullptr);
}

TEST(ApiQueues, a_rate_is_set_in_parts_a_stale_revision_is_refused_and_each_change_has_its_actor) {
  const std::string dsn = new_database();
  const std::string token = new_token(dsn, "ops", {"--role", "operate", "--role", "read"});
  const Server server({"--dsn", dsn});
  const Headers as_ops = bearer(token);
  const std::string path = queues + "/slow";
  const auto set = [&](const Json& change) { return server.post(path, change, as_ops); };
  EXPECT_EQ(set({{"rate", {{"n", 50}, {"burst", 10}}}}).json()["rate"],
            (Json{{"n", 50}, {"per_ms", 1'000}, {"burst", 10}}));
  EXPECT_EQ(set({{"rate", {{"per_ms", 250}}}, {"ageing_ms", 60'000}}).json()["rate"],
            (Json{{"n", 50}, {"per_ms", 250}, {"burst", 10}}));
  const Reply stale = set({{"rate", nullptr}, {"revision", 1}});
  EXPECT_EQ(stale.status, 409) << stale.body;
  EXPECT_NE(stale.body.find("Expected revision 1 of queue slow to change, but it has revision 2 by now."),
            std::string::npos);
  EXPECT_EQ(set({{"rate", nullptr}, {"ageing_ms", nullptr}, {"revision", 2}}).json()["rate"], nullptr);
  const Json changes = server.get(path + "/history?limit=2", as_ops).json();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0]["revision"], 3);
  EXPECT_EQ(changes[1]["ageing_ms"], 60'000);
  EXPECT_EQ(changes[1]["actor"], "token:ops");
  EXPECT_EQ(server.get(path + "/history?before=2", as_ops).json()[0]["rate"]["per_ms"], 1'000);
}

TEST(ApiQueues, F3_a_history_links_to_its_next_page) {
  const std::string dsn = new_database();
  for (const char* limit : {"1", "2", "3"}) cairn_ok({"queue", "set", "slow", "--concurrency", limit, "--dsn", dsn});
  const Server server({"--dsn", dsn});
  const std::string path = queues + "/slow/history";
  const Reply first = server.get(path + "?limit=2");
  EXPECT_EQ(first.json().size(), 2u);
  EXPECT_EQ(first.header("Link"), "<?limit=2&before=2>; rel=\"next\"");
  const Reply last = server.get(path + "?limit=2&before=2");
  ASSERT_EQ(last.json().size(), 1u);
  EXPECT_EQ(last.json()[0]["concurrency"], 1);
  EXPECT_EQ(last.header("Link"), "");
  EXPECT_EQ(server.get(path + "?limit=3").header("Link"), "") << "there are no more";
}

TEST(ApiQueues, a_change_that_is_none_and_a_queue_beyond_the_scope_are_refused) {
  const std::string dsn = new_database();
  const std::string token = new_token(dsn, "narrow", {"--role", "operate", "--scope", "queue=slow"});
  const Server server({"--dsn", dsn});
  const Headers narrow = bearer(token);
  for (const Json& change :
       {Json::object(), Json{{"concurrency", 0}}, Json{{"concurrency", 2'000'000}}, Json{{"concurrency", "3"}},
        Json{{"paused", 1}}, Json{{"pause", true}}, Json{{"rate", 5}}, Json{{"rate", {{"n", 0}}}},
        Json{{"rate", {{"burst", 5}}}}, Json{{"rate", {{"per", 5}}}}, Json{{"ageing_ms", 0}}, Json{{"revision", 1}}})
    EXPECT_EQ(server.post(queues + "/slow", change, narrow).status, 400) << change;
  EXPECT_EQ(server.post(queues + "/slow", {{"paused", true}}, narrow).status, 200);
  EXPECT_EQ(server.post(queues + "/quick", {{"paused", true}}, narrow).status, 404);
  EXPECT_EQ(server.post(queues + "/" + std::string(1'001, 'q'), {{"paused", true}}, narrow).status, 400);
}

// A step that a worker over HTTP holds.
TEST(ApiWorkers, a_session_is_shown_with_the_steps_that_it_holds_as_far_as_the_scope_goes) {
  const std::string dsn = new_database();
  const Json graph = Json::parse(R"({"name": "away", "start": "do", "limits": {"steps": 9}, "nodes": {
    "do": {"do": "away.work", "labels": ["ok"], "queue": "far", "on": {"ok": "over"}}, "over": {"end": "done"}}})");
  cairn_ok({"graph", "add", write_file("away.json", graph.dump()), "--dsn", dsn});
  const std::string run = cairn_ok({"start", "away", "--json", "--dsn", dsn}).json()["run"];
  const std::string other = new_token(dsn, "other", {"--role", "read", "--scope", "graph=another"});
  const std::string all = new_token(dsn, "all", {"--role", "admin"});
  const Server server({"--dsn", dsn});
  const Json claims =
      server
          .post(
              "/api/v1/claims",
              {{"worker", "w"}, {"queues", {"far"}}, {"max", 1}, {"handlers", Json::array({{{"name", "away.work"}}})}},
              bearer(all))
          .json();
  ASSERT_EQ(claims["claims"].size(), 1U) << claims;
  const std::string path = "/api/v1/workers/" + claims["session"].get<std::string>();
  const Json shown = server.get(path, bearer(all)).json();
  EXPECT_EQ(shown["held"], 1) << shown;
  ASSERT_EQ(shown["holds"].size(), 1U) << shown;
  EXPECT_EQ(shown["holds"][0]["run"], run);
  EXPECT_EQ(shown["holds"][0]["queue"], "far");
  EXPECT_EQ(shown["holds"][0]["step"], 1);
  EXPECT_EQ(server.get(path, bearer(other)).json()["holds"], Json::array());
  EXPECT_EQ(server.get("/api/v1/workers/1", bearer(all)).status, 404);
}

TEST(ApiWorkers, the_steps_that_a_session_holds_come_by_pages) {
  const std::string dsn = new_database();
  const Json graph = Json::parse(R"({"name": "many", "start": "do", "limits": {"steps": 9}, "nodes": {
    "do": {"do": "many.work", "labels": ["ok"], "queue": "far", "on": {"ok": "over"}}, "over": {"end": "done"}}})");
  cairn_ok({"graph", "add", write_file("many.json", graph.dump()), "--dsn", dsn});
  const Server server({"--dsn", dsn});
  const Json five = Json::array({Json::object(), Json::object(), Json::object(), Json::object(), Json::object()});
  ASSERT_EQ(server.post(runs, {{"graph", "many"}, {"runs", five}}).status, 201);
  const Json body = {{"worker", "w"},
                     {"queues", {"far"}},
                     {"max", 5},
                     {"wait_ms", 5'000},
                     {"handlers", Json::array({{{"name", "many.work"}}})}};
  const Json claims = server.post("/api/v1/claims", body).json();
  ASSERT_EQ(claims["claims"].size(), 5u) << claims;
  const std::string path = "/api/v1/workers/" + claims["session"].get<std::string>();
  std::set<std::string> held;
  std::string query = "?limit=2";
  int pages = 0;
  for (; !query.empty() && pages < 9; ++pages) {
    const Reply page = server.get(path + query);
    const Json holds = page.json()["holds"];
    EXPECT_LE(holds.size(), 2u) << page.body;
    for (const Json& one : holds) held.insert(one["run"]);
    const std::string link = page.header("Link");
    query = link.empty() ? "" : link.substr(1, link.find('>') - 1);
  }
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(held.size(), 5u);
  EXPECT_EQ(server.get(path + "?limit=1001").status, 400);
}

}  // namespace
}  // namespace cairn::program
