// The watchdog: a worker whose turn does not end, ends.
#include "workers/runtime/loop_watchdog.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <thread>

#include "storage/memory/memory_store.hpp"
#include "tests/workers/small_graphs.hpp"

namespace cairn {
namespace {

TEST(LoopWatchdog, issue_18_2_a_turn_is_stuck_when_it_lasts_longer_than_it_may) {
  LoopWatchdog watch(100, 60);
  EXPECT_FALSE(watch.is_stuck(1, 1'000'000));
  EXPECT_FALSE(watch.is_stuck(1, 1'000'050));
  EXPECT_FALSE(watch.is_stuck(1, 1'000'100)) << "a hundred is allowed";
  EXPECT_TRUE(watch.is_stuck(1, 1'000'101));
}

TEST(LoopWatchdog, issue_18_2_turns_that_end_and_pauses_between_them_are_not_stuck) {
  LoopWatchdog watch(100, 60);
  TimeUs now = 1'000'000;
  for (std::uint64_t turns = 1; turns < 50; ++turns) EXPECT_FALSE(watch.is_stuck(turns, now += 60));
  for (int n = 0; n < 50; ++n) EXPECT_FALSE(watch.is_stuck(50, now += 60)) << "none is under way";
}

TEST(LoopWatchdog, issue_18_2_the_time_in_which_the_whole_process_stood_still_is_no_turns) {
  LoopWatchdog watch(100, 60);
  EXPECT_FALSE(watch.is_stuck(1, 1'000'000));
  EXPECT_FALSE(watch.is_stuck(1, 900'000'000)) << "it was stopped: one look counts for sixty at most";
}

using LoopWatchdogDeathTest = ::testing::Test;

TEST_F(LoopWatchdogDeathTest, issue_18_2_a_worker_whose_turn_does_not_end_ends_itself) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto stuck = [] {
    const auto store = make_memory_store(1);
    const auto catalogue = test::small_catalogue();
    WorkerOptions options;
    options.turn_max_ms = 300;
    options.until = [] {
      std::this_thread::sleep_for(std::chrono::seconds(30));
      return true;
    };
    Worker(*store, *catalogue, options).run();
  };
  EXPECT_EXIT(stuck(), ::testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace cairn
