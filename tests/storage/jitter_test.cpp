// The herd of processes that comes back to a database.
#include "storage/ground/jitter.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

namespace cairn {
namespace {

TEST(Jitter, pauses_are_spread_evenly_from_half_to_all) {
  constexpr int processes = 10'000;
  std::array<int, 10> tenths{};
  for (int n = 0; n < processes; ++n) {
    const std::int64_t pause = jittered(1'000'000);
    ASSERT_GE(pause, 500'000);
    ASSERT_LE(pause, 1'000'000);
    ++tenths[static_cast<std::size_t>(std::min<std::int64_t>((pause - 500'000) / 50'000, 9))];
  }
  for (const int in_a_tenth : tenths) EXPECT_NEAR(in_a_tenth, processes / 10, 200);
}

TEST(Jitter, no_two_processes_draw_the_same_pauses) {
  std::set<std::vector<std::int64_t>> all;
  for (int n = 0; n < 20; ++n)
    std::thread([&all] {
      std::vector<std::int64_t> pauses;
      for (int times = 0; times < 4; ++times) pauses.push_back(jittered(1'000'000));
      all.insert(pauses);
    }).join();
  EXPECT_EQ(all.size(), 20u);
}

}  // namespace
}  // namespace cairn
