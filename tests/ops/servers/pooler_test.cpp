// The program behind a pooler in transaction mode, and the connections that its processes open.
#include "tests/storage/pooler.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <thread>

#include "storage/clock.hpp"
#include "tests/faults/server.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"
#include "tests/ops/servers/command_walk.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

using namespace program;

TEST(BehindAPooler, D11_commands_workers_and_audits_pass) {
  const std::string data = directory() / "pooled";
  const std::string dsn = cairn({"doctor", "--json", "--data", data}).json().at("dsn");
  const test::PgBouncer pooler(dsn, directory());
  const auto on_it = [&](Arguments arguments) {
    arguments.insert(arguments.end(), {"--dsn", pooler.dsn()});
    return arguments;
  };
  const Json plan = {{"goal", "g"},
                     {"sub_goals",
                      {{{"id", "a"}, {"tool", "echo"}, {"inputs", {{"x", 1}}}},
                       {{"id", "b"}, {"tool", "echo"}, {"inputs", {{"x", 2}}}, {"after", {"a"}}}}}};
  EXPECT_EQ(cairn_ok(on_it({"start", "plan_runner", "--wait", "--json", "--input", plan.dump()})).json().at("status"),
            "done");
  {
    Beside worker(on_it({"work"}));
    std::vector<std::string> runs;
    for (int n = 0; n < 5; ++n)
      runs.push_back(cairn_ok(on_it({"start", "plan_runner", "--json", "--input", plan.dump()})).json().at("run"));
    for (const std::string& run : runs)
      EXPECT_TRUE(wait_until([&] {
        return cairn(on_it({"show", run, "--json"})).json().at("status") == "done";
      })) << run;
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait(), 0) << worker.err();
    EXPECT_EQ(worker.err(), "");
  }
  for (const Arguments& arguments : {Arguments{"runs"},
                                     {"queue"},
                                     {"workers"},
                                     {"graph", "list"},
                                     {"verify", "--all"},
                                     {"rebuild", "--check"},
                                     {"migrate"}})
    cairn_ok(on_it(arguments));
  cairn_ok({"down", "--data", data});
}

TEST(BehindAPooler, D11_every_kind_of_command_passes) {
  const std::string owner = new_database();
  test::ask(owner, "create role tester superuser login");  // one that the pooler knows, without a password
  const test::PgBouncer pooler(test::with_user(owner, "tester"), directory());
  const Variable dsn("CAIRN_DSN", pooler.dsn());
  walk_commands();
}

std::int64_t listeners(const std::string& dsn) {
  return test::ask_number(dsn,
                          "select count(*) from pg_stat_activity where query = 'LISTEN cairn' and "
                          "datname = current_database()");
}

// Entered by the login of workers, which needs no password.
std::string new_database_of_workers() { return test::with_user(new_database(), "cairn"); }

std::string check_found(const Ran& doctor, const std::string& name) {
  const Json told = doctor.json();
  for (const Json& check : told.at("checks"))
    if (check.at("name") == name) return (check.at("ok") ? "ok: " : "not ok: ") + check.at("found").get<std::string>();
  return "no such check";
}

Json echo_plan(int goals) {
  Json plan = {{"goal", "g"}, {"sub_goals", Json::array()}};
  for (int n = 0; n < goals; ++n)
    plan["sub_goals"].push_back({{"id", "g" + std::to_string(n)}, {"tool", "echo"}, {"inputs", {{"x", n}}}});
  return plan;
}

// Both behind the pooler: runs that the API starts are worked off, answered and followed, and the worker is woken past
// the pooler; queues with a limit are kept.
TEST(BehindAPooler, D11_workers_and_the_API_pass_and_are_woken_past_it) {
  const std::string direct = new_database_of_workers();
  const test::PgBouncer pooler(direct, directory());
  const Variable dsn("CAIRN_DSN", pooler.dsn());
  const Variable past("CAIRN_DSN_DIRECT", direct);
  EXPECT_EQ(check_found(cairn({"doctor", "--json"}), "wake_ups"),
            "ok: behind a pooler; workers are woken by notifications over CAIRN_DSN_DIRECT");
  cairn_ok({"graph", "add", write_file("pooled_ask.json", ask_graph("pooled_ask"))});
  cairn_ok({"queue", "set", "default", "--concurrency", "2"});
  Beside worker({"work"});
  EXPECT_TRUE(wait_until([&] { return listeners(direct) == 1; }));
  Server server;
  const std::string asks = server.post(runs, {{"graph", "pooled_ask"}}).json().at("run");
  EXPECT_TRUE(wait_until([&] { return server.get(runs + "/" + asks).json().at("status") == "waiting"; }));
  EXPECT_EQ(server.post(runs + "/" + asks + "/answers", {{"value", "north"}}).status, 200);
  ApiStreamReader stream(server.port(), runs + "/" + asks + "/events?follow=true");
  std::string last;
  while (const auto event = stream.next()) last = event->data.at("type");
  EXPECT_EQ(last, "run_finished");
  for (int n = 0; n < 3; ++n)
    EXPECT_EQ(
        cairn_ok({"start", "plan_runner", "--wait", "--json", "--input", echo_plan(6).dump()}).json().at("status"),
        "done");
  EXPECT_EQ(cairn_ok({"events", asks, "--follow", "--json"}).lines().back().at("type"), "run_finished");
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0) << worker.err();
  EXPECT_EQ(worker.err(), "");
}

TEST(BehindAPooler, without_a_way_past_it_workers_poll_and_doctor_says_so) {
  const std::string direct = new_database_of_workers();
  const test::PgBouncer pooler(direct, directory());
  const Variable dsn("CAIRN_DSN", pooler.dsn());
  EXPECT_EQ(check_found(cairn({"doctor", "--json"}), "wake_ups"),
            "ok: behind a pooler; workers poll, CAIRN_DSN_DIRECT would let them be woken");
  Beside worker({"work"});
  cairn_ok({"start", "plan_runner", "--wait", "--json", "--input", echo_plan(2).dump()});
  EXPECT_EQ(listeners(direct), 0);
}

TEST(BehindAPooler, a_way_that_does_not_lead_past_it_is_refused) {
  const std::string direct = new_database_of_workers(), elsewhere = new_database_of_workers();
  const test::PgBouncer pooler(direct, directory());
  const Variable dsn("CAIRN_DSN", pooler.dsn());
  for (const auto& [past, says] :
       {std::pair<std::string, std::string>(pooler.dsn(), "to lead past the pooler, but it leads to one"),
        {elsewhere, "but it leads to database"},
        {"host=" + directory().string() + "/nowhere", "Expected CAIRN_DSN_DIRECT to lead to the server"}}) {
    const Variable given("CAIRN_DSN_DIRECT", past);
    const Ran refused = cairn({"work"});
    EXPECT_EQ(refused.exit, 5);
    EXPECT_NE(refused.err.find(says), std::string::npos) << refused.err;
    EXPECT_TRUE(check_found(cairn({"doctor", "--json"}), "wake_ups").starts_with("not ok: "));
  }
  const Variable nonsense("CAIRN_DSN_DIRECT", "host=");
  const Variable broken("CAIRN_DSN_DIRECT", "nonsense=1");
  EXPECT_EQ(cairn({"runs"}).exit, 4);
}

// It would try each write again, for ever.
TEST(BehindAPooler, D11_of_a_mode_that_lets_no_transaction_pass_workers_end_and_commands_are_refused) {
  const std::string direct = new_database_of_workers();
  test::PgBouncer pooler(direct, directory());
  const Variable dsn("CAIRN_DSN", pooler.dsn());
  Beside worker({"work"});
  EXPECT_TRUE(wait_until([&] { return test::ask_number(direct, "select count(*) from cairn.worker") == 1; }));
  pooler.start_again({.mode = "statement"});
  const std::string says = "Expected a pooler that gives a connection for each transaction";
  expect_refused(cairn({"runs"}), 5, says);
  EXPECT_EQ(worker.wait(), 5);
  EXPECT_NE(worker.err().find(says), std::string::npos) << worker.err();
}

// --- how many connections a process opens
// -----------------------------------------------------------------------------

// A login of its own, so that its connections can be counted.
std::string login_of(const std::string& owner, const std::string& name) {
  test::ask(owner, "create role " + name + " login in role cairn_app");
  return test::with_user(owner, name);
}

// The most that the login had at once while `meanwhile` ran, seen by two looks in a row: the server process of a
// connection that was closed is there for a moment more, on a busy machine for longer than `pause`.
std::int64_t connections_most(const std::string& owner, const std::string& name, const std::function<void()>& meanwhile,
                              std::chrono::milliseconds pause = std::chrono::milliseconds(2)) {
  std::atomic<bool> is_over = false;
  std::int64_t most = 0;
  std::thread counting([&] {
    PgConnection watching({owner});
    const std::string text = "select count(*) from pg_stat_activity where usename = '" + name + "'";
    std::int64_t before = 0;
    while (!is_over) {
      const auto row = watching.ask(text, steady_us() + 10'000'000);
      const std::int64_t count = std::stoll(std::string(row.value().text(0, 0)));
      most = std::max(most, std::min(before, count));
      before = count;
      std::this_thread::sleep_for(pause);
    }
  });
  meanwhile();
  is_over = true;
  counting.join();
  return most;
}

// As ops/guide/running.md says under "Connections".
TEST(Connections, a_worker_opens_eight_whatever_it_works_on_at_once) {
  const std::string owner = new_database();
  const std::string dsn = login_of(owner, "counted_worker");
  const std::int64_t most = connections_most(
      owner, "counted_worker",
      [&] {
        Beside worker({"work", "--concurrency", "500", "--dsn", dsn});
        std::string inputs;
        for (int n = 0; n < 200; ++n) inputs += echo_plan(5).dump() + "\n";
        const std::string file = write_file("counted.jsonl", inputs);
        cairn_ok({"batch", "plan_runner", "--inputs", file, "--dsn", owner, "--json"});
        EXPECT_TRUE(wait_until([&] {
          return cairn({"runs", "--status", "running", "--limit", "1", "--json", "--dsn", owner}).out.empty();
        }));
        EXPECT_EQ(test::ask_number(owner,
                                   "select count(*) from pg_stat_activity where usename = 'counted_worker' and "
                                   "query = 'LISTEN cairn'"),
                  1);
        worker.signal(SIGTERM);
        worker.wait();
      },
      std::chrono::milliseconds(50));
  EXPECT_LE(most, 8);
  EXPECT_GE(most, 2);
}

TEST(Connections, the_API_opens_ten_and_one_for_each_answer_that_needs_its_own) {
  const std::string owner = new_database();
  const std::string dsn = login_of(owner, "counted_api");
  const std::string run =
      cairn_ok({"start", "plan_runner", "--wait", "--json", "--input", echo_plan(3).dump(), "--dsn", owner})
          .json()
          .at("run");
  const std::int64_t most = connections_most(owner, "counted_api", [&] {
    Server server({"--dsn", dsn});
    std::vector<std::thread> clients;
    for (int client = 0; client < 6; ++client)
      clients.emplace_back([&server, &run] {
        for (int n = 0; n < 10; ++n)
          for (const char* path : {"", "/events", "/explain", "/export"})
            EXPECT_EQ(server.get(runs + "/" + run + path).status, 200) << path;
        EXPECT_EQ(server.get("/readyz").status, 200);
        EXPECT_EQ(server.get("/metrics").status, 200);
      });
    for (std::thread& client : clients) client.join();
  });
  EXPECT_LE(most, 4 + 1 + 5 + 4 + 1);
}

TEST(Connections, a_command_opens_two_at_once) {
  const std::string owner = new_database();
  const std::string dsn = login_of(owner, "counted_command");
  const std::int64_t most = connections_most(owner, "counted_command", [&] {
    for (int n = 0; n < 5; ++n)
      for (const Arguments& command : {Arguments{"runs"}, {"queue"}, {"workers"}, {"report"}, {"export", "--all"}}) {
        Arguments on_it = command;
        on_it.insert(on_it.end(), {"--dsn", dsn});
        cairn_ok(on_it);
        // Its server processes may notice its end a moment later.
        const std::string text = "select count(*) from pg_stat_activity where usename = 'counted_command'";
        EXPECT_TRUE(wait_until([&] { return test::ask_number(owner, text) == 0; }));
      }
  });
  EXPECT_LE(most, 2);
  EXPECT_GE(most, 1);
}

// Each of the processes would open eight; the pooler has two for all of them, and each listens on one of its own. So
// 100 of them are 100 of a server's 200 connections, and the pooler's.
TEST(Connections, twelve_workers_fit_into_twenty_with_a_pooler) {
  OwnServer server("small_server");
  server.set("max_connections", "20");
  server.kill_at_once();
  server.start();
  const test::PgBouncer pooler(server.dsn(), directory());
  const Variable dsn("CAIRN_DSN", pooler.dsn());
  const Variable past("CAIRN_DSN_DIRECT", server.dsn());
  cairn_ok({"migrate"});
  std::vector<Beside> workers;
  for (int n = 0; n < 12; ++n) workers.emplace_back(Arguments{"work", "--concurrency", "4"});
  EXPECT_TRUE(wait_until([&] { return listeners(server.dsn()) == 12; }));
  std::string inputs;
  for (int n = 0; n < 100; ++n) inputs += echo_plan(5).dump() + "\n";
  cairn_ok({"batch", "plan_runner", "--inputs", write_file("fitting.jsonl", inputs), "--json"});
  EXPECT_TRUE(wait_until([&] {
    return test::ask_number(server.dsn(),
                            "select count(*) from pg_stat_activity where backend_type = 'client backend' and "
                            "pid <> pg_backend_pid()") <= 12 + 2;
  }));
  EXPECT_TRUE(wait_until([&] { return cairn({"runs", "--status", "running", "--limit", "1", "--json"}).out.empty(); }));
  EXPECT_EQ(cairn_ok({"runs", "--status", "done", "--limit", "200", "--json"}).lines().size(), 100u);
  for (Beside& worker : workers) worker.signal(SIGTERM);
  for (Beside& worker : workers) {
    EXPECT_EQ(worker.wait(), 0) << worker.err();
    EXPECT_EQ(worker.err(), "");
  }
}

}  // namespace
}  // namespace cairn
