// The arithmetic of rates, against a count of the starts in each window.
#include "storage/limits/rate.hpp"

#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "tests/storage/limits/windows.hpp"

namespace cairn {
namespace {

using namespace test;

constexpr TimeUs noon_us = 1'700'000'000'000'000;

TEST(Rates, a_burst_is_there_at_once_and_then_one_start_for_each_interval) {
  const StartRate rate{50, 1'000'000, 10};
  EXPECT_EQ(interval_us(rate), 20'000);
  EXPECT_EQ(free_starts(rate, 0, noon_us), 10) << "a state of long ago is a full bucket";
  const TimeUs full_at = full_at_after(rate, 0, noon_us, 10);
  EXPECT_EQ(free_starts(rate, full_at, noon_us), 0);
  EXPECT_EQ(next_start_at(rate, full_at, noon_us), noon_us + 20'000);
  EXPECT_EQ(free_starts(rate, full_at, noon_us + 19'999), 0);
  EXPECT_EQ(free_starts(rate, full_at, noon_us + 20'000), 1);
  EXPECT_EQ(free_starts(rate, full_at, noon_us + 3'600'000'000), 10) << "never more than the burst";
}

TEST(Rates, no_window_has_more_starts_than_n_and_the_burst) {
  std::mt19937_64 random(std::random_device{}());
  const auto pick = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  std::int64_t seen = 0, fullest = 0;
  for (int round = 0; round < 200; ++round) {
    const StartRate rate{pick(20), pick(1'000) + 20, pick(8)};
    ASSERT_TRUE(check_rate(rate, "it"));
    std::vector<TimeUs> starts;
    TimeUs full_at = 0;
    for (TimeUs now_us = noon_us; starts.size() < 300; now_us += pick(2 * interval_us(rate))) {
      const std::int64_t count = std::min(free_starts(rate, full_at, now_us), pick(9));
      full_at = full_at_after(rate, full_at, now_us, count);
      starts.insert(starts.end(), static_cast<std::size_t>(count), now_us);
    }
    const std::int64_t most = most_in_a_window(starts, rate.per_us);
    EXPECT_LE(most, rate.n + rate.burst);
    seen += std::ssize(starts);
    fullest = std::max(fullest, most - rate.n);
  }
  EXPECT_GT(seen, 50'000);
  EXPECT_GT(fullest, 0) << "a burst on top of the rate was seen";
}

TEST(Rates, a_clock_that_was_set_back_and_a_faster_rate_stop_nothing_for_longer_than_an_empty_bucket) {
  const StartRate rate{1, 1'000'000, 3};
  EXPECT_EQ(next_start_at(rate, noon_us + 3'600'000'000, noon_us), noon_us + 1'000'000);
}

TEST(Rates, that_are_none_are_refused) {
  for (const StartRate& bad :
       {StartRate{0, 0, 0}, StartRate{0, 1'000'000, 1}, StartRate{1, 0, 1}, StartRate{1, 1'000'000, 0},
        StartRate{-1, 1'000'000, 1}, StartRate{1, 1'000'000, 1'000'001}, StartRate{2'000'000, 1'000'000, 1},
        StartRate{1, 366LL * 24 * 3'600 * 1'000'000, 1'000'000}}) {
    const Status refused = check_rate(bad, "the queue model");
    ASSERT_FALSE(refused) << bad.n << " " << bad.per_us << " " << bad.burst;
    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_EQ(refused.error().message.rfind("Expected ", 0), 0u) << refused.error().message;
  }
}

}  // namespace
}  // namespace cairn
