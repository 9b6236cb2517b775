// Jobs by queue, counted in parts: what a reading says, and how many rows it touches.
#include "ops/metrics/job_tally.hpp"

#include <gtest/gtest.h>
#include <iterator>
#include <stdexcept>

namespace cairn {
namespace {

// A table of jobs by their place, and a count of the rows that were read of it.
struct JobRows {
  using Job = std::pair<std::string, JobCounts>;  // its queue, and itself as a count
  std::map<TallyPlace, Job> jobs;
  std::int64_t read = 0;
  bool is_away = false;

  void add(int count, const Job& job) {
    for (int n = 0; n < count; ++n)
      jobs[{std::ssize(jobs) % 4, "run " + std::to_string(100'000 + std::ssize(jobs)), 1}] = job;
  }

  JobReader reader() {
    return [this](const TallyPlace& after, std::int64_t count) {
      JobPart part;
      auto at = jobs.upper_bound(after);
      for (; at != jobs.end() && std::ssize(part.queues) < count; ++at, ++read) part.queues.push_back(at->second);
      if (is_away) throw std::runtime_error("away");
      if (std::ssize(part.queues) == count) part.last = std::prev(at)->first;
      return part;
    };
  }
};

const JobRows::Job ready = {"model", {1, 0, 0}};
const JobRows::Job later = {"model", {0, 1, 0}};
const JobRows::Job held = {"tools", {0, 0, 1}};

TEST(JobTally, a_table_that_one_reading_passes_is_counted_whole_each_time) {
  JobRows table;
  JobTally tally(100, 3);
  EXPECT_TRUE(tally.read(table.reader(), 1)->queues.empty());
  table.add(121, ready);
  table.add(60, later);
  table.add(7, held);
  const auto reading = tally.read(table.reader(), 2);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->began_us, 2);
  ASSERT_EQ(reading->queues.size(), 2u);
  EXPECT_EQ(reading->queues.at("model"), (JobCounts{121, 60, 0}));
  EXPECT_EQ(reading->queues.at("tools"), (JobCounts{0, 0, 7}));
  table.jobs.clear();
  EXPECT_TRUE(tally.read(table.reader(), 3)->queues.empty());
}

TEST(JobTally, a_longer_table_is_counted_over_some_readings_and_its_count_says_its_age) {
  JobRows table;
  table.add(1'050, ready);
  JobTally tally(100, 3);
  for (TimeUs now = 1; now <= 3; ++now) {
    EXPECT_FALSE(tally.read(table.reader(), now)) << now;
    EXPECT_EQ(tally.read_so_far().queues.at("model").ready, 300 * now);
  }
  EXPECT_EQ(tally.read(table.reader(), 4)->queues.at("model").ready, 1'050);
  table.add(1, later);
  const auto meanwhile = tally.read(table.reader(), 5);
  EXPECT_EQ(meanwhile->began_us, 1);
  EXPECT_EQ(meanwhile->queues.at("model").later, 0);
  for (TimeUs now = 6; now <= 8; ++now) tally.read(table.reader(), now);
  const auto again = tally.read(table.reader(), 9);
  EXPECT_EQ(again->queues.at("model").later, 1);
  EXPECT_EQ(again->began_us, 5);
}

TEST(JobTally, a_reading_reads_as_many_rows_however_many_jobs_wait) {
  JobTally tally(100, 3);
  for (const int count : {0, 1'000, 10'000, 20'000}) {
    JobRows table;
    table.add(count, ready);
    for (TimeUs now = 1; now <= 5; ++now) {
      table.read = 0;
      tally.read(table.reader(), now);
      EXPECT_LE(table.read, 100 * 3) << count;
    }
  }
}

TEST(JobTally, after_a_reading_that_failed_nothing_is_counted_twice) {
  JobRows table;
  table.add(1'050, ready);
  JobTally tally(100, 3);
  tally.read(table.reader(), 1);
  table.is_away = true;
  EXPECT_THROW(tally.read(table.reader(), 2), std::runtime_error);
  table.is_away = false;
  for (TimeUs now = 3; now <= 5; ++now) EXPECT_FALSE(tally.read(table.reader(), now)) << now;
  const auto reading = tally.read(table.reader(), 6);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->queues.at("model").ready, 1'050);
  EXPECT_EQ(reading->began_us, 3);
}

}  // namespace
}  // namespace cairn
