// Requests that wait for a run's end, many at once, and the difference of two runs, over HTTP.
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <thread>

#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

using std::chrono::steady_clock;

Json plan_of(const std::string& tool, const Json& inputs) {
  return {{"goal", "g"}, {"sub_goals", {{{"id", "a"}, {"tool", tool}, {"inputs", inputs}}}}};
}

class ApiWaits : public ::testing::Test {
 protected:
  std::string start(const Json& input) {
    return server.post(runs, {{"graph", "plan_runner"}, {"input", input}}).json().at("run");
  }
  Reply wait_for(const std::string& run, const std::string& ms) const {
    return server.get(runs + "/" + run + "?wait_ms=" + ms);
  }

  Server server;
};

TEST_F(ApiWaits, the_answer_comes_when_the_run_has_ended) {
  const std::string run = start(plan_of("sleep", {{"ms", 300}}));
  const steady_clock::time_point began = steady_clock::now();
  const Beside working({"work"});
  const Reply reply = wait_for(run, "60000");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json()["status"], "done");
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(40));
  EXPECT_EQ(wait_for(run, "60000").json(), server.get(runs + "/" + run).json()) << "it has ended: at once";
}

TEST_F(ApiWaits, after_its_time_the_answer_is_the_run_as_it_is) {
  const std::string run = start(plan_of("echo", {{"n", 1}}));  // no one works
  const steady_clock::time_point began = steady_clock::now();
  const Reply reply = wait_for(run, "300");
  EXPECT_EQ(reply.json()["status"], "running");
  EXPECT_GE(steady_clock::now() - began, std::chrono::milliseconds(300));
}

TEST_F(ApiWaits, many_wait_at_once_and_each_hears_of_its_own_run) {
  constexpr int many = 40;
  std::vector<std::string> started;
  for (int n = 0; n < many; ++n) started.push_back(start(plan_of("echo", {{"n", n}})));
  std::vector<Reply> replies(many);
  std::vector<std::thread> waiting;
  for (int n = 0; n < many; ++n)
    waiting.emplace_back(
        [&, n] { replies[static_cast<std::size_t>(n)] = wait_for(started[static_cast<std::size_t>(n)], "60000"); });
  const Beside working({"work"});
  for (std::thread& one : waiting) one.join();
  for (int n = 0; n < many; ++n) {
    const Json shown = replies[static_cast<std::size_t>(n)].json();
    EXPECT_EQ(shown["output"]["results"]["a"], (Json{{"n", n}})) << shown;
  }
}

TEST_F(ApiWaits, a_server_that_stops_answers_those_that_wait_for_runs) {
  Server other;
  const std::string run = start(plan_of("echo", {{"n", 1}}));
  ApiConnection waiting(other.port());
  waiting.send("GET " + runs + "/" + run + "?wait_ms=60000 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  // Requests are read in the order in which they come: when this one is answered, the other one has begun.
  EXPECT_EQ(other.get(runs + "/" + run).status, 200);
  other.process().signal(SIGTERM);
  const Reply reply = waiting.read_reply();
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json()["status"], "running");
  EXPECT_EQ(other.process().wait(), 0);
}

TEST_F(ApiWaits, a_start_that_finds_no_place_to_wait_is_answered_at_once_with_its_run_s_state) {
  const Server other({"--connections", "2"});                  // one of them for a stream or a wait
  const std::string run = start(plan_of("echo", {{"n", 1}}));  // no one works
  const ApiStreamReader held(other.port(), runs + "/" + run + "/events");
  EXPECT_EQ(other.get(runs + "/" + run + "?wait_ms=60000").status, 503) << "there is no place";
  const steady_clock::time_point began = steady_clock::now();
  const Json given = {{"graph", "plan_runner"}, {"input", plan_of("echo", {{"n", 2}})}};
  const Reply reply = other.post(runs + "?wait_ms=60000", given);
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(20));
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json()["status"], "running");
  EXPECT_NE(reply.json()["run"], run);
}

TEST_F(ApiWaits, a_wrong_time_is_refused) {
  const std::string run = start(plan_of("echo", {{"n", 1}}));
  for (const char* wrong : {"-1", "60001", "soon", "1.5"}) {
    const Reply reply = wait_for(run, wrong);
    EXPECT_EQ(reply.status, 400);
    EXPECT_NE(reply.body.find("Expected wait_ms to be a number from 0 to 60000"), std::string::npos) << reply.body;
  }
  EXPECT_EQ(wait_for("00000000-0000-0000-0000-000000000001", "1000").status, 404);
}

TEST_F(ApiWaits, a_start_that_waits_is_answered_with_its_run_s_state_and_starts_one) {
  const std::string waited = runs + "?wait_ms=60000";
  const Json start = {{"graph", "plan_runner"}, {"input", plan_of("echo", {{"n", 1}})}, {"tags", {{"team", "waited"}}}};
  EXPECT_EQ(server.post(runs + "?wait_ms=200", start).json()["status"], "running") << "no one works";
  const Beside working({"work"});
  const Reply reply = server.post(waited, start);
  EXPECT_EQ(reply.status, 200) << reply.body;
  const std::string run = reply.json().at("run");
  EXPECT_EQ(reply.json()["status"], "done");
  EXPECT_EQ(reply.json(), server.get(runs + "/" + run).json());
  Json keyed = start;
  keyed["key"] = "waited";
  const Json state = server.post(waited, keyed).json();
  EXPECT_EQ(state["status"], "done");
  EXPECT_EQ(server.post(waited, keyed).json(), state) << "the key has its run";
  EXPECT_EQ(server.get(runs + "?tag=team=waited").json().size(), 3u) << "one for each, but for the key";
}

TEST_F(ApiWaits, a_start_that_cannot_wait_is_refused_before_it_starts_any) {
  Json start = {{"graph", "plan_runner"}, {"tags", {{"team", "refused"}}}};
  EXPECT_EQ(server.post(runs + "?wait_ms=60001", start).status, 400);
  start["runs"] = Json::array({Json::object()});
  const Reply several = server.post(runs + "?wait_ms=1000", start);
  EXPECT_EQ(several.status, 400);
  EXPECT_NE(several.body.find("Expected wait_ms at the start of one run"), std::string::npos) << several.body;
  EXPECT_EQ(server.get(runs + "?tag=team=refused").json(), Json::array());
}

TEST(ApiWaitTokens, a_start_that_waits_needs_to_read_and_is_taken_from_the_quota_of_runs) {
  const std::string dsn = new_database();
  const std::string starter = new_token(dsn, "starter", {"--role", "run"});
  const std::string both = new_token(dsn, "both", {"--role", "run", "--role", "read", "--quota", "runs=1/1h"});
  const Server server({"--dsn", dsn});
  const std::string waited = runs + "?wait_ms=100";
  const Json start = {{"graph", "plan_runner"}, {"input", plan_of("echo", {{"n", 1}})}};
  EXPECT_EQ(server.post(waited, start, bearer(starter)).status, 403);
  EXPECT_EQ(server.post(waited, start, bearer(both)).json()["status"], "running");
  EXPECT_EQ(server.post(waited, start, bearer(both)).status, 429);
}

TEST_F(ApiWaits, two_runs_differ_as_the_command_says) {
  const std::string a = start(plan_of("echo", {{"n", 1}})), b = start(plan_of("echo", {{"n", 2}}));
  const Beside working({"work"});
  for (const std::string& run : {a, b}) EXPECT_EQ(wait_for(run, "60000").json()["status"], "done");
  const Reply reply = server.get(runs + "/" + a + "/diff?with=" + b);
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json(), cairn({"diff", a, b, "--json"}).json());
  EXPECT_EQ(reply.json()["same"], false);
  const Json moments = server.get(runs + "/" + a + "/diff?at=2&with_at=4").json();
  EXPECT_EQ(moments, cairn({"diff", a, "--from", "2", "--to", "4", "--json"}).json());
  const Reply neither = server.get(runs + "/" + a + "/diff");
  EXPECT_EQ(neither.status, 400);
  EXPECT_NE(neither.body.find("Expected ?with=RUN"), std::string::npos) << neither.body;
  EXPECT_EQ(server.get(runs + "/" + a + "/diff?with=nobody").status, 404);
}

}  // namespace
}  // namespace cairn::program
