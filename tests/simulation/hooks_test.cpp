// Hooks under all faults of the simulator: each simulation has four of them, whose senders die and whose receivers
// refuse; what must hold is checked in each. CAIRN_SEED=N repeats one seed; CAIRN_SEEDS=N runs N of them.
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <random>

#include "tests/environment.hpp"
#include "workers/simulation/simulation.hpp"

namespace cairn::simulation {
namespace {

TEST(SimulatedHooks, each_event_is_delivered_with_its_one_id_and_in_order_where_that_is_asked_for) {
  const bool is_one = std::getenv("CAIRN_SEED") != nullptr;
  const std::uint64_t first = is_one ? test::number_of_environment("CAIRN_SEED", 0) : std::random_device{}();
  const std::uint64_t seeds = is_one ? 1 : test::number_of_environment("CAIRN_SEEDS", 60);
  std::map<std::string, std::int64_t> faults, reached;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const Course course = simulate(random_scenario(seed), random_cast());
    ASSERT_EQ(course.finding, "") << "CAIRN_SEED=" << seed << " test_simulation --gtest_filter=SimulatedHooks.*";
    for (const auto& [what, times] : course.faults) faults[what] += times;
    for (const auto& [what, times] : course.reached) reached[what] += times;
  }
  for (const std::string name : {"any", "ordered", "still", "brief"}) {
    const std::int64_t notices = reached["notices of hook " + name];
    std::cout << "  notices of hook " << name << ": " << notices << "\n";
    EXPECT_GT(notices, seeds < 50 ? -1 : 0) << name;  // the seeds are others each time
  }
  std::cout << "  hooks removed while made: " << reached["hooks removed while made"] << "\n";
  for (const std::string what :
       {"sender died before", "sender died after", "sender's call failed before", "sender's call failed after"}) {
    std::cout << "  " << what << ": " << faults[what] << "\n";
    EXPECT_GT(faults[what], seeds < 50 ? -1 : 50) << what;
  }
}

}  // namespace
}  // namespace cairn::simulation
