// Servers under Patroni, as they stand where a database must not be away for long. The test is there only where the
// packages are: it cannot pass without having been run.
#include <chrono>
#include <gtest/gtest.h>
#include <iostream>

#include "tests/faults/load.hpp"
#include "tests/faults/patroni_cluster.hpp"

namespace cairn::program {
namespace {

constexpr const char* name = "the_leader_under_patroni_is_killed_again_and_again";

class UnderPatroni : public ::testing::Test {
  void TestBody() override {
    if (!is_full()) GTEST_SKIP() << left_to_full;
    PatroniCluster cluster;
    Load load({.name = "patroni", .dsn = cluster.dsn()});
    load.start_plans(6);
    load.measure_before();
    constexpr int times = 6;
    for (int n = 0; n < times; ++n) {
      load.start_batch(200);
      load.start_plans(2);
      load.lose(Unwritten::claims, [&] {
        const auto began = std::chrono::system_clock::now();
        cluster.kill_leader();
        cluster.wait_for_successor();
        load.fault_ended(began);
      });
      load.start_plans(2);
      cluster.bring_back();
    }
    load.measure_after();
    load.wait_until_ended();
    load.expect_nothing_lost_or_doubled("leader under Patroni and etcd killed, recovery from the kill on", times);
  }
};

[[maybe_unused]] const bool is_registered = [] {
  if (!PatroniCluster::is_installed()) {
    std::cout << "skipped: " << name << ": Debian's packages patroni and etcd-server are not installed" << std::endl;
    return false;
  }
  ::testing::RegisterTest("Faults", name, nullptr, nullptr, __FILE__, __LINE__,
                          []() -> ::testing::Test* { return new UnderPatroni; });
  return true;
}();

}  // namespace
}  // namespace cairn::program
