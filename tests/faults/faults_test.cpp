// Real faults under load: real worker processes, a real server, a real network path. Under every fault, nothing that
// was acknowledged is lost and nothing is recorded twice. Each case prints one line of the table of faults.
#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <thread>

#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "tests/faults/load.hpp"
#include "tests/storage/postgres/cutting_proxy.hpp"

namespace cairn::program {
namespace {

using std::chrono::milliseconds;

// The first server of this program must be there before something is done to it.
void bring_up() { cairn_ok({"migrate"}); }

TEST(Faults, workers_killed_one_after_another) {
  bring_up();
  Load load("killed", 3);
  load.start_plans(6);
  std::size_t kills = 0;
  load.under(8, milliseconds(300), [&] { load.replace_worker(kills++); });
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("SIGKILL of a worker", 8);
}

TEST(Faults, the_server_dies_at_once_and_comes_back) {
  bring_up();
  Load load("immediate", 3);
  load.start_plans(6);
  load.under(4, milliseconds(500), [] { kill(postmaster(), SIGQUIT); });  // as `pg_ctl stop -m immediate`
  load.start_plans(2);  // a client that finds no server starts it again
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("immediate stop of the server, and its recovery", 4, Server::forgets);
}

TEST(Faults, backends_terminated_again_and_again) {
  bring_up();
  Load load("terminated", 3);
  load.start_plans(6);
  Administration ours(cluster_dsn(), "operator");
  load.under(12, milliseconds(60), [&] {
    ours.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where application_name not in ('operator', '') and backend_type = 'client backend'");
  });
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("pg_terminate_backend of every connection", 12);
}

// How many reports came too late.
std::int64_t sleep_past_the_time_to_live(const std::string& name) {
  Load load(name, 3, "", "1");  // long enough to be stopped in the midst of it, however slow the machine is
  load.start_plans(12);
  load.worker(0).signal(SIGSTOP);
  load.worker(1).signal(SIGSTOP);
  load.start_plans(6);
  load.wait_until_ended();  // by the third, which takes over what they hold
  load.worker(0).signal(SIGCONT);
  load.worker(1).signal(SIGCONT);
  std::this_thread::sleep_for(milliseconds(1'000));
  load.expect_nothing_lost_or_doubled("SIGSTOP past the time-to-live, then SIGCONT", 2);
  return load.stale();
}

// A worker that wakes may notice its own end before it reports; then the fence was not tried, and another one sleeps.
TEST(Faults, a_worker_that_sleeps_past_its_time_to_live_is_fenced) {
  bring_up();
  std::int64_t late = 0;
  for (int tries = 0; tries < 5 && late == 0; ++tries)
    late = sleep_past_the_time_to_live("asleep" + std::to_string(tries));
  EXPECT_GT(late, 0) << "no worker reported late: the fence was not tried";
}

void cut_commits(const std::string& name, test::CuttingProxy::Cut cut, const std::string& fault) {
  bring_up();
  test::CuttingProxy proxy(cluster_dsn());
  Load load(name, 2, proxy.dsn());
  load.start_plans(4);
  load.under(10, milliseconds(100), [&] { proxy.cut_next_commit(cut); });
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

TEST(Faults, no_connection_is_left) {
  bring_up();
  Load load("exhausted", 3);
  load.start_plans(12);
  std::vector<std::unique_ptr<Administration>> hogs;
  const std::string dsn = cluster_dsn();
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
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("no connection left for two seconds", hogged);
}

}  // namespace
}  // namespace cairn::program
