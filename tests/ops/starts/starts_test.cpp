// Starts by key as a user has them: commands, the API, and workers that are killed.
#include <csignal>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <thread>

#include "storage/postgres/connection.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

Json sleeping_graph(const std::string& name, const char* word, Json policy, int ms) {
  return {{"name", name},
          {"start", "work"},
          {"limits", {{"steps", 5}}},
          {word, std::move(policy)},
          {"nodes",
           {{"work",
             {{"do", "tool.call"}, {"with", {{"tool", "sleep"}, {"inputs", {{"ms", ms}}}}}, {"on", {{"ok", "end"}}}}},
            {"end", {{"end", "done"}}}}}};
}

void add_graph(const std::string& dsn, const Json& graph) {
  cairn_ok({"graph", "add", "--dsn", dsn, write_file(graph["name"].get<std::string>() + ".json", graph.dump())});
}

std::size_t open_runs(const std::string& dsn) {
  return cairn_ok({"runs", "--dsn", dsn, "--status", "running", "--json"}).lines().size();
}

// By key, the times of the first and the last event of each run, in order.
std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> spans_of(const std::string& dsn) {
  PgConnection connection({dsn, "test", false});
  const PgResult rows = connection.query(
      {"spans",
       "select r.tags::jsonb ->> 'of', min(e.at), max(e.at) from cairn.run r join cairn.event e using (shard, run_id) "
       "group by r.run_id, 1 order by 1, 2"});
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> spans;
  for (int row = 0; row < rows.rows(); ++row)
    spans[std::string(rows.text(row, 0))].emplace_back(rows.int8(row, 1), rows.int8(row, 2));
  return spans;
}

TEST(Starts, of_a_singleton_run_one_at_a_time_while_workers_and_clients_are_killed) {
  const std::string dsn = new_database();
  add_graph(dsn, sleeping_graph("one", "singleton", {{"key", "tag.of"}, {"when", "queue"}}, 60));
  std::vector<Beside> workers;
  for (int n = 0; n < 3; ++n) workers.emplace_back(Arguments{"work", "--dsn", dsn});
  std::mt19937 random(7);
  std::size_t accepted = 0;
  for (int n = 0; n < 30; ++n) {
    Beside client({"start", "one", "--dsn", dsn, "--tag", "of=" + std::to_string(n % 3), "--json"});
    if (n % 5 == 4) {  // may have started, or not
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
      client.signal(SIGKILL);
    } else if (client.wait() == 0) {
      ++accepted;
    }
    if (n % 6 == 5) {
      workers[static_cast<std::size_t>(n / 6 % 3)].signal(SIGKILL);
      workers[static_cast<std::size_t>(n / 6 % 3)] = Beside({"work", "--dsn", dsn});
    }
  }
  EXPECT_EQ(accepted, 24u);
  const auto is_over = [&] {
    return open_runs(dsn) == 0 && cairn_ok({"starts", "--dsn", dsn, "--json"}).lines().empty();
  };
  ASSERT_TRUE(wait_until(is_over, std::chrono::seconds(240))) << cairn({"starts", "--dsn", dsn}).out;
  std::size_t runs = 0;
  for (const auto& [key, spans] : spans_of(dsn)) {
    runs += spans.size();
    for (std::size_t n = 1; n < spans.size(); ++n)
      EXPECT_LE(spans[n - 1].second, spans[n].first) << "two runs of key " << key << " at once";
  }
  EXPECT_GE(runs, accepted);
  EXPECT_LE(runs, 30u);
  EXPECT_EQ(cairn({"verify", "--all", "--dsn", dsn}).exit, 0);
}

TEST(Starts, are_taken_skipped_or_kept_waiting_and_the_commands_say_so) {
  const std::string dsn = new_database();
  add_graph(dsn, sleeping_graph("skipping", "singleton", {{"key", "/of"}}, 1));
  add_graph(dsn, sleeping_graph("queued", "singleton", {{"key", "/of"}, {"when", "queue"}}, 1));
  const std::string input = R"({"of": "a"})";
  const Ran first = cairn_ok({"start", "skipping", "--dsn", dsn, "--input", input, "--json"});
  EXPECT_EQ(first.json()["start"], "started");
  const Ran second = cairn_ok({"start", "skipping", "--dsn", dsn, "--input", input, "--json"});
  EXPECT_EQ(second.json(), (Json{{"run", first.json()["run"]}, {"start", "skipped"}}));
  EXPECT_NE(second.err.find("Nothing was started"), std::string::npos);
  expect_refused(cairn({"start", "skipping", "--dsn", dsn}), 4, "Expected a key of 1 to 500 bytes at /of");

  const std::string running = cairn_ok({"start", "queued", "--dsn", dsn, "--input", input, "--json"}).json()["run"];
  const Ran waits = cairn_ok({"start", "queued", "--dsn", dsn, "--input", input, "--json"});
  EXPECT_EQ(waits.json()["start"], "waits");
  const std::string waiting = waits.json()["run"];
  expect_refused(cairn({"show", waiting, "--dsn", dsn}), 3, "waits for run " + running + " to end");
  const std::vector<Json> keys = cairn_ok({"starts", "--graph", "queued", "--dsn", dsn, "--json"}).lines();
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0]["run"], running);
  EXPECT_EQ(keys[0]["waiting"], 1);
  EXPECT_NE(cairn_ok({"starts", "--dsn", dsn}).out.find("skipping"), std::string::npos);
  EXPECT_NE(cairn_ok({"cancel", waiting, "--dry-run", "--dsn", dsn}).out.find("withdrawn"), std::string::npos);
  EXPECT_EQ(cairn_ok({"starts", "--graph", "queued", "--dsn", dsn, "--json"}).lines()[0]["waiting"], 1);
  EXPECT_NE(cairn_ok({"cancel", waiting, "--dsn", dsn}).out.find("withdrawn"), std::string::npos);
  EXPECT_EQ(cairn_ok({"starts", "--graph", "queued", "--dsn", dsn, "--json"}).lines()[0]["waiting"], 0);

  const Ran ended = cairn_ok({"start", "queued", "--dsn", dsn, "--input", input, "--tag", "last=1", "--no-work"});
  const Beside worker({"work", "--dsn", dsn});
  const std::string last = ended.out.substr(0, ended.out.find('\n'));
  EXPECT_EQ(cairn_ok({"wait", last, "--dsn", dsn, "--json"}).json()["status"], "done");
}

TEST(Starts, of_many_keys_are_listed_by_pages) {
  const std::string dsn = new_database();
  add_graph(dsn, sleeping_graph("paged", "singleton", {{"key", "/of"}}, 1));
  for (const char* input : {R"({"of": "a b"})", R"({"of": "c"})", R"({"of": "d"})"})
    cairn_ok({"start", "paged", "--dsn", dsn, "--input", input});
  const std::string first = cairn_ok({"starts", "--limit", "1", "--dsn", dsn}).out;
  EXPECT_TRUE(first.ends_with("1 shown. The next ones: --after 'paged a b'\n")) << first;
  const std::vector<Json> rest = cairn_ok({"starts", "--after", "paged a b", "--dsn", dsn, "--json"}).lines();
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0]["key"], "c");
  EXPECT_EQ(cairn_ok({"starts", "--limit", "3", "--dsn", dsn}).out.find("shown"), std::string::npos);
  expect_refused(cairn({"starts", "--after", "paged", "--dsn", dsn}), 2, "Expected GRAPH and KEY with a blank between");
}

TEST(Starts, F3_the_api_goes_on_after_each_key) {
  const std::string dsn = new_database(), path = "/api/v1/starts";
  add_graph(dsn, sleeping_graph("linked", "singleton", {{"key", "/of"}}, 1));
  for (const char* input : {R"({"of": "a b"})", R"({"of": "c"})", R"({"of": "d"})"})
    cairn_ok({"start", "linked", "--no-work", "--dsn", dsn, "--input", input});
  const Server server({"--dsn", dsn});
  const Json whole = server.get(path).json();
  EXPECT_EQ(whole.size(), 3u);
  Json paged = Json::array();
  for (std::string query = "?limit=1"; !query.empty() && paged.size() < 9;) {
    const Reply page = server.get(path + query);
    ASSERT_EQ(page.status, 200) << page.body;
    for (const Json& line : page.json()) paged.push_back(line);
    const std::string link = page.header("Link");
    query = link.empty() ? "" : link.substr(1, link.find('>') - 1);
  }
  EXPECT_EQ(paged, whole);
  EXPECT_EQ(server.get(path + "?after=linked").status, 400) << "a graph without a key";
}

TEST(Starts, of_a_batch_wait_in_the_command_itself_and_become_one_run) {
  const std::string dsn = new_database();
  add_graph(dsn, sleeping_graph("many", "batch", {{"size", 3}, {"after", "8s"}}, 1));
  cairn_ok({"start", "many", "--dsn", dsn, "--input", R"({"n": 1})"});
  const Ran last = cairn_ok({"start", "many", "--dsn", dsn, "--input", R"({"n": 2})", "--wait", "--json"});
  EXPECT_EQ(last.json()["output"]["items"], (Json{{{"n", 1}}, {{"n", 2}}}));
  EXPECT_EQ(cairn_ok({"runs", "--dsn", dsn, "--json"}).lines().size(), 1u);
}

TEST(Starts, over_HTTP_say_what_they_came_to) {
  const std::string dsn = new_database();
  add_graph(dsn, sleeping_graph("once", "singleton", Json::object(), 1));
  add_graph(dsn, sleeping_graph("settling", "debounce", {{"quiet", "300ms"}}, 1));
  const Server server({"--dsn", dsn});
  const Reply first = server.post("/api/v1/runs", {{"graph", "once"}});
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.json()["start"], "started");
  const Reply second = server.post("/api/v1/runs", {{"graph", "once"}});
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(second.json(), (Json{{"run", first.json()["run"]}, {"start", "skipped"}}));
  const Reply alone = server.post("/api/v1/runs", {{"graph", "settling"}});
  EXPECT_EQ(alone.status, 202);
  const Json both =
      server.post("/api/v1/runs", {{"graph", "settling"}, {"runs", Json::array({Json::object(), Json::object()})}})
          .json();
  ASSERT_TRUE(both["runs"].is_array()) << both;
  EXPECT_EQ(both["runs"][0]["run"], both["runs"][1]["run"]);
  EXPECT_EQ(both["runs"][0]["start"], "waits");
  EXPECT_EQ(server.get("/api/v1/starts").json()[0]["graph"], "once");
  const std::string run = both["runs"][0]["run"];
  EXPECT_TRUE(wait_until([&] { return server.get("/api/v1/runs/" + run).json()["seq"] > 0; }))
      << "the server begins it";
}

TEST(Starts, that_wait_are_counted_in_the_metrics) {
  const std::string dsn = new_database();
  add_graph(dsn, sleeping_graph("settling", "debounce", {{"quiet", "1h"}}, 1));
  const Server server({"--dsn", dsn});
  EXPECT_EQ(server.post("/api/v1/runs", {{"graph", "settling"}}).status, 202);
  EXPECT_TRUE(wait_until([&] {
    const std::string metrics = server.get("/metrics").body;
    return metrics.find("\ncairn_starts_waiting 1\n") != std::string::npos &&
           metrics.find("\ncairn_starts_late_seconds 0\n") != std::string::npos;
  }));
}

// A client that waits for a run does so from the start on.
TEST(Starts, over_HTTP_a_run_that_has_not_begun_is_shown_and_waited_for) {
  const std::string dsn = new_database();
  add_graph(dsn, sleeping_graph("queued", "singleton", {{"when", "queue"}}, 1));
  const std::string first = cairn_ok({"start", "queued", "--dsn", dsn, "--tag", "of=b", "--json"}).json()["run"];
  const std::string token = new_token(dsn, "ann", {"--role", "run", "--role", "read", "--scope", "tag=of=a"});
  const std::string other = new_token(dsn, "ben", {"--role", "read", "--scope", "tag=of=c"});
  const Server server({"--dsn", dsn});
  const Json body = {{"graph", "queued"}, {"tags", {{"of", "a"}}}, {"input", {{"n", 1}}}};
  const std::string second = server.post("/api/v1/runs", body, bearer(token)).json()["run"];
  const Json shown = server.get("/api/v1/runs/" + second, bearer(token)).json();
  EXPECT_EQ(shown["status"], "waiting");
  EXPECT_EQ(shown["seq"], 0);
  EXPECT_EQ(shown["input"], (Json{{"n", 1}}));
  EXPECT_EQ(shown["begins"], "for run " + first + " to end");
  add_graph(dsn, sleeping_graph("skipping", "singleton", Json::object(), 1));
  cairn_ok({"start", "skipping", "--dsn", dsn, "--tag", "of=b"});
  const Json hidden = {{"graph", "skipping"}, {"tags", {{"of", "a"}}}};
  EXPECT_EQ(server.post("/api/v1/runs", hidden, bearer(token)).status, 409) << "the open run is another tenant's";
  EXPECT_EQ(server.get("/api/v1/runs/" + second, bearer(other)).status, 404);
  const Beside worker({"work", "--dsn", dsn});
  EXPECT_EQ(server.get("/api/v1/runs/" + second + "?wait_ms=60000", bearer(token)).json()["status"], "done");
}

}  // namespace
}  // namespace cairn::program
