// Schedulers of several processes in virtual time, under faults: whatever the seed, each occurrence has exactly one
// outcome, and one that started has exactly one run. CAIRN_SEED=N repeats one seed; CAIRN_SEEDS=N runs N of them.
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <random>

#include "engine/graph_parsing.hpp"
#include "storage/chain.hpp"
#include "tests/environment.hpp"
#include "workers/simulation/simulated_schedules.hpp"

namespace cairn::simulation {
namespace {

TEST(SimulatedSchedules, each_occurrence_has_one_outcome_and_one_run_at_most_whatever_happens) {
  const bool is_one = std::getenv("CAIRN_SEED") != nullptr;
  const std::uint64_t first = is_one ? test::number_of_environment("CAIRN_SEED", 0) : std::random_device{}();
  const std::uint64_t seeds = is_one ? 1 : test::number_of_environment("CAIRN_SEEDS", 12);
  const std::unique_ptr<Catalogue> catalogue = *make_catalogue({});
  const SchedulePlan plan{{waiting_graph("wait"), waiting_graph("other")}, {}};
  ASSERT_TRUE(can_be_scheduled(plan, *catalogue));
  std::map<std::string, std::int64_t> troubles;
  std::int64_t times = 0, runs = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const ScheduleCourse course = simulate_schedules(seed, plan, *catalogue);
    ASSERT_EQ(course.finding, "") << "CAIRN_SEED=" << seed
                                  << " test_simulation --gtest_filter=SimulatedSchedules.* repeats it.";
    for (const auto& [what, count] : course.faults) troubles[what] += count;
    times += course.times;
    runs += course.runs;
  }
  std::cout << seeds << " seeds, " << times << " times, " << runs << " runs\n";
  for (const auto& [what, count] : troubles) std::cout << "  " << what << ": " << count << "\n";
  if (seeds < 10) return;
  EXPECT_GT(times, 1'000);
  EXPECT_GT(runs, 500);
  for (const char* what : {"scheduler died before", "scheduler died after", "scheduler's call failed before",
                           "scheduler's call failed after"})
    EXPECT_GT(troubles[what], 50);
  EXPECT_GT(troubles["clock was ahead"], 50);
}

TEST(SimulatedSchedules, a_graph_that_wants_another_input_is_not_scheduled) {
  const std::unique_ptr<Catalogue> catalogue = *make_catalogue({});
  const Json graph = Json::parse(R"({"name": "greet", "start": "w", "limits": {"steps": 9},
      "input": {"type": "object", "required": ["name"]}, "nodes": {
      "w": {"wait": {"signal": "go"}, "on": {"fired": "z"}}, "z": {"end": "done"}}})");
  SchedulePlan plan{{stored_graph(graph, graph_version(canonical(graph)))}, {}};
  EXPECT_FALSE(can_be_scheduled(plan, *catalogue));
  plan.input = {{"name", "Ann"}};
  EXPECT_TRUE(can_be_scheduled(plan, *catalogue));
}

}  // namespace
}  // namespace cairn::simulation
