// Budgets of a queue with real workers that ask a model and are killed.
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn::program {
namespace {

using testing::LoopbackServer;

constexpr std::int64_t tokens_of_a_call = 100;

// Each call uses a hundred tokens and costs 0.02.
class Budgets : public ::testing::Test {
 protected:
  // Asks so often, a step after another.
  static std::string asking_graph(const std::string& name, int asks = 1) {
    Json nodes = {{"finish", {{"end", "done"}}}};
    for (int n = 1; n <= asks; ++n)
      nodes["ask" + std::to_string(n)] = {{"do", "model.chat"},
                                          {"queue", name},
                                          {"with", {{"prompt", "?"}, {"into", "said"}}},
                                          {"retry", {{"lost", 20}}},
                                          {"on", {{"ok", n == asks ? "finish" : "ask" + std::to_string(n + 1)}}}};
    const Json graph = {{"name", name}, {"start", "ask1"}, {"limits", {{"steps", 100}}}, {"nodes", nodes}};
    cairn_ok({"graph", "add", write_file(name + ".json", graph.dump()).string()});
    return name;
  }
  Beside worker(const std::string& queue) {
    const Variable url("CAIRN_MODEL_URL", model_.url("/v1")), cost("CAIRN_MODEL_COST_IN", "200");
    return Beside({"work", "--queue", queue, "--concurrency", "4"});
  }
  static std::string start(const std::string& graph, const std::string& team) {
    return cairn_ok({"start", graph, "--no-work", "--tag", "team=" + team, "--json"}).json()["run"];
  }
  static Json reason(const std::string& run) { return cairn_ok({"explain", run, "--json"}).json()["reasons"][0]; }
  static std::size_t done(const std::string& graph) {
    return cairn_ok({"runs", "--graph", graph, "--status", "done", "--limit", "1000", "--json"}).lines().size();
  }
  static Json used(const std::string& queue) { return cairn_ok({"queue", "budgets", queue, "--json"}).lines()[0]; }

  LoopbackServer model_{[](const auto&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // a worker is killed while it waits for this
    LoopbackServer::Reply reply;
    reply.body = R"({"id": "c", "model": "m", "usage": {"prompt_tokens": 100, "completion_tokens": 0},
      "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Blue."}}]})";
    return reply;
  }};
};

TEST_F(Budgets, of_four_workers_of_which_three_are_killed_no_more_is_used_than_the_cap_and_nothing_leaks) {
  constexpr std::int64_t calls = 120;
  const std::string queue = asking_graph("budgeted");
  cairn_ok({"queue", "set", queue, "--budget", "tokens=" + std::to_string(calls * tokens_of_a_call) + "/month",
            "--reserve", "tokens=" + std::to_string(tokens_of_a_call)});
  EXPECT_NE(cairn_ok({"queue"}).out.find(std::to_string(calls * tokens_of_a_call) + " tokens per month"),
            std::string::npos);
  std::string inputs;
  for (std::int64_t run = 0; run < 2 * calls; ++run) inputs += "{}\n";
  cairn_ok({"batch", queue, "--inputs", write_file("budgeted.jsonl", inputs)});
  std::vector<Beside> workers;
  for (int one = 0; one < 4; ++one) workers.push_back(worker(queue));
  for (std::size_t killed = 0; killed < 3; ++killed) {
    ASSERT_TRUE(wait_until([&] { return done(queue) >= 10 * (killed + 1); })) << workers[killed].err();
    workers[killed].signal(SIGKILL);
    workers[killed].wait();
  }
  ASSERT_TRUE(wait_until([&] { return done(queue) == calls; }, std::chrono::seconds(120))) << done(queue);
  EXPECT_EQ(used(queue)["used"], calls * tokens_of_a_call) << "all of it, whatever the dead had reserved";
  const Json open = cairn_ok({"runs", "--graph", queue, "--status", "running", "--limit", "1", "--json"}).json();
  const Json why = reason(open["run"]);
  EXPECT_EQ(why["kind"], "queue_budget") << why;
  EXPECT_EQ(why["used"], calls * tokens_of_a_call);
  EXPECT_NE(why["says"].get<std::string>().find("Queue budgeted may use 12000 tokens per month; 12000 are used"),
            std::string::npos)
      << why;
  const Server server;
  EXPECT_NE(
      server.get("/metrics").body.find("cairn_budget_used_ratio{per=\"month\",queue=\"budgeted\",unit=\"tokens\"} 1\n"),
      std::string::npos);
  cairn_ok({"queue", "set", queue, "--budget", "none", "--reserve", "none"});
  EXPECT_TRUE(wait_until([&] { return done(queue) == 2 * calls; }, std::chrono::seconds(120)));
}

// A worker keeps the next steps of its runs here, and takes starts for them.
TEST_F(Budgets, of_runs_that_keep_their_place_from_step_to_step_no_more_is_used_than_the_cap_while_workers_are_killed) {
  constexpr int asks = 3;
  constexpr std::int64_t calls = 120, runs = 80;
  const std::string queue = asking_graph("kept_on", asks);
  cairn_ok({"queue", "set", queue, "--budget", "tokens=" + std::to_string(calls * tokens_of_a_call) + "/month",
            "--reserve", "tokens=" + std::to_string(tokens_of_a_call)});
  std::string inputs;
  for (std::int64_t run = 0; run < runs; ++run) inputs += "{}\n";
  cairn_ok({"batch", queue, "--inputs", write_file("kept_on.jsonl", inputs)});
  const auto is_used = [&](std::int64_t of_calls) {
    return [&queue, of_calls] { return used(queue)["used"].get<std::int64_t>() >= of_calls * tokens_of_a_call; };
  };
  std::vector<Beside> workers;
  for (int one = 0; one < 4; ++one) workers.push_back(worker(queue));
  for (std::size_t killed = 0; killed < 3; ++killed) {
    ASSERT_TRUE(wait_until(is_used(15 * (static_cast<std::int64_t>(killed) + 1)))) << workers[killed].err();
    workers[killed].signal(SIGKILL);
    workers[killed].wait();
  }
  ASSERT_TRUE(wait_until(is_used(calls), std::chrono::seconds(120))) << used(queue);
  EXPECT_EQ(used(queue)["used"], calls * tokens_of_a_call) << "all of it, and no more";
  EXPECT_LE(done(queue), static_cast<std::size_t>(calls / asks));
  const Json open = cairn_ok({"runs", "--graph", queue, "--status", "running", "--limit", "1", "--json"}).json();
  EXPECT_TRUE(wait_until([&] { return reason(open["run"])["kind"] == "queue_budget"; })) << reason(open["run"]);
  cairn_ok({"queue", "set", queue, "--budget", "none", "--reserve", "none"});
  EXPECT_TRUE(wait_until([&] { return done(queue) == runs; }, std::chrono::seconds(120)));
}

TEST_F(Budgets, a_team_that_has_used_its_cost_of_the_day_waits_and_others_go_on) {
  const std::string queue = asking_graph("teams");
  const Json set = cairn_ok({"queue", "set", queue, "--key", "tag.team", "--key-budget", "cost=0.03/month", "--reserve",
                             "cost=0.01", "--json"})
                       .json();
  EXPECT_EQ(set["key_budgets"], (Json::array({{{"unit", "cost"}, {"cap", 0.03}, {"per", "month"}}})));
  EXPECT_EQ(set["reserve"], (Json{{"cost", 0.01}}));
  const Beside working = worker(queue);
  const auto ends = [](const std::string& run) {
    return wait_until([&] { return cairn_ok({"show", run, "--json"}).json()["status"] == "done"; });
  };
  for (int n = 0; n < 2; ++n) EXPECT_TRUE(ends(start(queue, "red"))) << working.err();
  const std::string third = start(queue, "red");
  ASSERT_TRUE(wait_until([&] { return reason(third)["kind"] == "queue_budget"; })) << reason(third);
  EXPECT_EQ(reason(third)["key"], "red");
  EXPECT_TRUE(ends(start(queue, "blue"))) << working.err();
  const std::vector<Json> most = cairn_ok({"queue", "budgets", queue, "--json"}).lines();
  ASSERT_EQ(most.size(), 2u);
  EXPECT_EQ(most[0]["key"], "red");
  EXPECT_EQ(most[0]["used"], 0.04);
  EXPECT_EQ(most[1]["used"], 0.02);

  const std::string part = cairn_ok({"queue", "budgets", queue, "--limit", "1"}).out;
  EXPECT_TRUE(part.ends_with("There may be more keys than 1 of a budget: --after 1\n")) << part;
  EXPECT_EQ(cairn_ok({"queue", "budgets", queue, "--limit", "1", "--after", "1", "--json"}).json(), most[1]);
  EXPECT_EQ(cairn_ok({"queue", "budgets", queue, "--after", "2"}).out, "None.\n");

  const Server server;
  const std::string budgets = "/api/v1/queues/teams/budgets";
  EXPECT_EQ(server.get(budgets).json(), Json(most));
  const Reply first = server.get(budgets + "?limit=1");
  EXPECT_EQ(first.json(), Json::array({most[0]}));
  EXPECT_EQ(first.header("Link"), "<?limit=1&after=1>; rel=\"next\"");
  EXPECT_EQ(server.get(budgets + "?limit=1&after=1").json(), Json::array({most[1]}));
  EXPECT_EQ(server.get(budgets + "?limit=1&after=2").json(), Json::array());
  EXPECT_EQ(server.get(budgets + "?after=x").status, 400);
  const Json changed = server
                           .post("/api/v1/queues/teams",
                                 {{"key_budgets", Json::array({{{"unit", "cost"}, {"cap", 1}, {"per", "month"}}})}})
                           .json();
  EXPECT_EQ(changed["key_budgets"][0]["cap"], 1.0) << changed;
  EXPECT_TRUE(ends(third)) << "what is set holds at once";
}

TEST_F(Budgets, that_make_no_sense_are_refused_with_one_sentence) {
  const std::string name = "senseless";
  const auto refused = [&](const Arguments& options, int code, const std::string& says) {
    Arguments all{"queue", "set", name};
    all.insert(all.end(), options.begin(), options.end());
    expect_refused(cairn(all), code, says);
  };
  for (const char* text : {"tokens", "tokens=5", "tokens=5/week", "words=5/day", "tokens=1.5/day", "tokens=-1/day",
                           "cost=1e99/day", "tokens=/day"})
    refused({"--budget", text}, 2, "Expected --budget as tokens=N/WINDOW or cost=N/WINDOW");
  refused({"--budget", "tokens=0/day"}, 4, "above nothing");
  refused({"--budget", "tokens=5/day", "--budget", "tokens=6/day"}, 4, "but got two");
  refused({"--budget", "tokens=5/day", "--reserve", "tokens=6"}, 4, "none could begin");
  refused({"--reserve", "tokens"}, 2, "Expected --reserve as tokens=N or cost=N");
  refused({"--key-budget", "tokens=5/day"}, 4, "Expected a key");
  expect_refused(cairn({"queue", "budgets", name}), 3, "Expected a queue with a budget");
  EXPECT_EQ(cairn_ok({"queue", "--json"}).out.find(name), std::string::npos);
  const Server server;
  const auto says = [&](const Json& body) {
    const auto reply = server.post("/api/v1/queues/" + name, body);
    EXPECT_EQ(reply.status, 400) << reply.body;
    return reply.message();
  };
  for (const Json& budgets : {Json("x"), Json::array({1}), Json::array({{{"unit", "tokens"}, {"cap", 5}}}),
                              Json::array({{{"unit", "tokens"}, {"cap", 5}, {"per", "week"}}}), Json(Json::array({9}))})
    EXPECT_NE(says({{"budgets", budgets}}).find("Expected \"budgets\" as a list of"), std::string::npos);
  EXPECT_NE(says({{"reserve", {{"words", 1}}}}).find("Expected \"reserve\" as an object"), std::string::npos);
}

}  // namespace
}  // namespace cairn::program
