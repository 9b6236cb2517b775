// Sessions, committers and the core in virtual time, under faults: whatever the seed, what must hold holds.
// CAIRN_SEED=N repeats one seed; CAIRN_SEEDS=N runs N of them; CAIRN_TRIES=N: how often a failing one is made smaller.
#include "workers/simulation/simulation.hpp"

#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

#include "tests/environment.hpp"
#include "workers/simulation/shrink.hpp"

namespace cairn::simulation {
namespace {

std::string report(std::uint64_t seed) {
  const Shrunk shrunk =
      shrink(random_scenario(seed), random_cast(), static_cast<int>(test::number_of_environment("CAIRN_TRIES", 400)));
  std::string text = "CAIRN_SEED=" + std::to_string(seed) +
                     " test_simulation --gtest_filter=Simulation.what_must_hold_holds_whatever_happens repeats it.\n";
  for (const std::string& line : lines_of(shrunk, random_cast())) text += line + "\n";
  return text;
}

class Simulation : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { throw_on_check_failures(); }
};

TEST_F(Simulation, what_must_hold_holds_whatever_happens) {
  const bool is_one = std::getenv("CAIRN_SEED") != nullptr;
  const std::uint64_t first = is_one ? test::number_of_environment("CAIRN_SEED", 0) : std::random_device{}();
  const std::uint64_t seeds = is_one ? 1 : test::number_of_environment("CAIRN_SEEDS", 1000);
  std::cout << "seeds " << first << " to " << first + seeds - 1 << "\n";
  std::map<std::string, std::int64_t> faults;
  std::map<std::string, std::int64_t> reached;
  std::map<std::string, std::int64_t> endings;
  std::int64_t happenings = 0;
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const Course course = simulate_and_compare(random_scenario(seed), random_cast());
    ASSERT_EQ(course.finding, "") << report(seed);
    for (const auto& [kind, times] : course.faults) faults[kind] += times;
    for (const auto& [what, times] : course.reached) reached[what] += times;
    for (const auto& [status, times] : course.endings) endings[status] += times;
    happenings += course.happenings;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::cout << static_cast<double>(seeds) / took.count() << " seeds/s, " << happenings << " happenings\n";
  for (const auto& [kind, times] : faults) std::cout << "  " << kind << ": " << times << "\n";
  for (const auto& [what, times] : reached) std::cout << "  " << what << ": " << times << "\n";
  for (const auto& [status, times] : endings) std::cout << "  runs " << status << ": " << times << "\n";
  if (seeds < 100) return;
  for (const char* what :
       {"snapshots kept", "snapshots read", "states forgotten", "decided under a lock", "events missed",
        "slots filled by a commit", "steps run alone", "cleanups", "runs out of time", "windows with more than a burst",
        "keys with as many held as may be", "windows of budgets that are used up", "kept steps with a start",
        "changes of limits", "items of maps", "jobs that began while another key waited"})
    EXPECT_GT(reached[what], 0) << what;
}

TEST_F(Simulation, a_seed_always_takes_the_same_course) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
    const Course one = simulate(random_scenario(seed), random_cast(), true);
    const Course two = simulate(random_scenario(seed), random_cast(), true);
    EXPECT_EQ(one.story, two.story) << "seed " << seed;
    EXPECT_FALSE(one.story.empty());
  }
}

}  // namespace
}  // namespace cairn::simulation
