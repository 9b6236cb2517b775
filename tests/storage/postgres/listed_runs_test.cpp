// Lists of runs by tags, times and status that are shorter than the table: whichever way they are found, they are the
// same.
#include <gtest/gtest.h>
#include <utility>

#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

using namespace test;

constexpr std::int64_t count = 12'000;  // in two windows and a third of one

// Run n starts at n: each has team = n % 2, three have rare = yes. The sixth, those about the ends of windows and the
// newest have failed.
class ListedRuns : public ::testing::Test {
 protected:
  ListedRuns() : dsn_(new_database(1)), store_(store_on(dsn_)) {
    ask(dsn_,
        "insert into cairn.run (shard, run_id, waiting, head, started_at, updated_at, chain_hash, status, graph, "
        "version, reason, tags) select 0, md5(n::text)::uuid, false, 1, n, n, sha256('x'), "
        "case when n in (6, 3000, 3001, 11000, 11001, 12000) then 'failed' else 'done' end, 'g', 'v', '', "
        "jsonb_build_object('team', (n % 2)::text) || case when n in (1000, 2000, 3000) then '{\"rare\": \"yes\"}' "
        "else '{}' "
        "end::jsonb from generate_series(1, " +
            std::to_string(count) + ") n");
  }

  std::vector<TimeUs> starts(RunFilter filter) {
    std::vector<TimeUs> found;
    for (const RunRow& run : store_->runs(filter)) found.push_back(run.started_at);
    return found;
  }

  std::string dsn_;
  std::unique_ptr<Store> store_;
};

RunFilter by_tag(const std::string& key, const std::string& value, std::int32_t limit) {
  RunFilter filter;
  filter.tags[key] = value;
  filter.limit = limit;
  return filter;
}

TEST_F(ListedRuns, a_tag_that_many_have_is_read_page_by_page_to_its_end) {
  RunFilter filter = by_tag("team", "1", 400);
  std::vector<TimeUs> all;
  for (;;) {
    const std::vector<RunRow> page = store_->runs(filter);
    for (const RunRow& run : page) all.push_back(run.started_at);
    if (page.size() < 400) break;
    filter.after = {page.back().started_at, page.back().id};
  }
  ASSERT_EQ(std::ssize(all), count / 2);
  for (std::size_t at = 0; at < all.size(); ++at) EXPECT_EQ(all[at], count - 1 - 2 * static_cast<std::int64_t>(at));
}

TEST_F(ListedRuns, a_tag_that_few_have_is_found_however_old_they_are) {
  EXPECT_EQ(starts(by_tag("rare", "yes", 10)), (std::vector<TimeUs>{3'000, 2'000, 1'000}));
  EXPECT_EQ(starts(by_tag("rare", "yes", 1)), (std::vector<TimeUs>{3'000}));
  EXPECT_EQ(starts(by_tag("rare", "no", 1)), std::vector<TimeUs>());
}

TEST_F(ListedRuns, the_earlier_of_two_bounds_counts) {
  RunFilter filter = by_tag("team", "0", 2);
  filter.until = 101;
  EXPECT_EQ(starts(filter), (std::vector<TimeUs>{100, 98}));
  filter.after = std::pair(TimeUs{51}, RunId{});
  EXPECT_EQ(starts(filter), (std::vector<TimeUs>{50, 48}));
  filter.until = 41;
  EXPECT_EQ(starts(filter), (std::vector<TimeUs>{40, 38}));
  filter.since = 40;
  EXPECT_EQ(starts(filter), std::vector<TimeUs>{40});
  filter = RunFilter{};
  filter.limit = 2;
  filter.until = 10;
  EXPECT_EQ(starts(filter), (std::vector<TimeUs>{9, 8}));
  filter.graph = "g";
  EXPECT_EQ(starts(filter), (std::vector<TimeUs>{9, 8}));
}

// With ten million runs a list by a status that five old ones have got no answer in time: one statement passed all by.
TEST_F(ListedRuns, a_status_that_few_have_is_found_window_by_window) {
  const std::vector<TimeUs> all{12'000, 11'001, 11'000, 3'001, 3'000, 6};
  for (const std::string graph : {"", "g"}) {
    RunFilter filter;
    filter.graph = graph;
    filter.status = RunStatus::failed;
    EXPECT_EQ(starts(filter), all);
    EXPECT_EQ(store_->all_runs().count(filter, 100), 6);
    EXPECT_EQ(store_->all_runs().count(filter, 4), 4);
    for (std::int32_t limit = 1; limit <= 6; ++limit) {
      filter.limit = limit;
      EXPECT_EQ(starts(filter), std::vector<TimeUs>(all.begin(), all.begin() + limit));
    }
    filter.limit = 2;
    filter.after = std::pair(TimeUs{11'001}, store_->runs(filter).back().id);
    EXPECT_EQ(starts(filter), (std::vector<TimeUs>{11'000, 3'001}));
    filter.since = 3'001;
    EXPECT_EQ(starts(filter), (std::vector<TimeUs>{11'000, 3'001}));
    filter.limit = 100;
    filter.until = 11'000;
    EXPECT_EQ(starts(filter), (std::vector<TimeUs>{3'001}));
    filter.since = 3'002;
    EXPECT_EQ(starts(filter), std::vector<TimeUs>());
  }
  RunFilter filter;
  filter.graph = "another";
  filter.status = RunStatus::failed;
  EXPECT_EQ(starts(filter), std::vector<TimeUs>());
}

TEST_F(ListedRuns, a_page_of_a_status_goes_on_where_the_one_before_it_ended) {
  RunFilter filter;
  filter.status = RunStatus::done;
  filter.limit = 700;
  std::int64_t found = 0;
  TimeUs last = count + 1;
  for (;;) {
    const std::vector<RunRow> page = store_->runs(filter);
    for (const RunRow& run : page) EXPECT_LT(run.started_at, std::exchange(last, run.started_at));
    found += std::ssize(page);
    if (page.size() < 700) break;
    filter.after = {page.back().started_at, page.back().id};
  }
  EXPECT_EQ(found, count - 6);
}

}  // namespace
}  // namespace cairn
