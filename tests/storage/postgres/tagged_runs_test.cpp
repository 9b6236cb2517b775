// Lists of runs by tags and times that are shorter than the table: whichever way they are found, they are the same.
#include <gtest/gtest.h>

#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

using namespace test;

constexpr std::int64_t count = 3'000;

// Run n starts at n: each has team = n % 2, every thousandth has rare = yes.
class TaggedRuns : public ::testing::Test {
 protected:
  TaggedRuns() : dsn_(new_database(1)), store_(store_on(dsn_)) {
    ask(dsn_,
        "insert into cairn.run (shard, run_id, waiting, head, started_at, updated_at, chain_hash, status, graph, "
        "version, reason, tags) select 0, md5(n::text)::uuid, false, 1, n, n, sha256('x'), 'done', 'g', 'v', '', "
        "jsonb_build_object('team', (n % 2)::text) || case when n % 1000 = 0 then '{\"rare\": \"yes\"}' else '{}' "
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

TEST_F(TaggedRuns, a_tag_that_many_have_is_read_page_by_page_to_its_end) {
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

TEST_F(TaggedRuns, a_tag_that_few_have_is_found_however_old_they_are) {
  EXPECT_EQ(starts(by_tag("rare", "yes", 10)), (std::vector<TimeUs>{3'000, 2'000, 1'000}));
  EXPECT_EQ(starts(by_tag("rare", "yes", 1)), (std::vector<TimeUs>{3'000}));
  EXPECT_EQ(starts(by_tag("rare", "no", 1)), std::vector<TimeUs>());
}

TEST_F(TaggedRuns, the_earlier_of_two_bounds_counts) {
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

}  // namespace
}  // namespace cairn
