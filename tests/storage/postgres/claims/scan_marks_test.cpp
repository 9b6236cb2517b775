// The marks of scans, by a clock that the test moves: the choice of a scan, and the places where it begins.
#include "storage/postgres/claims/scan_marks.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

constexpr TimeUs second_us = 1'000'000;
constexpr TimeUs here_us = 1'000 * second_us;  // by the database's clock

class ScanMarksTest : public ::testing::Test {
 protected:
  static ClaimRequest request(std::int32_t limit = 5) {
    return {.queues = {"default"}, .limit = limit, .now_us = here_us, .only_runs = {}, .not_of = {}};
  }
  static HeldJob job(TimeUs run_at_us, std::int32_t priority = 0) {
    HeldJob held;
    held.job.queue = "default";
    held.job.priority = priority;
    held.job.run_at_us = run_at_us;
    return held;
  }
  void claim(std::size_t count) { marks_.raise(request(), std::vector<HeldJob>(count, job(here_us - second_us))); }
  void scan(ScanFrom from, TimeUs took_us, std::size_t found = 5) { marks_.record(request(), from, took_us, found); }
  TimeUs start(ScanFrom from, std::int32_t priority = 0) {
    return marks_.starts(request(), from).at("default").at(priority).first;
  }
  // Many jobs were claimed, and both wider scans have just run, which took so long.
  void begin(TimeUs took_us = 1) {
    EXPECT_EQ(marks_.usual(request()), ScanFrom::everywhere) << "nothing is known yet";
    scan(ScanFrom::everywhere, took_us);
    claim(10);
  }

  TimeUs clock_us_ = 77 * second_us;
  ScanMarks marks_{10, [this] { return clock_us_; }};
};

TEST_F(ScanMarksTest, while_little_is_claimed_each_scan_begins_at_the_beginning) {
  begin();
  EXPECT_EQ(marks_.usual(request()), ScanFrom::marks);
  clock_us_ += 2 * second_us + 1;
  scan(ScanFrom::everywhere, 1);
  EXPECT_EQ(marks_.usual(request()), ScanFrom::everywhere) << "none in the last two seconds";
  claim(9);
  EXPECT_EQ(marks_.usual(request()), ScanFrom::everywhere);
  claim(1);
  EXPECT_EQ(marks_.usual(request()), ScanFrom::marks);
}

TEST_F(ScanMarksTest, where_two_scans_in_a_row_were_slow_marks_are_used_though_little_is_claimed) {
  claim(1);
  scan(ScanFrom::everywhere, 30'000);
  EXPECT_EQ(marks_.usual(request()), ScanFrom::everywhere) << "one slow scan may be noise";
  scan(ScanFrom::everywhere, 30'000);
  EXPECT_EQ(marks_.usual(request()), ScanFrom::marks);
  scan(ScanFrom::everywhere, 1);
  EXPECT_EQ(marks_.usual(request()), ScanFrom::everywhere);
}

TEST_F(ScanMarksTest, a_wider_scan_takes_a_fiftieth_of_the_time_and_two_minutes_are_its_longest_pause) {
  begin(second_us);
  clock_us_ += 2 * second_us + 1;
  claim(10);
  marks_.usual(request());
  claim(10);
  EXPECT_EQ(marks_.usual(request()), ScanFrom::minute) << "that from the beginning pauses for 50 s";
  EXPECT_EQ(marks_.wider(0), ScanFrom::minute);
  scan(ScanFrom::minute, second_us);
  EXPECT_EQ(marks_.usual(request()), ScanFrom::marks);
  EXPECT_EQ(marks_.wider(0), ScanFrom::marks) << "neither may run";
  clock_us_ += 48 * second_us;
  EXPECT_EQ(marks_.wider(0), ScanFrom::everywhere);
  scan(ScanFrom::everywhere, 3'600 * second_us);
  clock_us_ += 120 * second_us;
  EXPECT_EQ(marks_.wider(0), ScanFrom::everywhere);
}

TEST_F(ScanMarksTest, a_mark_is_the_newest_that_was_claimed_and_stays_behind_late_commits) {
  marks_.raise(request(), {job(here_us - 3 * second_us), job(here_us - 2 * second_us)});
  EXPECT_EQ(start(ScanFrom::marks), here_us - 2 * second_us);
  marks_.raise(request(), {job(here_us)});
  EXPECT_EQ(start(ScanFrom::marks), here_us - 250'000);
  EXPECT_EQ(start(ScanFrom::minute), here_us - 60 * second_us);
  EXPECT_LT(start(ScanFrom::everywhere), 0);
  EXPECT_TRUE(
      marks_.starts({.shard = 1, .queues = {"default"}, .only_runs = {}, .not_of = {}}, ScanFrom::marks).empty());
  EXPECT_TRUE(marks_.starts({.queues = {"other"}, .only_runs = {}, .not_of = {}}, ScanFrom::marks).empty());
}

TEST_F(ScanMarksTest, a_wider_scan_moves_the_marks_to_where_free_entries_may_begin) {
  marks_.raise(request(), {job(here_us - second_us)});
  scan(ScanFrom::minute, 1, 5);
  EXPECT_EQ(start(ScanFrom::marks), here_us - 60 * second_us) << "it found as many as it was asked for";
  scan(ScanFrom::minute, 1, 4);
  EXPECT_EQ(start(ScanFrom::marks), here_us - 250'000) << "it found fewer: none are left before it";
}

TEST_F(ScanMarksTest, priorities_that_are_too_many_are_forgotten_by_the_next_wider_scan) {
  for (std::int32_t priority = 0; priority < 101; ++priority) marks_.raise(request(), {job(here_us, priority)});
  EXPECT_EQ(marks_.starts(request(), ScanFrom::marks).at("default").size(), 101u);
  scan(ScanFrom::minute, 1);
  EXPECT_TRUE(marks_.starts(request(), ScanFrom::marks).at("default").empty());
}

}  // namespace
}  // namespace cairn
