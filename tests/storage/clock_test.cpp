// The clock of a store: whose word about the time is taken.
#include "storage/clock.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

constexpr TimeUs second = 1'000'000;

TEST(DatabaseClock, an_answer_counts_for_the_middle_of_the_time_it_took) {
  DatabaseClock clock;
  clock.observe(5 * second, 100, 300);
  EXPECT_EQ(clock.now(200), 5 * second);
}

TEST(DatabaseClock, a_slow_answer_does_not_replace_a_quick_one) {
  DatabaseClock clock;
  clock.observe(5 * second, 100, 200);
  clock.observe(5 * second + 20'000, 10'100, 30'100);  // said at once, and came back late: ten ms off by its middle
  EXPECT_EQ(clock.now(40'150), 5 * second + 40'000);
}

TEST(DatabaseClock, a_quicker_answer_replaces_a_slow_one) {
  DatabaseClock clock;
  clock.observe(5 * second, 0, 10'000);
  clock.observe(5 * second + 20'000, 20'000, 20'100);
  EXPECT_EQ(clock.now(20'050), 5 * second + 20'000);
}

TEST(DatabaseClock, a_quick_answer_grows_old) {
  DatabaseClock clock;
  clock.observe(0, 0, 100);
  const TimeUs later = 60 * second;
  clock.observe(later + 2'000, later, later + 2'000);  // within what the clocks may have parted in a minute
  EXPECT_EQ(clock.now(later + 1'000), later + 2'000);
}

TEST(DatabaseClock, a_clock_that_was_set_anew_is_believed_at_once) {
  DatabaseClock clock;
  clock.observe(0, 0, 100);
  clock.observe(90 * second, second, second + 5'000);
  EXPECT_EQ(clock.now(second + 2'500), 90 * second);
}

// It stood still for as long as the step back was long, and everything that waited for it.
TEST(DatabaseClock, D9_one_that_was_set_back_goes_on_from_there_and_tells_by_how_much) {
  DatabaseClock clock;
  EXPECT_EQ(clock.observe(3'600 * second, 0, 0), 0) << "the first observation is no jump";
  EXPECT_EQ(clock.observe(second, second, second), -3'600 * second);
  EXPECT_EQ(clock.now(2 * second), 2 * second);
  EXPECT_EQ(clock.observe(3 * second + 500'000, 3 * second, 3 * second), 0) << "half a second is drift";
  EXPECT_EQ(clock.observe(604 * second, 4 * second, 4 * second), 600 * second - 500'000);
  EXPECT_EQ(clock.now(5 * second), 605 * second);
}

}  // namespace
}  // namespace cairn
