// A database server that dies, stands still, is full, or is replaced by its standby.
#include <csignal>
#include <gtest/gtest.h>
#include <iostream>
#include <memory>
#include <thread>

#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/server/cluster.hpp"
#include "storage/server/server_process.hpp"
#include "tests/faults/load.hpp"
#include "tests/faults/server.hpp"
#include "tests/ops/small_disk.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Faults, the_server_dies_at_once_and_comes_back) {
  Load load({.name = "immediate"});
  load.start_plans(6);
  load.measure_before();
  load.under(4, milliseconds(500), [&] {
    load.lose(Unwritten::claims, [] { kill(postmaster(), SIGQUIT); });  // as `pg_ctl stop -m immediate`
  });
  load.start_plans(2);  // a client that finds no server starts it again
  load.fault_ended();
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("immediate stop of the server, and its recovery", 4);
}

TEST(Faults, backends_terminated_again_and_again) {
  Load load({.name = "terminated"});
  load.start_plans(6);
  load.measure_before();
  Administration ours(cluster_dsn(), "operator");
  load.under(12, milliseconds(60), [&] {
    ours.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where application_name not in ('operator', '') and backend_type = 'client backend'");
  });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("pg_terminate_backend of every connection", 12);
}

TEST(Faults, a_backend_killed_takes_all_connections_along) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  OwnServer server("crashes");
  Load load({.name = "backend", .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  load.under(3, milliseconds(700), [&] { load.lose(Unwritten::claims, [&] { server.kill_backends(1'000); }); });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("SIGKILL of a backend, crash recovery", 3);
}

TEST(Faults, a_server_that_stands_still_goes_on) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  OwnServer server("frozen");
  Load load({.name = "still", .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  load.under(2, milliseconds(500), [&] {
    server.signal_all(SIGSTOP);
    std::this_thread::sleep_for(seconds(3));
    server.signal_all(SIGCONT);
  });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("SIGSTOP of the whole server for 3 s", 2);
}

TEST(Faults, no_connection_is_left) {
  Load load({.name = "exhausted"});
  load.start_plans(12);
  load.measure_before();
  std::vector<std::unique_ptr<Administration>> hogs;
  const Result<Cluster> cluster = find_cluster(directory() / "data");
  ASSERT_TRUE(cluster);
  const std::string dsn = cluster->dsn;  // a worker's login: a superuser finds more room
  const auto take_all = [&] {
    try {
      for (int i = 0; i < 500; ++i) hogs.push_back(std::make_unique<Administration>(dsn, "hog"));
    } catch (const PostgresError&) {
    }
  };
  take_all();
  EXPECT_GT(hogs.size(), 10u);
  EXPECT_EQ(cairn({"runs"}).exit, 5);
  load.replace_worker(0);  // its successor finds no room
  std::this_thread::sleep_for(milliseconds(500));
  take_all();  // what the dead one had, too
  std::this_thread::sleep_for(milliseconds(1'500));
  const int hogged = static_cast<int>(hogs.size());
  hogs.clear();
  load.fault_ended();
  load.start_plans(2);
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("no connection left for two seconds", hogged);
}

TEST(Faults, the_disk_of_the_data_is_full_for_a_while) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  const SmallDisk disk("small_data", 200);
  if (!disk.is_there()) GTEST_SKIP() << "mounting a disk of its own needs root";
  OwnServer server("full", {.place = disk.place()});
  Load load({.name = "full", .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  load.lose(Unwritten::claims, [&] {
    disk.fill();
    std::this_thread::sleep_for(seconds(3));
    disk.empty();
    if (server.pid() == 0) server.start();
  });
  load.fault_ended();
  load.start_plans(4);
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("full disk of data and log for 3 s", 1);
}

TEST(Faults, the_disk_of_the_log_is_full_and_the_server_gone) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  const SmallDisk disk("small_wal", 160);
  if (!disk.is_there()) GTEST_SKIP() << "mounting a disk of its own needs root";
  OwnServer server("wal_full", {.wal = disk.place()});
  Load load({.name = "wal_full", .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  load.lose(Unwritten::claims, [&] {
    disk.fill();
    try {  // the server panics for want of room
      test::ask(server.dsn(), "create table filler as select repeat('x', 1000) from generate_series(1, 100000)");
    } catch (const PostgresError&) {
    }
    std::this_thread::sleep_for(seconds(1));
    disk.empty();
    if (server.pid() == 0) server.start();
  });
  load.fault_ended();
  load.start_plans(4);
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("full disk of the log, the server dies", 1);
}

// A folder of `--data`; its server is ended with it.
class OwnData {
 public:
  explicit OwnData(std::filesystem::path place) : place_(std::move(place)) {}
  ~OwnData() { kill_server(); }
  OwnData(const OwnData&) = delete;
  OwnData& operator=(const OwnData&) = delete;

  const std::filesystem::path& place() const { return place_; }
  bool has_server() const { return server_of(place_ / "data").has_value(); }
  void kill_server() const {
    const std::optional<pid_t> server = server_of(place_ / "data");
    if (!server) return;
    kill(*server, SIGQUIT);  // as `pg_ctl stop -m immediate`: none of its processes is left
    EXPECT_TRUE(wait_until([&] { return !is_running(*server); }));
  }

 private:
  std::filesystem::path place_;
};

// Until the log has no room left either. A superuser's connection, made before: no command fills it so fast.
void fill_log(Administration& owner) {
  try {
    for (int n = 0; n < 1'000; ++n)
      owner.execute("select pg_logical_emit_message(false, 'filler', repeat('x', 1000000))");
  } catch (const PostgresError&) {
  }
}

// First the server lives on: clients read as far as it lets them in, which may need room for a file of its own. Then it
// dies of it, and the first client that finds room brings it back.
TEST(Faults, the_disk_of_the_embedded_server_is_full_for_a_while) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  const SmallDisk disk("small_embedded", 600);
  if (!disk.is_there()) GTEST_SKIP() << "mounting a disk of its own needs root";
  const OwnData data(disk.place() / "data");
  Load load({.name = "embedded_full", .data = data.place()});
  const Arguments start = load.with_dsn(
      {"start", "plan_runner", "--no-work", "--tools", load.tools(), "--input", plan_of("another", 1).dump()});
  load.start_plans(6);
  load.measure_before();
  load.start_batch(200);
  for (const bool is_deadly : {false, true})
    load.under(1, seconds(2), [&] {
      Administration owner(cluster_dsn(data.place()), "owner");
      load.lose(Unwritten::claims, [&] {
        disk.fill();
        if (is_deadly) fill_log(owner);
        EXPECT_EQ(wait_until([&] { return !data.has_server(); }, seconds(3)), is_deadly);
        for (const Arguments& command : {load.with_dsn({"runs"}), start}) {
          const Ran ran = cairn(command);
          EXPECT_TRUE(ran.exit == 5 || (ran.exit == 0 && !is_deadly)) << ran.exit << " " << ran.err;
        }
        disk.empty();
        cairn_ok(load.with_dsn({"runs"}));
      });
      load.fault_ended();
    });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("full disk of data and log of the embedded server, which lives on, or dies", 2);
}

void expect_no_writing(const Ran& ran) {
  EXPECT_EQ(ran.exit, 4) << ran.out;
  EXPECT_NE(ran.err.find("may not write there."), std::string::npos) << ran.err;
}

TEST(Faults, the_disk_of_the_embedded_server_may_only_be_read_when_it_comes_back) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  const SmallDisk disk("read_only_embedded", 600);
  if (!disk.is_there()) GTEST_SKIP() << "mounting a disk of its own needs root";
  const OwnData data(disk.place() / "data");
  Load load({.name = "embedded_read_only", .data = data.place()});
  load.start_plans(6);
  load.measure_before();
  load.start_batch(200);
  load.under(2, seconds(2), [&] {
    load.lose(Unwritten::claims, [&] {
      data.kill_server();
      disk.mount_read_only(true);
      for (const Arguments& command : {Arguments{"runs"}, {"up"}, {"start", "plan_runner", "--input", "{}"}})
        expect_no_writing(cairn(load.with_dsn(command)));
      std::this_thread::sleep_for(seconds(3));
      disk.mount_read_only(false);
      cairn_ok(load.with_dsn({"runs"}));
    });
  });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("the embedded server dies, its folder mounted read-only for 3 s", 2);
}

// The primary's machine is gone; the standby has all that was acknowledged.
void promote_synchronous_standby(const std::string& name, const std::string& commit, const std::string& fault) {
  OwnServer primary(name + "_primary");
  OwnServer standby(name + "_standby", primary);
  primary.set("synchronous_commit", commit);
  primary.set("synchronous_standby_names", "*");
  Load load({.name = name, .dsn = primary.dsn_with(standby)});
  load.start_plans(6);
  load.measure_before();
  load.start_plans(3);
  load.lose(Unwritten::claims, [&] {
    primary.kill_at_once();
    standby.promote();
  });
  load.fault_ended();
  load.start_plans(3);
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled(fault, 1);
}

TEST(Faults, a_synchronous_standby_takes_over) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  promote_synchronous_standby("sync", "on", "synchronous standby promoted");
}

TEST(Faults, a_synchronous_standby_that_applies_takes_over) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  promote_synchronous_standby("applied", "remote_apply", "synchronous standby promoted, remote_apply");
}

// It stopped following some seconds ago. Runs that were started since are gone, others go on from where it knows them,
// although workers have seen them further on; `verify` says so.
TEST(Faults, an_asynchronous_standby_that_lags_takes_over) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  OwnServer primary("async_primary");
  OwnServer standby("async_standby", primary);
  Load load({.name = "async", .dsn = primary.dsn_with(standby), .checkpoint_ms = 100});
  load.start_plans(6);
  load.measure_before();
  load.start_plans(12);
  load.lose(Unwritten::commits, [&] {
    standby.set("primary_conninfo", "");
    std::this_thread::sleep_for(seconds(1));
    load.start_plans(3);
    std::this_thread::sleep_for(seconds(1));
    primary.kill_at_once();
    standby.promote();
  });
  load.fault_ended();
  load.start_plans(3);
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("asynchronous standby that lags promoted", 1);
}

TEST(Faults, a_snapshot_held_open_slows_nobody_afterwards) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  Load load({.name = "snapshot"});
  load.start_plans(6);
  load.measure_before();
  load.start_batch(is_full() ? 300 : 3);
  Administration holder(cluster_dsn(), "holder");
  holder.execute("begin isolation level repeatable read; select count(*) from cairn.run");
  load.measure_during([] { std::this_thread::sleep_for(seconds(20)); }, 0.8);
  holder.execute("commit");
  load.fault_ended();
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("an old snapshot held open", 1);
}

TEST(Faults, a_server_that_takes_no_writes_for_a_while) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  Load load({.name = "read_only"});
  load.start_plans(6);
  load.measure_before();
  const std::string dsn = cluster_dsn();
  test::ask(dsn, "alter system set default_transaction_read_only = on");
  test::ask(dsn, "select pg_reload_conf()");
  std::this_thread::sleep_for(seconds(3));
  {
    Administration operator_(dsn, "operator");
    operator_.execute("set default_transaction_read_only = off");
    operator_.execute("alter system reset default_transaction_read_only");
    operator_.execute("select pg_reload_conf()");
  }
  load.fault_ended();
  load.start_plans(2);
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("default_transaction_read_only for 3 s", 1);
}

}  // namespace
}  // namespace cairn::program
