// Leftovers of limits that bind nothing any more are forgotten, on both stores.
#include <map>

#include "engine/event_types.hpp"
#include "storage/limit_book.hpp"
#include "storage/postgres/connection.hpp"
#include "tests/storage/set_limits.hpp"
#include "tests/storage/store_test.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

using namespace test;
using Kind = Verdict::Kind;

constexpr TimeUs rate_hour_us = 3'600'000'000;

class SpentLimitsTest : public StoreTest {
 protected:
  void set(QueueLimits limits) {
    const Status changed = set_limits(store(), std::move(limits));
    EXPECT_TRUE(changed) << changed.error().message;
  }
  void start(const std::vector<std::string>& teams) {
    for (const std::string& team : teams) {
      TestRun run(store(), 0);
      run.row.tags = {{"team", team}};
      Entry entry = run.entry();
      entry.jobs = {offer(job_of(1, 1, noon - 1'000 + std::ssize(runs_), "model"))};
      EXPECT_EQ(run.commit(entry).kind, Kind::committed);
      runs_.emplace(run.id(), run);
    }
  }
  std::vector<HeldJob> claim(std::int32_t most) {
    ClaimRequest request = claim_request(7, most, 0);
    request.queues = {"model"};
    return store().claim(request).jobs;
  }
  std::string team_of(const HeldJob& job) { return runs_.at(job.run).row.tags["team"]; }
  void end_runs_of(const std::string& team) {
    for (auto& [id, run] : runs_) {
      if (run.row.tags["team"] != team) continue;
      Entry entry = run.entry();
      entry.jobs = {drop(1)};
      EXPECT_EQ(run.commit(entry).kind, Kind::committed);
    }
  }
  // The number of rows that were forgotten, and of pages.
  std::pair<std::int64_t, int> forget(TimeUs at_us, std::int32_t portion = 1'000) {
    std::pair<std::int64_t, int> sum;
    SpentMark mark;
    while (const auto forgotten = store().limits().forget_spent(mark, at_us, portion)) {
      sum.first += *forgotten;
      ++sum.second;
    }
    return sum;
  }
  std::int64_t rows(const std::string& table) { return ask_number(dsn(), "select count(*) from cairn." + table); }
  bool is_rate_kept(const std::string& team) {
    return store().limits().key_uses("model", {team})[team].full_at.has_value();
  }
  bool is_budget_kept(const std::string& team) {
    return !store().limits().key_uses("model", {team})[team].budgets.empty();
  }

  std::map<RunId, TestRun> runs_;
};

TEST_P(SpentLimitsTest, a_rate_whose_starts_are_all_free_again_is_forgotten_and_one_that_binds_stays) {
  set({.name = "model",
       .rate = StartRate{1, rate_hour_us, 9},
       .key = "tag.team",
       .key_rate = StartRate{1, rate_hour_us, 2}});
  start({"red", "red", "blue"});
  ASSERT_EQ(claim(9).size(), 3u);
  const TimeUs now_us = store().database_time();
  forget(now_us);  // the turn may go on
  EXPECT_TRUE(is_rate_kept("red"));
  EXPECT_TRUE(is_rate_kept("blue"));
  EXPECT_EQ(forget(now_us + rate_hour_us * 3 / 2).first, 1) << "blue's start is free again in an hour, red's in two";
  EXPECT_FALSE(is_rate_kept("blue"));
  EXPECT_TRUE(is_rate_kept("red"));
  EXPECT_EQ(forget(now_us + 4 * rate_hour_us).first, 2) << "red's and that of the queue";
  EXPECT_FALSE(is_rate_kept("red"));
  EXPECT_FALSE(store().limits().queue_uses({"model"})["model"].full_at);
}

TEST_P(SpentLimitsTest, uses_of_windows_that_are_over_are_forgotten_and_those_of_now_stay) {
  const UnitBudget month{BudgetUnit::tokens, BudgetWindow::month, 9'000};
  const UnitBudget minute{BudgetUnit::tokens, BudgetWindow::minute, 9'000};
  set({.name = "model", .budgets = {month}, .key = "tag.team", .key_budgets = {month, minute}});
  start({"red"});
  const std::vector<HeldJob> held = claim(9);
  ASSERT_EQ(held.size(), 1u);
  TestRun& run = runs_.at(held[0].run);
  Entry entry = run.entry();
  entry.events[0].type = static_cast<std::int16_t>(first_record + static_cast<int>(RecordKind::model_called));
  entry.events[0].step = held[0].job.step;
  entry.events[0].payload = canonical(Json{{"tokens_in", 70}, {"tokens_out", 7}});
  entry.fences.push_back(fence_of(held[0]));
  entry.jobs = {drop(1)};
  ASSERT_EQ(run.commit(entry).kind, Kind::committed);
  const TimeUs now_us = store().database_time();
  forget(window_start(BudgetWindow::minute, now_us) - 1);
  EXPECT_EQ(store().limits().key_uses("model", {"red"})["red"].budgets.size(), 2u);
  forget(now_us + 60'000'000);
  const std::vector<UnitUse> left = store().limits().key_uses("model", {"red"})["red"].budgets;
  if (window_start(BudgetWindow::month, now_us) == window_start(BudgetWindow::month, now_us + 60'000'000)) {
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].per, BudgetWindow::month);
    EXPECT_EQ(left[0].used, 77);
  }
  forget(window_end(BudgetWindow::month, now_us + 60'000'000));
  EXPECT_FALSE(is_budget_kept("red"));
  EXPECT_TRUE(store().limits().queue_uses({"model"})["model"].budgets.empty());
}

TEST_P(SpentLimitsTest, the_turn_of_a_key_without_jobs_goes_to_the_next_key_that_has_one) {
  set({.name = "model", .key = "tag.team"});
  start({"a", "b", "c"});
  const std::vector<HeldJob> first = claim(1);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(team_of(first[0]), "a");
  end_runs_of("b");
  forget(store().database_time());
  if (!dsn().empty()) {
    EXPECT_EQ(ask(dsn(), "select key from cairn.key_turn").text(0, 0), "c");
  }
  start({"a"});
  const std::vector<HeldJob> second = claim(1);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(team_of(second[0]), "c") << "it is still its turn";
  end_runs_of("a");
  end_runs_of("c");
  forget(store().database_time());
  if (!dsn().empty()) {
    EXPECT_EQ(rows("key_turn"), 0);
  }
  start({"d"});
  EXPECT_EQ(claim(9).size(), 1u);
}

TEST_P(SpentLimitsTest, a_look_goes_through_all_rows_a_page_at_a_time) {
  set({.name = "model", .key = "tag.team", .key_rate = StartRate{1, rate_hour_us, 1}});
  start({"a", "b", "c", "d", "e"});
  ASSERT_EQ(claim(9).size(), 5u);
  const auto [forgotten, pages] = forget(store().database_time() + 2 * rate_hour_us, 2);
  if (dsn().empty()) return;  // in memory a pass is one page
  EXPECT_GE(forgotten, 5);
  EXPECT_GE(pages, 5) << "three of rates, one of budgets, one of turns";
  EXPECT_EQ(rows("rate"), 0);
}

TEST_P(SpentLimitsTest, a_key_that_no_run_has_is_forgotten_whatever_it_binds) {
  set({.name = "model", .key = "tag.team", .key_rate = StartRate{1, rate_hour_us, 2}});
  const std::string long_name(150, 'x');
  const std::string digested = long_name + long_name;
  start({"red", "blue", digested});
  ASSERT_EQ(claim(9).size(), 3u);
  store().limits().forget_key("model", "red");
  EXPECT_FALSE(is_rate_kept("red"));
  EXPECT_TRUE(is_rate_kept("blue"));
  store().limits().forget_key("model", digested);
  store().limits().forget_key("other", "blue");
  EXPECT_TRUE(is_rate_kept("blue"));
  if (!dsn().empty()) {
    EXPECT_EQ(rows("rate"), 1);
  }
}

// Rows that claims and commits write at the same time are not waited for.
TEST_P(SpentLimitsTest, a_row_that_is_locked_stays_and_holds_nothing_up) {
  if (dsn().empty()) return;
  set({.name = "model", .key = "tag.team", .key_rate = StartRate{1, rate_hour_us, 1}});
  start({"a", "b"});
  ASSERT_EQ(claim(9).size(), 2u);
  PgConnection other({dsn(), "test", false});
  other.execute("BEGIN");
  other.execute("UPDATE cairn.rate SET full_at = full_at WHERE key = '=a'");  // a cluster locks rows of many shards so
  forget(store().database_time() + 2 * rate_hour_us);
  EXPECT_TRUE(is_rate_kept("a"));
  EXPECT_FALSE(is_rate_kept("b"));
  other.execute("ROLLBACK");
  forget(store().database_time() + 2 * rate_hour_us);
  EXPECT_FALSE(is_rate_kept("a"));
}

INSTANTIATE_TEST_SUITE_P(Stores, SpentLimitsTest, ::testing::ValuesIn(every_store()), name_of_store);

}  // namespace
}  // namespace cairn
