// Durations as they are written in graphs, options and settings.
#include "engine/duration.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

constexpr TimeUs one_day_us = 86'400'000'000;

TEST(Duration, a_number_and_a_unit_are_one) {
  EXPECT_EQ(parse_duration("500ms", {}), 500'000);
  EXPECT_EQ(parse_duration("10s", {}), 10'000'000);
  EXPECT_EQ(parse_duration("5m", {}), 300'000'000);
  EXPECT_EQ(parse_duration("12h", {}), one_day_us / 2);
  EXPECT_EQ(parse_duration("90d", {}), 90 * one_day_us);
  EXPECT_EQ(parse_duration("0s", {}), 0);
  EXPECT_EQ(parse_duration("007s", {}), 7'000'000) << "as it was always taken by options";
}

TEST(Duration, other_texts_are_none) {
  for (const char* text : {"", "s", "10", "10 s", " 10s", "10s ", "+10s", "-1s", "1.5s", "1h30m", "10S", "10w", "0x1s",
                           "99999999999999999999s", "9223372036854775807d", "9223372036854775807ms"})
    EXPECT_FALSE(parse_duration(text, {})) << text;
}

TEST(Duration, each_place_has_its_range) {
  const DurationRange whole_seconds = {.count_max = 100, .has_ms = false};
  EXPECT_FALSE(parse_duration("500ms", whole_seconds));
  EXPECT_EQ(parse_duration("100d", whole_seconds), 100 * one_day_us);
  EXPECT_FALSE(parse_duration("101s", whole_seconds));
  const DurationRange some = {.least_us = 1, .most_us = one_day_us};
  EXPECT_FALSE(parse_duration("0d", some));
  EXPECT_EQ(parse_duration("1d", some), one_day_us);
  EXPECT_EQ(parse_duration("86400000ms", some), one_day_us);
  EXPECT_FALSE(parse_duration("86400001ms", some));
}

TEST(Duration, it_is_written_in_its_largest_unit_and_read_again) {
  EXPECT_EQ(written_duration(0), "0ms");
  EXPECT_EQ(written_duration(1'500'999), "1500ms");
  for (const char* text : {"1ms", "1500ms", "1s", "90s", "90m", "1h", "36h", "1d", "400d"})
    EXPECT_EQ(written_duration(*parse_duration(text, {})), text);
}

}  // namespace
}  // namespace cairn
