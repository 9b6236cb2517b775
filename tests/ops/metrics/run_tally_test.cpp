// Runs by status, counted in parts: what a reading says, and how many rows it touches.
#include "ops/metrics/run_tally.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace cairn {
namespace {

// A table of runs by their place, and a count of the rows that were read of it.
struct Table {
  std::map<StartPlace, std::string> runs;
  std::int64_t read = 0;

  void add(TimeUs started_at, const std::string& status) {
    runs[{started_at, "run " + std::to_string(runs.size())}] = status;
  }
  void set(TimeUs started_at, const std::string& status) {
    for (auto& [place, of] : runs)
      if (place.started_at == started_at) of = status;
  }

  RunReader reader() {
    return {[this](const StartPlace& after, std::int64_t rows) -> std::optional<StartPlace> {
              auto at = runs.upper_bound(after);
              for (std::int64_t n = 1; at != runs.end() && n < rows; ++n, ++read) ++at;
              if (at == runs.end()) return std::nullopt;
              return at->first;
            },
            [this](const StartPlace& after, const StartPlace& until) {
              RunCounts counts;
              for (auto at = runs.upper_bound(after); at != runs.end() && at->first <= until; ++at, ++read)
                ++counts[at->second];
              return counts;
            }};
  }
};

TEST(RunTally, a_small_table_is_counted_whole_each_time) {
  Table table;
  RunTally tally(100, 3);
  EXPECT_EQ(tally.read(table.reader(), 1)->runs, RunCounts());
  for (int n = 0; n < 50; ++n) table.add(n, n % 2 == 0 ? "done" : "running");
  EXPECT_EQ(tally.read(table.reader(), 2)->runs, (RunCounts{{"done", 25}, {"running", 25}}));
  table.set(1, "failed");
  const auto reading = tally.read(table.reader(), 3);
  EXPECT_EQ(reading->runs, (RunCounts{{"done", 25}, {"running", 24}, {"failed", 1}}));
  EXPECT_EQ(reading->oldest_us, 3);
}

TEST(RunTally, a_table_of_many_parts_is_counted_over_some_readings_and_then_whole) {
  Table table;
  for (int n = 0; n < 1'050; ++n) table.add(n, "done");
  RunTally tally(100, 3);
  int readings = 0;
  std::optional<RunTally::Reading> reading;
  while (!reading && readings < 100) reading = tally.read(table.reader(), ++readings);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->runs, (RunCounts{{"done", 1'050}}));
  EXPECT_EQ(readings, 4);
}

TEST(RunTally, a_reading_touches_as_many_rows_of_a_table_ten_times_as_large) {
  const auto rows_of_a_reading = [](int runs) {
    Table table;
    for (int n = 0; n < runs; ++n) table.add(n, n % 7 == 0 ? "waiting" : "done");
    RunTally tally(100, 3);
    TimeUs now = 0;
    for (int n = 0; !tally.read(table.reader(), ++now) && n < 1'000; ++n) {
    }
    std::int64_t most = 0;
    for (int n = 0; n < 50; ++n) {
      table.read = 0;
      EXPECT_TRUE(tally.read(table.reader(), ++now));
      most = std::max(most, table.read);
    }
    return most;
  };
  const std::int64_t few = rows_of_a_reading(2'000);
  EXPECT_GT(few, 0);
  EXPECT_LE(rows_of_a_reading(20'000), few + 100);
  EXPECT_LE(few, 2 * 100 * (3 + 3));
}

TEST(RunTally, a_run_that_ends_in_an_old_part_is_seen_soon_and_the_reading_says_how_old_it_is) {
  Table table;
  for (int n = 0; n < 1'000; ++n) table.add(n, n == 5 ? "running" : "done");
  RunTally tally(100, 20);
  TimeUs now = 1;
  EXPECT_EQ(tally.read(table.reader(), now)->runs.at("running"), 1);
  table.set(5, "done");
  int readings = 0;
  for (; tally.read(table.reader(), ++now)->runs["running"] != 0; ++readings) ASSERT_LT(readings, 3);
  const auto later = tally.read(table.reader(), ++now);
  EXPECT_GT(now, later->oldest_us);
}

TEST(RunTally, every_part_is_counted_again_in_turn) {
  Table table;
  for (int n = 0; n < 1'000; ++n) table.add(n, "done");
  RunTally tally(100, 20);
  TimeUs now = 1;
  ASSERT_TRUE(tally.read(table.reader(), now));
  for (int n = 0; n < 1'000; ++n) table.set(n, "failed");
  RunCounts seen;
  for (int n = 0; n < 12; ++n) seen = tally.read(table.reader(), ++now)->runs;
  EXPECT_EQ(seen.at("failed"), 1'000);
}

TEST(RunTally, runs_that_an_import_brings_with_old_times_and_runs_that_are_archived_are_counted) {
  Table table;
  for (int n = 0; n < 500; ++n) table.add(n, "done");
  RunTally tally(100, 20);
  TimeUs now = 1;
  ASSERT_TRUE(tally.read(table.reader(), now));
  for (int n = 0; n < 900; ++n) table.add(3, "failed");
  RunCounts seen;
  for (int n = 0; n < 40; ++n)
    if (const auto reading = tally.read(table.reader(), ++now)) seen = reading->runs;
  EXPECT_EQ(seen, (RunCounts{{"done", 500}, {"failed", 900}}));
  table.runs.clear();
  for (int n = 0; n < 40; ++n)
    if (const auto reading = tally.read(table.reader(), ++now)) seen = reading->runs;
  for (const auto& [status, count] : seen) EXPECT_EQ(count, 0) << status;
}

}  // namespace
}  // namespace cairn
