// A network path that breaks around a commit.
#include <gtest/gtest.h>

#include "tests/faults/load.hpp"
#include "tests/storage/postgres/cutting_proxy.hpp"

namespace cairn::program {
namespace {

using std::chrono::milliseconds;

void cut_commits(const std::string& name, test::CuttingProxy::Cut cut, const std::string& fault) {
  cairn_ok({"migrate"});
  test::CuttingProxy proxy(cluster_dsn());
  Load load({.name = name, .workers = 2, .worker_dsn = proxy.dsn()});
  load.start_plans(4);
  load.measure_before();
  load.under(is_full() ? 30 : 10, milliseconds(100), [&] { proxy.cut_next_commit(cut); });
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

}  // namespace
}  // namespace cairn::program
