// A network path that breaks around a commit, loses everything, is slow, or brings nothing to those who listen; and
// poolers in between; a machine that is gone from the network, with the server on it.
#include <functional>
#include <gtest/gtest.h>
#include <thread>

#include "tests/faults/load.hpp"
#include "tests/faults/machine.hpp"
#include "tests/faults/rough_path.hpp"
#include "tests/faults/server.hpp"
#include "tests/storage/pooler.hpp"
#include "tests/storage/postgres/cutting_proxy.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

void cut_commits(const std::string& name, test::CuttingProxy::Cut cut, const std::string& fault) {
  cairn_ok({"migrate"});
  test::CuttingProxy proxy(cluster_dsn());
  Load load({.name = name, .workers = 2, .worker_dsns = {proxy.dsn()}});
  load.start_plans(4);
  load.measure_before();
  load.under(is_full() ? 30 : 10, milliseconds(100),
             [&] { load.strike(load.all_workers(), [&] { proxy.cut_next_commit(cut); }); });
  load.measure_after();
  load.wait_until_ended();
  EXPECT_GE(proxy.cuts(), 5);
  load.expect_nothing_lost_or_doubled(fault, proxy.cuts());
}

TEST(Faults, connections_cut_before_a_commit_arrives) {
  cut_commits("before", test::CuttingProxy::Cut::before_it_arrives, "connection cut before COMMIT arrives");
}

TEST(Faults, connections_cut_after_a_commit_before_its_answer) {
  cut_commits("after", test::CuttingProxy::Cut::after_it_landed, "connection cut after COMMIT, before its answer");
}

// The workers of break_path() whose path it is.
const std::vector<std::size_t> over_the_path = {0, 1};

// A load whose workers reach their server over a rough path, but for one, which takes over what the others hold.
void break_path(const std::string& name, const std::string& fault,
                const std::function<int(RoughPath&, Load&)>& breaks) {
  OwnServer server(name);
  RoughPath path(server.dsn());
  Load load({.name = name, .worker_dsns = {path.dsn(), path.dsn(), server.dsn()}, .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  int injected = 0;
  load.measure_during([&] { injected = breaks(path, load); });
  load.measure_after();
  load.wait_until_ended();
  EXPECT_GT(injected, 0);
  load.expect_nothing_lost_or_doubled(fault, injected);
}

TEST(Faults, a_network_that_swallows_everything_for_a_while) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_path("hole", "a network that swallows everything, twice for 6 s", [](RoughPath& path, Load& load) {
    load.under(2, seconds(4), [&] {
      load.strike(over_the_path, [&] {
        path.swallow(true);
        std::this_thread::sleep_for(seconds(6));
        path.swallow(false);
      });
    });
    EXPECT_GT(path.swallowed(), 0);
    return path.resets();
  });
}

TEST(Faults, a_slow_network_loses_nothing) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_path("slow", "20 ms more each way, for 8 s", [](RoughPath& path, Load& load) {
    load.under(1, milliseconds(0), [&] {
      load.strike(over_the_path, [&] {
        path.delay(milliseconds(20));
        std::this_thread::sleep_for(seconds(8));
        path.delay(milliseconds(0));
      });
    });
    return 1;
  });
}

TEST(Faults, bytes_that_come_one_by_one_lose_nothing) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_path("bytewise", "byte by byte, for 5 s", [](RoughPath& path, Load& load) {
    load.under(1, milliseconds(0), [&] {
      load.strike(over_the_path, [&] {
        path.pass_single_bytes(true);
        std::this_thread::sleep_for(seconds(5));
        path.pass_single_bytes(false);
      });
    });
    return 1;
  });
}

TEST(Faults, connections_reset_in_the_midst_of_bytes) {
  break_path("reset", "connection reset (RST) at a byte drawn at random", [](RoughPath& path, Load& load) {
    load.under(is_full() ? 12 : 3, milliseconds(300), [&] {
      load.strike(over_the_path, [&] {
        path.reset_within(is_full() ? 40'000 : 2'000);  // fewer bytes pass where less is done
        std::this_thread::sleep_for(milliseconds(500));
        path.reset_within(0);
      });
    });
    return path.resets();
  });
}

// Steps that wait are found by looking; the other workers are not held up.
TEST(Faults, notifications_that_are_lost_are_missed_by_nobody) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  break_path("deaf", "listeners that get nothing, for 8 s", [](RoughPath& path, Load& load) {
    load.under(1, seconds(2), [&] {
      load.strike(over_the_path, [&] {
        path.deafen(true);
        std::this_thread::sleep_for(seconds(8));
        path.deafen(false);
      });
    });
    return path.deaf();
  });
}

TEST(Faults, a_pooler_killed_and_started_again) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  OwnServer server("pooled");
  test::PgBouncer pooler(server.dsn(), directory());
  Load load({.name = "pooler", .worker_dsns = {pooler.dsn()}, .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  load.under(4, seconds(1), [&] { load.strike(load.all_workers(), [&] { pooler.start_again(); }); });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("SIGKILL of the pooler (pgbouncer, by transaction)", 4);
}

// Three workers want about three connections each. Some wait for one, and go on when there are enough again.
TEST(Faults, a_pooler_by_session_with_fewer_connections_than_workers_want) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  constexpr test::Pooling enough{"session", 40};
  constexpr test::Pooling few{"session", 4};
  OwnServer server("rationed");
  test::PgBouncer pooler(server.dsn(), directory(), enough);
  Load load({.name = "rationed", .worker_dsns = {pooler.dsn()}, .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  load.measure_during([&] {
    load.under(1, milliseconds(0), [&] {
      load.strike(load.all_workers(), [&] {
        pooler.start_again(few);
        std::this_thread::sleep_for(seconds(12));
        pooler.start_again(enough);
      });
    });
  });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("a pooler by session with 4 connections for three workers, for 12 s", 1);
}

// All packets to its machine are lost, for good. The standby has all that was acknowledged; clients that come try the
// silent machine first.
TEST(Faults, the_machine_of_the_primary_is_gone_and_a_standby_takes_over) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  const Machine machine;
  if (!machine.is_there()) GTEST_SKIP() << "a machine of its own: a network namespace needs root and iproute2";
  OwnServer primary("gone_primary", {.machine = &machine});
  OwnServer standby("gone_standby", primary);
  primary.set("synchronous_standby_names", "*");
  Load load({.name = "gone", .dsn = primary.dsn_with(standby)});
  load.outlive_primary([&] { machine.cut(); }, [&] { standby.promote(); },
                       "the primary's machine gone for good, its standby promoted after 3 s");
}

// Whether it has no connection over the network any more.
bool has_let_go(const OwnServer& server) {
  return test::ask_number(server.local_dsn(), "select count(*) from pg_stat_activity where client_addr is not null") ==
         0;
}

// Past the time-to-live of the workers. Its server has forgotten nothing when it is back, but the connections.
TEST(Faults, the_machine_of_the_server_is_gone_for_a_while) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  const Machine machine;
  if (!machine.is_there()) GTEST_SKIP() << "a machine of its own: a network namespace needs root and iproute2";
  OwnServer server("lone", {.machine = &machine});
  Load load({.name = "lone", .dsn = server.dsn()});
  load.start_plans(6);
  load.measure_before();
  load.start_batch(300);
  load.under(2, seconds(3), [&] {
    const auto until = std::chrono::steady_clock::now() + seconds(20);
    machine.cut();
    const Ran ran = cairn(load.with_dsn({"runs"}));
    EXPECT_EQ(ran.exit, 5) << ran.err;
    EXPECT_LT(std::chrono::steady_clock::now(), until) << "a command has its patience, and ends";
    std::this_thread::sleep_until(until);
    EXPECT_TRUE(load.has_said("the database to answer within 10000 ms"));
    EXPECT_TRUE(has_let_go(server)) << "the next outage would find fewer connections";
    machine.join();
  });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("the server's machine gone from the network for 20 s, then back", 2);
}

// As their own machine gone would be. The third is on the server's; it takes over what they hold, and no lock is left.
TEST(Faults, workers_are_cut_off_from_the_machine_of_the_server) {
  const Machine machine;
  if (!machine.is_there()) GTEST_SKIP() << "a machine of its own: a network namespace needs root and iproute2";
  OwnServer server("parted", {.machine = &machine});
  const int times = is_full() ? 2 : 1;
  Load load(
      {.name = "parted", .worker_dsns = {server.dsn(), server.dsn(), server.local_dsn()}, .dsn = server.local_dsn()});
  load.start_plans(6);
  load.measure_before();
  load.start_batch(is_full() ? 300 : 30);
  load.measure_during([&] {
    load.under(times, seconds(3), [&] {
      load.strike({0, 1}, [&] {
        machine.cut();
        std::this_thread::sleep_for(seconds(20));
        EXPECT_TRUE(has_let_go(server));
        machine.join();
      });
    });
  });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("two of three workers cut off from the server's machine for 20 s", times);
}

}  // namespace
}  // namespace cairn::program
