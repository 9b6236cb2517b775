// The herd of processes that comes back to a database.
#include "storage/ground/jitter.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

#include "storage/postgres/notifier.hpp"

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

// A process repeats its call until the database is back, and is back itself with the first attempt after that.
std::int64_t late_ms_after(std::int64_t outage_ms) {
  BackoffPauses pauses;
  std::int64_t at_ms = 0;
  while (at_ms < outage_ms) at_ms += pauses.next_ms();
  return at_ms - outage_ms;
}

TEST(Jitter, calls_of_a_herd_come_back_spread_over_the_second_after_the_outage) {
  constexpr int processes = 10'000;
  for (const std::int64_t outage_ms : {2'000, 4'000, 8'000}) {
    std::array<int, 11> tenths{};
    for (int n = 0; n < processes; ++n) {
      const std::int64_t late_ms = late_ms_after(outage_ms);
      ASSERT_LE(late_ms, 1'000) << "a pause is a second at most";
      ++tenths[static_cast<std::size_t>(late_ms / 100)];
    }
    for (const int in_a_tenth : tenths) EXPECT_LT(in_a_tenth, processes / 5) << "after " << outage_ms << " ms";
  }
}

TEST(Jitter, listening_connections_of_a_herd_come_back_spread_over_half_of_their_pause) {
  constexpr int processes = 10'000;
  constexpr std::int64_t lost_us = 77'000'000, soonest_us = 750'000, width_us = 750'000;
  std::array<int, 10> tenths{};
  for (int n = 0; n < processes; ++n) {
    const std::int64_t after_us = listens_again_us(lost_us) - lost_us;
    ASSERT_GE(after_us, soonest_us);
    ASSERT_LE(after_us, soonest_us + width_us);
    ++tenths[static_cast<std::size_t>(std::min<std::int64_t>((after_us - soonest_us) * 10 / width_us, 9))];
  }
  for (const int in_a_tenth : tenths) EXPECT_NEAR(in_a_tenth, processes / 10, 200);
}

}  // namespace
}  // namespace cairn
