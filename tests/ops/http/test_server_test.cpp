// `cairn test-server`: the API over a store in memory, where time passes as fast as nothing happens.
#include <chrono>
#include <gtest/gtest.h>

#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

using std::chrono::steady_clock;

// A day's wait, then a step of a worker over HTTP.
Json slow_graph() {
  return {{"name", "slow"},
          {"start", "rest"},
          {"limits", {{"steps", 20}}},
          {"channels", {{"n", {{"reducer", "sum"}}}}},
          {"nodes",
           {{"rest", {{"wait", {{"ms", 86'400'000}}}, {"on", {{"fired", "work"}}}}},
            {"work",
             {{"do", "t.work"},
              {"queue", "t"},
              {"labels", {"ok"}},
              {"retry", {{"attempts", 4}, {"backoff_ms", 3'600'000}}},
              {"on", {{"ok", "end"}}}}},
            {"end", {{"end", {{"status", "done"}, {"output", {{"n", {{"$", "n"}}}}}}}}}}}};
}

class TestServer : public ::testing::Test {
 protected:
  TestServer() : server({}, "test-server") { EXPECT_EQ(server.post("/api/v1/graphs", slow_graph()).status, 201); }

  std::string start() { return server.post(runs, {{"graph", "slow"}}).json().at("run"); }
  Json wait_for(const std::string& run) const { return server.get(runs + "/" + run + "?wait_ms=60000").json(); }
  Json claim(const std::string& session = "", Json finished = Json::array()) const {
    Json body = {{"worker", "t"}, {"queues", {"t"}}, {"handlers", {"t.work"}}, {"max", 1}, {"wait_ms", 20'000}};
    if (!session.empty()) body["session"] = session;
    body["finished"] = std::move(finished);
    return server.post(claims, body).json();
  }
  // Executes steps until the run has ended; `act` gives the report of each.
  Json worked_off(const std::string& run, const std::function<Json(const Json& claim)>& act) {
    Json ended;
    std::thread waiting([&] { ended = wait_for(run); });
    std::string session;
    Json finished = Json::array();
    while (server.get(runs + "/" + run).json()["output"].is_null()) {
      const Json answer = claim(session, finished);
      session = answer["session"];
      finished = Json::array();
      for (const Json& one : answer["claims"]) {
        Json report = act(one);
        if (report.is_null()) {
          EXPECT_EQ(server.post("/api/v1/test/crash", {{"session", session}}).status, 200);
          session.clear();
        } else {
          report["claim"] = one["claim"];
          finished.push_back(report);
        }
      }
    }
    waiting.join();
    return ended;
  }

  Server server;
};

TEST_F(TestServer, a_day_passes_in_a_moment_while_someone_waits) {
  const std::string run = start();
  const steady_clock::time_point began = steady_clock::now();
  const Json ended = worked_off(run, [](const Json&) { return Json{{"patch", {{"n", 1}}}}; });
  EXPECT_EQ(ended["output"], (Json{{"n", 1}})) << ended;
  EXPECT_GT(ended["updated_at"].get<std::string>().substr(0, 10), ended["started_at"].get<std::string>().substr(0, 10));
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(60));
}

TEST_F(TestServer, a_worker_that_waits_keeps_no_step_of_others_from_them) {
  const Json graph = {
      {"name", "mixed"},
      {"start", "theirs"},
      {"limits", {{"steps", 20}}},
      {"nodes",
       {{"theirs", {{"do", "t.work"}, {"labels", {"ok"}}, {"on", {{"ok", "ours"}}}}},
        {"ours",
         {{"do", "tool.call"}, {"with", {{"tool", "echo"}, {"inputs", Json::object()}}}, {"on", {{"ok", "end"}}}}},
        {"end", {{"end", "done"}}}}}};
  ASSERT_EQ(server.post("/api/v1/graphs", graph).status, 201);
  const std::string run = server.post(runs, {{"graph", "mixed"}}).json().at("run");
  Json asked = {{"worker", "t"}, {"queues", {"default"}}, {"handlers", {"t.work"}}, {"max", 1}, {"wait_ms", 20'000}};
  const Json first = server.post(claims, asked).json();
  asked["session"] = first["session"];
  Json report = asked;  // with it the worker takes the run's next step, for which it has nothing
  report["finished"] = Json::array({Json{{"claim", first["claims"].at(0)["claim"]}}});
  std::thread waiting([&] { EXPECT_EQ(server.post(claims, asked).json()["claims"], Json::array()); });
  const steady_clock::time_point began = steady_clock::now();
  EXPECT_EQ(server.post(claims, report).json()["results"][0]["status"], "committed");
  EXPECT_TRUE(wait_until([&] { return server.get(runs + "/" + run).json()["status"] == "done"; }));
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(10)) << "as long as the worker waits";
  EXPECT_EQ(server.post("/api/v1/test/time", {{"ms", 20'000}}).status, 200);
  waiting.join();
}

TEST_F(TestServer, time_stands_where_no_one_waits_and_goes_on_when_it_is_told_to) {
  const std::string run = start();
  for (int look = 0; look < 100; ++look)  // enough of them for the clock to be skipped, if it were
    EXPECT_EQ(server.get(runs + "/" + run).json()["steps"][0]["node"], "rest");
  EXPECT_EQ(server.post("/api/v1/test/time", {{"ms", 86'400'000}}).status, 200);
  EXPECT_TRUE(wait_until([&] { return server.get(runs + "/" + run).json()["steps"][0]["node"] == "work"; }));
}

TEST_F(TestServer, failed_attempts_wait_their_virtual_hours) {
  const std::string run = start();
  int attempts = 0;
  const Json ended = worked_off(run, [&](const Json& claim) {
    ++attempts;
    return claim["attempt"] < 3 ? Json{{"error", "busy"}} : Json{{"patch", {{"n", 7}}}};
  });
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(ended["output"], (Json{{"n", 7}})) << ended;
}

TEST_F(TestServer, a_worker_that_crashes_loses_its_step_to_the_next_one) {
  const std::string run = start();
  int executed = 0;
  const Json ended = worked_off(run, [&](const Json&) {
    return ++executed == 1 ? Json() : Json{{"patch", {{"n", 1}}}};
  });
  EXPECT_EQ(executed, 2);
  EXPECT_EQ(ended["output"], (Json{{"n", 1}})) << ended;
}

TEST_F(TestServer, forks_states_as_of_a_moment_and_explanations_are_those_of_the_engine) {
  const std::string run = start();
  worked_off(run, [](const Json&) { return Json{{"patch", {{"n", 1}}}}; });
  EXPECT_EQ(server.get(runs + "/" + run + "?at=1").json()["status"], "waiting");
  EXPECT_EQ(server.get(runs + "/" + run + "/explain").status, 200);
  const std::string fork = server.post(runs + "/" + run + "/fork", {{"at", 1}}).json().at("run");
  const Json ended = worked_off(fork, [](const Json&) { return Json{{"patch", {{"n", 2}}}}; });
  EXPECT_EQ(ended["output"], (Json{{"n", 2}})) << ended;
  EXPECT_EQ(server.get(runs + "/" + run + "/diff?with=" + fork).json()["same"], false);
  EXPECT_EQ(server.get(runs + "/" + run + "/export").status, 200);
}

TEST_F(TestServer, what_needs_a_database_and_what_is_wrong_is_said) {
  EXPECT_EQ(server.get("/readyz").status, 200);
  EXPECT_EQ(server.get("/api/v1/consumers").status, 501);
  EXPECT_EQ(server.get("/metrics").status, 501);
  EXPECT_EQ(server.get(runs + "/" + start() + "/verify").status, 501) << "no other database is asked";
  EXPECT_EQ(server.get("/api/v1/test/time").status, 405);
  EXPECT_EQ(server.post("/api/v1/test/time", {{"ms", -1}}).status, 400);
  EXPECT_EQ(server.post("/api/v1/test/crash", {{"session", "x"}}).status, 400);
  EXPECT_EQ(server.post("/api/v1/test/crash", {{"session", "77"}}).status, 404);
  expect_refused(cairn({"test-server", "--listen", "0.0.0.0:0"}), 4, "a loopback address");
}

}  // namespace
}  // namespace cairn::program
