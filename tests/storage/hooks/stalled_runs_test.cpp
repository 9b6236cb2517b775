// The search for runs that stand still.
#include "storage/hooks/stalled_runs.hpp"

#include <gtest/gtest.h>
#include <set>

#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn::test {
namespace {

constexpr TimeUs hour_us = 3'600'000'000;

class StalledRunsTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    dsn_ = std::string(GetParam()) == "citus" ? new_distributed_database(2) : new_database(2);
    store_ = store_on(dsn_);
    stalled_ = std::make_unique<StalledRuns>(dsn_, 2, store_->identity());
  }

  NoticeId run_at(Shard shard, TimeUs at_us, const std::string& graph = "g", const Tags& tags = {},
                  RunStatus status = RunStatus::running) {
    TestRun run(*store_, shard);
    run.row.graph = graph;
    run.row.tags = tags;
    Entry entry = run.entry(2);
    entry.run.status = status;
    entry.run.updated_at = at_us;
    EXPECT_EQ(run.commit(entry).kind, Verdict::Kind::committed);
    return {run.id(), 2, NoticeKind::stalled};
  }

  std::set<NoticeId> found(StalledQuestion question, std::int32_t limit = 100) {
    std::set<NoticeId> all;
    for (int looks = 0; looks < 100; ++looks) {
      const StalledAnswer answer = stalled_->search(question, limit);
      for (const NoticeId& id : answer.found) EXPECT_TRUE(all.insert(id).second) << "found twice";
      if (answer.is_end) return all;
      question.shard = answer.shard;
      question.after = answer.after;
    }
    ADD_FAILURE() << "the search does not end";
    return all;
  }

  std::string dsn_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StalledRuns> stalled_;
};

INSTANTIATE_TEST_SUITE_P(Databases, StalledRunsTest,
                         ::testing::ValuesIn(has_citus_cluster() ? std::vector<const char*>{"postgres", "citus"}
                                                                 : std::vector<const char*>{"postgres"}),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(StalledRunsTest, finds_open_runs_that_nothing_was_committed_to_in_any_shard_and_in_any_portion) {
  std::set<NoticeId> still;
  for (int n = 0; n < 7; ++n) still.insert(run_at(n % 2, noon - 2 * hour_us));
  run_at(0, noon - hour_us / 2);
  run_at(1, noon - 2 * hour_us, "g", {}, RunStatus::done);
  run_at(1, noon - 2 * hour_us, "g", {}, RunStatus::paused);
  run_at(1, noon - 900 * hour_us);
  const StalledQuestion question{0, {}, noon - hour_us, noon - 800 * hour_us};
  for (const std::int32_t limit : {1, 2, 3, 100}) EXPECT_EQ(found(question, limit), still) << limit;
}

TEST_P(StalledRunsTest, finds_those_of_a_graph_and_with_tags) {
  const NoticeId wanted = run_at(0, noon - 2 * hour_us, "order", {{"team", "a"}, {"day", "1"}});
  run_at(0, noon - 2 * hour_us, "order", {{"team", "b"}});
  run_at(0, noon - 2 * hour_us, "other", {{"team", "a"}});
  EXPECT_EQ(found({0, {}, noon - hour_us, 0, "order", {{"team", "a"}}}), std::set<NoticeId>{wanted});
  EXPECT_EQ(found({0, {}, noon - hour_us, 0, "order", {}}).size(), 2u);
}

TEST_P(StalledRunsTest, an_empty_database_is_at_its_end_at_once) {
  const StalledAnswer answer = stalled_->search({}, 10);
  EXPECT_TRUE(answer.is_end);
  EXPECT_TRUE(answer.found.empty());
  EXPECT_EQ(answer.shard, 0);
}

}  // namespace
}  // namespace cairn::test
