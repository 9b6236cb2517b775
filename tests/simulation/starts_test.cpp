// Starts of graphs with a policy, by several processes in virtual time, under faults: whatever the seed, a singleton's
// key has one open run at most, and each start that was taken is in its one run. CAIRN_SEED=N repeats one seed;
// CAIRN_SEEDS=N runs N of them.
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <random>

#include "tests/environment.hpp"
#include "workers/simulation/simulated_starts.hpp"

namespace cairn::simulation {
namespace {

TEST(SimulatedStarts, each_start_that_was_taken_is_in_its_one_run_and_a_key_has_one_open_run_whatever_happens) {
  const bool is_one = std::getenv("CAIRN_SEED") != nullptr;
  const std::uint64_t first = is_one ? test::number_of_environment("CAIRN_SEED", 0) : std::random_device{}();
  const std::uint64_t seeds = is_one ? 1 : test::number_of_environment("CAIRN_SEEDS", 12);
  const std::unique_ptr<Catalogue> catalogue = *make_catalogue({});
  std::map<std::string, std::int64_t> troubles, taken;
  std::int64_t asked = 0, runs = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const StartsCourse course = simulate_starts(seed, *catalogue);
    ASSERT_EQ(course.finding, "") << "CAIRN_SEED=" << seed
                                  << " test_simulation --gtest_filter=SimulatedStarts.* repeats it.";
    for (const auto& [what, count] : course.faults) troubles[what] += count;
    for (const auto& [what, count] : course.taken) taken[what] += count;
    asked += course.asked;
    runs += course.runs;
  }
  std::cout << seeds << " seeds, " << asked << " starts, " << runs << " runs\n";
  for (const auto& [what, count] : troubles) std::cout << "  " << what << ": " << count << "\n";
  for (const auto& [what, count] : taken) std::cout << "  " << what << ": " << count << "\n";
  if (seeds < 10) return;
  EXPECT_GT(asked, 500);
  EXPECT_GT(runs, 100);
  for (const char* what : {"starter died before", "starter died after", "starter's call failed before",
                           "starter's call failed after", "overtaken"})
    EXPECT_GT(troubles[what], 20) << what;
  for (const char* standing : {"skip skipped", "cancel waits", "queue waits", "debounce waits", "batch started"})
    EXPECT_GT(taken[standing], 0) << standing;
}

}  // namespace
}  // namespace cairn::simulation
