// The program where a replica answers what may lag, and where one stands in the place of the server that takes writes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

#include "storage/clock.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "tests/faults/server.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

using namespace program;

// A database and a streaming replica of it, for all tests of this file.
class Replica : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    primary_ = std::make_unique<OwnServer>("read_primary");
    cairn_ok({"migrate", "--dsn", primary_->dsn()});
    standby_ = std::make_unique<OwnServer>("read_standby", *primary_);
  }
  static void TearDownTestSuite() {
    standby_.reset();
    primary_.reset();
  }
  void SetUp() override {
    setenv("CAIRN_CHECKPOINTS", (directory() / "read_checkpoints").c_str(), 1);
    setenv("CAIRN_CHECKPOINT_MS", "100", 1);
  }
  void TearDown() override {
    unsetenv("CAIRN_CHECKPOINTS");
    unsetenv("CAIRN_CHECKPOINT_MS");
    let_follow();
  }

  static std::string primary() { return primary_->dsn(); }
  static std::string replica() { return standby_->dsn(); }
  static std::int64_t written() { return test::ask_number(primary(), "select pg_current_wal_lsn() - '0/0'::pg_lsn"); }
  static void wait_for_replica() {
    const std::int64_t until = written();
    EXPECT_TRUE(wait_until(
        [&] { return test::ask_number(replica(), "select pg_last_wal_replay_lsn() - '0/0'::pg_lsn") >= until; }));
  }
  // From now on it is as it is.
  static void let_lag() {
    wait_for_replica();
    test::ask(replica(), "select pg_wal_replay_pause()");
    EXPECT_TRUE(wait_until([] {
      return test::ask_number(replica(),
                              "select count(*) from pg_get_wal_replay_pause_state() where "
                              "pg_get_wal_replay_pause_state = 'paused'") == 1;
    }));
  }
  static void let_lag_behind_migration() {
    const auto set_number = [](const std::string& of) {
      Administration(primary(), "a test")
          .execute("set session_replication_role = replica; update cairn.migration set number = -number where number " +
                   of);
    };
    set_number("= (select max(number) from cairn.migration)");
    let_lag();
    set_number("< 0");
  }
  static void let_follow() { test::ask(replica(), "select pg_wal_replay_resume()"); }

  static std::string done_run() {
    const Json plan = {{"goal", "g"}, {"sub_goals", {{{"id", "a"}, {"tool", "echo"}, {"inputs", {{"x", 1}}}}}}};
    return cairn_ok({"start", "plan_runner", "--wait", "--json", "--input", plan.dump(), "--dsn", primary()})
        .json()
        .at("run");
  }

  // After a while, by its lists. REQUIRES: it lags, and has run `old`.
  static void expect_read_by(const Server& server, const std::string& old) {
    const std::string young = done_run();
    EXPECT_TRUE(wait_until([&] {
      const Reply list = server.get(runs);
      return list.status == 200 && list.body.find(old) != std::string::npos &&
             list.body.find(young) == std::string::npos;
    })) << "the database itself is asked";
  }

  static std::unique_ptr<OwnServer> primary_;
  static std::unique_ptr<OwnServer> standby_;
};

std::unique_ptr<OwnServer> Replica::primary_;
std::unique_ptr<OwnServer> Replica::standby_;

// A run that the replica lacks shows which of the two has answered.
TEST_F(Replica, commands_that_may_lag_are_answered_by_it_and_all_others_are_not) {
  const std::string old = done_run();
  let_lag();
  const std::string young = done_run();
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  for (const char* command : {"show", "events", "plan", "export", "replay", "verify", "blame"}) {
    const Ran of_old = cairn({command, old});
    EXPECT_EQ(of_old.exit, 0) << command << of_old.out << of_old.err;
    EXPECT_EQ(cairn({command, young}).exit, 3) << command << ": it is not there yet";
  }
  EXPECT_EQ(cairn({"diff", old, young}).exit, 3);
  EXPECT_EQ(cairn_ok({"runs", "--json"}).out.find(young), std::string::npos);
  EXPECT_NE(cairn_ok({"runs", "--json"}).out.find(old), std::string::npos);
  cairn_ok({"report"});
  for (const Arguments& command : {Arguments{"explain", young}, {"wait", young}, {"fork", young, "--at", "1"}})
    cairn_ok(command);
  cairn_ok({"workers"});
  cairn_ok({"queue", "set", "default", "--concurrency", "none"});
  {
    const Variable none("CAIRN_READ_DSN", "");
    cairn_ok({"show", young});
  }
}

// Checkpoints in the folder are ahead of what the replica knows of them and of the runs.
TEST_F(Replica, verify_on_one_that_lags_finds_nothing_but_damage) {
  const std::string old = done_run();
  wait_for_replica();
  let_lag();
  const Variable dsn("CAIRN_DSN", primary());
  for (int n = 0; n < 3; ++n) done_run();
  {
    const Variable read("CAIRN_READ_DSN", replica());
    const Ran verified = cairn({"verify", "--all"});
    EXPECT_EQ(verified.exit, 0) << verified.out << verified.err;
    EXPECT_EQ(cairn({"verify", old}).exit, 0);
  }
  let_follow();
  wait_for_replica();
  Administration owner(primary(), "a test");
  owner.execute(
      "set session_replication_role = replica; update cairn.event set payload = replace(payload, 'echo', 'ohce') where "
      "run_id = '" +
      old + "'");
  wait_for_replica();
  const Variable read("CAIRN_READ_DSN", replica());
  const Ran damaged = cairn({"verify", "--all"});
  EXPECT_EQ(damaged.exit, 1) << damaged.out << damaged.err;
  EXPECT_NE(damaged.out.find(old), std::string::npos);
  EXPECT_EQ(cairn({"verify", "--all", "--accept"}).exit, 1) << "which signs, where writes are taken";
}

TEST_F(Replica, the_API_reads_there_and_asks_the_database_for_what_is_not_there_yet) {
  const std::string old = done_run();
  let_lag();
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  Server server;
  const std::string young =
      server.post(runs, {{"graph", "plan_runner"}, {"input", {{"goal", "g"}, {"sub_goals", Json::array()}}}})
          .json()
          .value("run", "");
  EXPECT_EQ(server.get(runs + "/" + young).status, 200) << "a run just started";
  EXPECT_EQ(server.get(runs).body.find(young), std::string::npos) << "a list from the replica";
  EXPECT_NE(server.get(runs).body.find(old), std::string::npos);
  for (const char* path : {"", "/events", "/plan", "/export", "/explain"})
    EXPECT_EQ(server.get(runs + "/" + old + path).status, 200) << path;
  ApiStreamReader stream(server.port(), runs + "/" + old + "/events?follow=true");
  std::string last;
  while (const auto event = stream.next()) last = event->data.at("type");
  EXPECT_EQ(last, "run_finished");
  EXPECT_EQ(server.get(runs + "/" + nobody).status, 404);
  EXPECT_EQ(server.get("/readyz").status, 200);
  let_follow();
  EXPECT_TRUE(wait_until([&] { return server.get(runs).body.find(young) != std::string::npos; }));
}

TEST_F(Replica, the_API_goes_on_without_it_while_it_is_away) {
  const std::string run = done_run();
  wait_for_replica();
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  Server server;
  EXPECT_EQ(server.get(runs + "/" + run).status, 200);
  standby_->kill_at_once();
  for (const char* path : {"", "/events", "/plan", "/export"})
    EXPECT_EQ(server.get(runs + "/" + run + path).status, 200) << path;
  expect_refused(cairn({"show", run}), 5, "Expected to reach the database in CAIRN_READ_DSN");
  standby_->start();
  EXPECT_NE(server.process().err().find("The API's replica is away"), std::string::npos);
  cairn_ok({"show", run});
}

// A stream of a run that waits has nothing to read, so that it would not see the replica go.
TEST_F(Replica, streams_and_waits_end_when_it_dies_and_go_on_at_the_database) {
  cairn_ok({"graph", "add", write_file("streamed.json", ask_graph("streamed")), "--dsn", primary()});
  const std::string run = cairn_ok({"start", "streamed", "--json", "--dsn", primary()}).json().at("run");
  wait_for_replica();
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  Server server;
  const std::string events = runs + "/" + run + "/events?follow=true";
  ApiStreamReader stream(server.port(), events);
  const auto first = stream.next();
  ASSERT_TRUE(first);
  std::string last = first->id;
  const auto began = std::chrono::steady_clock::now();
  ApiConnection waiting(server.port());
  waiting.send("GET " + runs + "/" + run + "?wait_ms=60000 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  for (int n = 0; n < 20; ++n) EXPECT_EQ(server.get(runs).status, 200) << "it waits there meanwhile";
  standby_->kill_at_once();
  stream.may_be_cut();
  while (const auto event = stream.next()) last = event->id;
  EXPECT_EQ(waiting.read_reply().status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(50)) << "a wait lasts for a minute";
  EXPECT_NE(server.process().err().find("The API's replica is away"), std::string::npos);
  cairn_ok({"answer", run, "--value", "\"north\""});
  Beside worker({"work"});
  ApiStreamReader again(server.port(), events, {{"Last-Event-ID", last}});
  std::string type;
  std::int64_t before = std::stoll(last);
  while (const auto event = again.next()) {
    EXPECT_EQ(std::stoll(event->id), ++before);
    type = event->data.at("type");
  }
  EXPECT_EQ(type, "run_finished");
  standby_->start();
}

// As ops/guide/running.md says under "Connections".
TEST_F(Replica, the_API_opens_four_connections_there_and_one_for_each_export) {
  const std::string run = done_run();
  wait_for_replica();
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  Server server;
  std::atomic<bool> is_over = false;
  std::int64_t most = 0;
  std::thread counting([&] {
    PgConnection watching({replica()});
    const std::string text =
        "select count(*) from pg_stat_activity where application_name like 'cairn%' and pid <> pg_backend_pid()";
    // Two looks in a row: the server process of a connection that was closed is there for a moment more.
    for (std::int64_t before = 0; !is_over;) {
      const auto row = watching.ask(text, steady_us() + 10'000'000);
      const std::int64_t count = std::stoll(std::string(row.value().text(0, 0)));
      most = std::max(most, std::min(before, count));
      before = count;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  std::vector<std::thread> clients;
  for (int client = 0; client < 6; ++client)
    clients.emplace_back([&server, &run] {
      for (int n = 0; n < 10; ++n) {
        for (const char* path : {"", "/events", "/plan", "/blame", "/export"})
          EXPECT_EQ(server.get(runs + "/" + run + path).status, 200) << path;
        EXPECT_EQ(server.get(runs + "/" + nobody).status, 404);
        EXPECT_EQ(server.get("/api/v1/report").status, 200);
      }
    });
  for (std::thread& client : clients) client.join();
  is_over = true;
  counting.join();
  EXPECT_LE(most, 4 + 4);
  EXPECT_GE(most, 2);
}

TEST_F(Replica, the_API_starts_without_it_and_reads_there_once_it_is_back) {
  const std::string old = done_run();
  wait_for_replica();
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  standby_->kill_at_once();
  Server server;
  EXPECT_EQ(server.get(runs + "/" + old).status, 200);
  EXPECT_NE(server.process().err().find("The API's replica is away"), std::string::npos);
  standby_->start();
  let_lag();
  expect_read_by(server, old);
}

TEST_F(Replica, the_API_starts_while_it_lags_behind_a_migration) {
  const std::string old = done_run();
  let_lag_behind_migration();
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  Server server;
  EXPECT_EQ(server.get(runs).status, 200);
  EXPECT_NE(server.process().err().find("a replica, which has what `cairn migrate` does"), std::string::npos);
  let_follow();
  let_lag();
  expect_read_by(server, old);
}

TEST_F(Replica, a_primary_that_is_away_keeps_nobody_from_reading_it) {
  const std::string run = done_run();
  wait_for_replica();
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  primary_->kill_at_once();
  const std::string identity = test::ask_text(replica(), "select id::text from cairn.identity");
  const std::string says = "of the database " + identity + ", which CAIRN_READ_DSN names.\n";
  for (const char* command : {"show", "verify"})
    EXPECT_NE(cairn_ok({command, run, "--json"}).err.find(says), std::string::npos) << command;
  EXPECT_EQ(cairn({"workers"}).exit, 5);
  primary_->start();
}

// An option names the database for this once, and the variable goes with CAIRN_DSN.
TEST_F(Replica, the_database_that_an_option_names_is_read_itself) {
  done_run();
  let_lag();
  const std::string young = done_run();
  const Variable read("CAIRN_READ_DSN", replica());
  for (const char* command : {"show", "events", "verify", "export"}) {
    const Ran of_young = cairn({command, young, "--dsn", primary()});
    EXPECT_EQ(of_young.exit, 0) << command << of_young.err << ": only the database itself has it";
  }
  const std::string nowhere = "host=" + (directory() / "nowhere").string();
  for (const Arguments& command : {Arguments{"runs", "--dsn", nowhere}, {"verify", "--all", "--dsn", nowhere}})
    EXPECT_EQ(cairn(command).exit, 5) << command.front() << ": no other database answers for it";
  EXPECT_EQ(cairn({"doctor", "--dsn", primary()}).out.find("read_replica"), std::string::npos);
  Server server({"--dsn", primary()});
  EXPECT_NE(server.get(runs).body.find(young), std::string::npos);
}

TEST_F(Replica, a_follower_of_a_run_sees_it_end_there) {
  cairn_ok({"graph", "add", write_file("followed.json", ask_graph("followed")), "--dsn", primary()});
  const std::string run = cairn_ok({"start", "followed", "--json", "--dsn", primary()}).json().at("run");
  wait_for_replica();
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  Beside following({"events", run, "--follow", "--json"});
  cairn_ok({"answer", run, "--value", "\"north\""});
  Beside worker({"work"});
  EXPECT_EQ(following.wait(), 0) << following.err();
  EXPECT_NE(following.out().find("run_finished"), std::string::npos);
}

TEST_F(Replica, one_of_another_database_is_refused) {
  OwnServer other("read_other");
  cairn_ok({"migrate", "--dsn", other.dsn()});
  const Variable dsn("CAIRN_DSN", primary());
  {
    const Variable read("CAIRN_READ_DSN", other.dsn());
    for (const Arguments& command : {Arguments{"runs"}, {"verify", "--all"}, {"serve", "--listen", "127.0.0.1:0"}})
      expect_refused(cairn(command), 5, "in CAIRN_READ_DSN, but it is");
    cairn_ok({"workers"});
    EXPECT_NE(cairn({"doctor"}).out.find("in CAIRN_READ_DSN, but it is"), std::string::npos);
  }
  const Variable read("CAIRN_READ_DSN", "host=" + (directory() / "nowhere").string());
  expect_refused(cairn({"runs"}), 5, "Expected to reach the database in CAIRN_READ_DSN");
  const Variable nonsense("CAIRN_READ_DSN", "nonsense=1");
  EXPECT_EQ(cairn({"runs"}).exit, 4);
  const Variable broken("CAIRN_READ_DSN", "postgresql://alice:s3cr3t/x@h/app");
  for (const Arguments& command : {Arguments{"runs"}, {"verify", "--all"}, {"psql"}, {"doctor"}}) {
    const Ran refused = cairn(command);
    EXPECT_NE(refused.exit, 0) << command.front();
    EXPECT_EQ((refused.out + refused.err).find("s3cr3t"), std::string::npos) << refused.out << refused.err;
  }
}

TEST_F(Replica, doctor_says_how_far_it_lags) {
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  const auto found = [] {
    const Json told = cairn({"doctor", "--json"}).json();
    for (const Json& check : told.at("checks"))
      if (check.at("name") == "read_replica") return check.at("found").get<std::string>();
    return std::string();
  };
  EXPECT_TRUE(found().starts_with("follows within")) << found();
  let_lag();
  done_run();
  EXPECT_NE(found().find("bytes behind"), std::string::npos) << found();
}

// With no variable but the DSN: what reads passes, what writes is refused before anything is done.
TEST_F(Replica, in_the_place_of_the_database_it_is_read_and_what_writes_is_refused) {
  const std::string run = done_run();
  wait_for_replica();
  const std::int64_t before = test::ask_number(primary(), "select count(*) from cairn.event");
  const Variable dsn("CAIRN_DSN", replica());
  for (const Arguments& command :
       {Arguments{"show", run}, {"events", run}, {"runs"}, {"report"}, {"verify", run}, {"export", run}})
    cairn_ok(command);
  const std::string graph = write_file("refused.json", ask_graph("refused"));
  for (const Arguments& command : {Arguments{"start", "plan_runner"},
                                   {"work"},
                                   {"serve", "--listen", "127.0.0.1:0"},
                                   {"graph", "add", graph},
                                   {"cancel", run},
                                   {"answer", run, "--value", "1"},
                                   {"signal", run, "go", "--value", "1"},
                                   {"queue", "set", "default", "--pause"},
                                   {"token", "add", "one", "--role", "read"},
                                   {"archive", "--older-than", "1d", "--out", directory() / "refused.jsonl"},
                                   {"erase", "--where", "graph=plan_runner"},
                                   {"dataset", "load"},
                                   {"rebuild"},
                                   {"migrate"},
                                   {"verify", run, "--accept"}})
    expect_refused(cairn(command), 5, "is a replica, in recovery: name its primary");
  const Ran doctor = cairn({"doctor"});
  EXPECT_EQ(doctor.exit, 1);
  EXPECT_NE(doctor.out.find("a replica, in recovery"), std::string::npos) << doctor.out << doctor.err;
  EXPECT_EQ(test::ask_number(primary(), "select count(*) from cairn.event"), before);
}

// A graph that the release of the program has and the database not yet.
TEST_F(Replica, nothing_is_stored_there) {
  wait_for_replica();
  const std::string run = done_run();
  Administration(primary(), "a test")
      .execute("set session_replication_role = replica; delete from cairn.graph where name = 'tool_agent'");
  wait_for_replica();
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  cairn_ok({"show", run});
  EXPECT_EQ(test::ask_number(primary(), "select count(*) from cairn.graph where name = 'tool_agent'"), 0);
  cairn_ok({"graph", "list"});
  EXPECT_EQ(test::ask_number(primary(), "select count(*) from cairn.graph where name = 'tool_agent'"), 1);
}

// As one is that was promoted by itself: it has the identity, and would take what is written.
TEST_F(Replica, nothing_is_stored_in_one_that_takes_writes) {
  const std::string run = done_run();
  Administration(primary(), "a test")
      .execute("set session_replication_role = replica; delete from cairn.graph where name = 'tool_agent'");
  const std::int64_t signed_before = test::ask_number(primary(), "select count(*) from cairn.checkpoint");
  {
    const Variable dsn("CAIRN_DSN", primary());
    const Variable read("CAIRN_READ_DSN", primary());
    for (const char* command : {"show", "events", "export", "replay", "blame"}) cairn_ok({command, run});
  }
  EXPECT_EQ(test::ask_number(primary(), "select count(*) from cairn.graph where name = 'tool_agent'"), 0);
  EXPECT_EQ(test::ask_number(primary(), "select count(*) from cairn.checkpoint"), signed_before);
  cairn_ok({"graph", "list", "--dsn", primary()});
}

TEST_F(Replica, one_that_lags_behind_a_migration_is_not_to_be_migrated) {
  let_lag_behind_migration();
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  expect_refused(cairn({"runs"}), 5, "this is a replica, which has what `cairn migrate` does to its primary once");
  cairn_ok({"workers"});
  let_follow();
  wait_for_replica();
  cairn_ok({"runs"});
}

// It forgets the time of its last commit, and "nothing found" is said of what was looked at.
TEST_F(Replica, verify_on_one_that_was_started_again_finds_a_signed_run_that_is_gone) {
  const std::string run = done_run();
  Administration(primary(), "a test")
      .execute("set session_replication_role = replica; delete from cairn.event where run_id = '" + run +
               "'; delete from cairn.run where run_id = '" + run + "'");
  // The checkpoint of a server says its time in seconds.
  EXPECT_TRUE(wait_until([] {
    return test::ask_number(
               primary(), "select extract(epoch from clock_timestamp()) - max(at) / 1000000 from cairn.checkpoint") > 3;
  }));
  bool has_forgotten = false;
  for (int n = 0; n < 5 && !has_forgotten; ++n) {  // the primary may commit something by itself
    test::ask(primary(), "checkpoint");
    wait_for_replica();
    test::ask(replica(), "checkpoint");
    standby_->restart_fast();
    has_forgotten = test::ask_number(replica(), "select (pg_last_xact_replay_timestamp() is null)::int") == 1;
  }
  ASSERT_TRUE(has_forgotten);
  const Variable dsn("CAIRN_DSN", primary());
  const Variable read("CAIRN_READ_DSN", replica());
  const Ran verified = cairn({"verify", "--all", "--json"});
  EXPECT_EQ(verified.exit, 1) << verified.out << verified.err;
  EXPECT_NE(verified.out.find(run), std::string::npos) << verified.out;
  EXPECT_NE(verified.err.find("cairn: The replica is seen until "), std::string::npos) << verified.err;
}

}  // namespace
}  // namespace cairn
