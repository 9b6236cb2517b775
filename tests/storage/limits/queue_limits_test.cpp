// The limits of queues beyond their concurrency, and the record of their changes, on both stores.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "storage/limit_book.hpp"
#include "tests/storage/store_test.hpp"

namespace cairn {
namespace {

using namespace test;
using Kind = Verdict::Kind;

constexpr TimeUs hour_us = 3'600'000'000;

class QueueLimitsTest : public StoreTest {
 protected:
  LimitBook& book() { return store().limits(); }
  QueueLimits limits_of(const std::string& queue) {
    for (QueueLimits& limits : book().queue_limits())
      if (limits.name == queue) return std::move(limits);
    return {.name = queue};
  }
  QueueLimits change(QueueLimits limits, const std::string& actor = "ada") {
    const Result<QueueLimits> changed = book().change_limits({std::move(limits), actor});
    EXPECT_TRUE(changed) << changed.error().message;
    return changed ? *changed : QueueLimits{};
  }
  void set_rate(std::optional<StartRate> rate) {
    QueueLimits limits = limits_of("model");
    limits.rate = rate;
    change(limits);
  }
  // One run for each priority, on each shard in turn.
  std::vector<TestRun> runs_in_model(const std::vector<std::int32_t>& priorities) {
    std::vector<TestRun> runs;
    for (std::size_t n = 0; n < priorities.size(); ++n) {
      runs.emplace_back(store(), static_cast<Shard>(n) % store().shards());
      const TimeUs run_at_us = noon - 100 + static_cast<TimeUs>(n);
      EXPECT_EQ(runs.back().start(job_of(1, 1, run_at_us, "model", priorities[n])).kind, Kind::committed);
    }
    return runs;
  }
  std::vector<HeldJob> claim_model(SessionId session = 7, std::int32_t most = 10,
                                   const std::vector<RunId>& only_runs = {}) {
    std::vector<HeldJob> jobs;
    for (Shard shard = 0; shard < store().shards(); ++shard) {
      ClaimRequest request = claim_request(session, most, shard);
      request.queues = {"model"};
      request.only_runs = only_runs;
      for (HeldJob& job : store().claim(request).jobs) jobs.push_back(std::move(job));
    }
    return jobs;
  }
  // For jobs without a key.
  std::int64_t take_starts(std::int64_t count) {
    const KeyCounts taken = book().take_starts("model", {{"", count}});
    return taken.empty() ? 0 : taken.at("");
  }
  void end_step(TestRun& run, const HeldJob& held) {
    Entry entry = run.entry();
    entry.fences.push_back(fence_of(held));
    entry.jobs = {drop(1)};
    EXPECT_EQ(run.commit(entry).kind, Kind::committed);
  }
};

TEST_P(QueueLimitsTest, starts_of_a_rate_are_taken_for_jobs_that_are_held_already) {
  EXPECT_EQ(take_starts(5), 5) << "it has no limits";
  change({.name = "model", .concurrency = 1, .rate = StartRate{1, hour_us, 3}});
  const std::vector<TestRun> runs = runs_in_model({0, 0});
  ASSERT_EQ(claim_model().size(), 1u);
  EXPECT_EQ(take_starts(5), 2) << "the claim took one of three; that one job is held changes nothing";
  EXPECT_EQ(take_starts(5), 0);
  QueueLimits limits = limits_of("model");
  limits.concurrency.reset();
  change(limits);
  EXPECT_TRUE(claim_model().empty()) << "what was taken is used up for claims as well";
}

// One whose limits leave room for every claim leaves something to the others.
TEST_P(QueueLimitsTest, queues_of_each_kind_of_limit_come_first_in_turn) {
  change({.name = "aged", .ageing_us = 60'000'000});
  change({.name = "counted", .concurrency = 10});
  change({.name = "keyed", .key = "tag.customer"});
  const std::vector<std::string> names = {"aged", "counted", "keyed"};
  std::vector<TestRun> runs;
  for (int n = 0; n < 12; ++n)
    for (const std::string& name : names) {
      runs.emplace_back(store(), 0);
      EXPECT_EQ(runs.back().start(job_of(1, 1, noon - 100 + n, name, 0)).kind, Kind::committed);
    }
  std::map<std::string, int> claimed;
  ClaimRequest request = claim_request(7, 2, 0);
  request.queues = names;
  for (int n = 0; n < 6; ++n)
    for (const HeldJob& job : store().claim(request).jobs) ++claimed[job.job.queue];
  for (const std::string& name : names) EXPECT_GE(claimed[name], 2) << name;
}

// The one answer by which stores and sessions go.
TEST(GoesOn, each_kind_of_limit_says_how_a_held_branch_goes_on) {
  const StartRate rate{5, 1'000'000, 5};
  const UnitBudget budget{BudgetUnit::tokens, BudgetWindow::day, 100};
  const std::vector<std::pair<GoesOn, QueueLimits>> cases = {
      {GoesOn::open, {.name = "model"}},
      {GoesOn::open, {.name = "model", .revision = 3}},
      {GoesOn::freely, {.name = "model", .concurrency = 1}},
      {GoesOn::freely, {.name = "model", .concurrency = 1, .ageing_us = 1'000'000}},
      {GoesOn::freely, {.name = "model", .reserves = {{BudgetUnit::tokens, 5}}}},
      {GoesOn::paced, {.name = "model", .concurrency = 1, .rate = rate}},
      {GoesOn::paced, {.name = "model", .rate = rate, .ageing_us = 1'000'000}},
      {GoesOn::paced, {.name = "model", .budgets = {budget}}},
      {GoesOn::paced, {.name = "model", .budgets = {budget}, .reserves = {{BudgetUnit::tokens, 5}}}},
      {GoesOn::freely, {.name = "model", .key = "tag.customer"}},
      {GoesOn::freely, {.name = "model", .ageing_us = 1'000'000, .key = "tag.customer"}},
      {GoesOn::freely, {.name = "model", .key = "tag.customer", .key_concurrency = 1}},
      {GoesOn::never, {.name = "model", .paused = true}},
      {GoesOn::never, {.name = "model", .concurrency = 1, .paused = true}},
      {GoesOn::paced, {.name = "model", .rate = rate, .key = "tag.customer"}},
      {GoesOn::paced, {.name = "model", .key = "tag.customer", .key_rate = rate}},
      {GoesOn::paced, {.name = "model", .budgets = {budget}, .key = "tag.customer"}},
      {GoesOn::paced, {.name = "model", .key = "tag.customer", .key_budgets = {budget}}},
      {GoesOn::freely, {.name = "model", .reserves = {{BudgetUnit::tokens, 5}}, .key = "tag.customer"}},
      {GoesOn::never, {.name = "model", .is_understood = false}}};
  for (std::size_t n = 0; n < cases.size(); ++n) EXPECT_EQ(cases[n].second.goes_on(), cases[n].first) << "case " << n;
}

TEST_P(QueueLimitsTest, no_start_is_taken_where_a_held_branch_may_not_go_on) {
  const auto starts_with = [&](QueueLimits limits) {
    limits.revision = limits_of("model").revision;
    change(limits);
    return take_starts(2);
  };
  EXPECT_EQ(starts_with({.name = "model", .concurrency = 1}), 2) << "no rate: it is one held job before and after";
  EXPECT_EQ(starts_with({.name = "model", .paused = true}), 0);
  EXPECT_EQ(starts_with({.name = "model", .key = "tag.customer"}), 2) << "the session knows whose turn it is";
  EXPECT_EQ(starts_with({.name = "model", .rate = StartRate{5, 1'000'000, 5}}), 2);
  EXPECT_EQ(starts_with({.name = "model", .rate = StartRate{5, 1'000'000, 5}, .ageing_us = 60'000'000}), 2);
}

TEST_P(QueueLimitsTest, are_read_back_with_their_revision_and_each_change_has_its_actor) {
  EXPECT_TRUE(book().queue_limits().empty());
  QueueLimits limits{.name = "model", .concurrency = 4, .rate = StartRate{50, 1'000'000, 10}};
  limits = change(limits, "ada");
  EXPECT_EQ(limits.revision, 1);
  EXPECT_EQ(limits_of("model"), limits);
  limits.paused = true;
  limits.ageing_us = 60'000'000;
  limits = change(limits, "bob");
  EXPECT_EQ(limits_of("model"), limits);
  limits.rate.reset();
  limits.ageing_us = 0;
  limits.paused = false;
  limits = change(limits, "eve");
  EXPECT_EQ(limits.revision, 3);
  EXPECT_EQ(limits_of("model"), limits);

  const std::vector<LimitChangeRow> changes = book().limit_changes("model", never_us, 10);
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].limits, limits);
  EXPECT_EQ(changes[0].actor, "eve");
  EXPECT_EQ(changes[1].actor, "bob");
  EXPECT_TRUE(changes[1].limits.paused);
  EXPECT_EQ(changes[2].limits.rate, (StartRate{50, 1'000'000, 10}));
  EXPECT_GT(changes[2].at_us, 0);
  EXPECT_EQ(book().limit_changes("model", 3, 1).at(0).limits.revision, 2);
  EXPECT_TRUE(book().limit_changes("other", never_us, 10).empty());
}

TEST_P(QueueLimitsTest, of_two_edits_of_one_revision_the_later_is_refused_and_nothing_of_it_stays) {
  const QueueLimits first = change({.name = "model", .concurrency = 4});
  QueueLimits second = first;
  second.rate = StartRate{5, 1'000'000, 1};
  change(second, "ada");
  QueueLimits stale = first;
  stale.concurrency = 9;
  const Result<QueueLimits> refused = book().change_limits({stale, "bob"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::stale);
  EXPECT_EQ(refused.error().message, "Expected revision 1 of queue model to change, but it has revision 2 by now.");
  EXPECT_EQ(limits_of("model").concurrency, 4);
  EXPECT_EQ(book().limit_changes("model", never_us, 10).size(), 2u);
}

TEST_P(QueueLimitsTest, that_make_no_sense_are_refused_and_leave_nothing) {
  for (const QueueLimits& bad : std::vector<QueueLimits>{{.name = "model", .rate = StartRate{0, 0, 0}},
                                                         {.name = "model", .rate = StartRate{5, 1'000'000, 0}},
                                                         {.name = "model", .ageing_us = 1},
                                                         {.name = "model", .ageing_us = 31 * 24 * hour_us},
                                                         {.name = "cairn.timer", .rate = StartRate{1, 1'000'000, 1}},
                                                         {.name = "cairn.timer", .ageing_us = 1'000'000}}) {
    const Result<QueueLimits> refused = book().change_limits({bad, "ada"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid);
  }
  EXPECT_TRUE(book().queue_limits().empty());
  EXPECT_TRUE(book().limit_changes("model", never_us, 10).empty());
}

TEST_P(QueueLimitsTest, no_more_is_claimed_at_once_than_the_burst_over_all_shards) {
  std::vector<TestRun> runs = runs_in_model(std::vector<std::int32_t>(12));
  set_rate(StartRate{1, hour_us, 3});
  const std::vector<HeldJob> held = claim_model();
  ASSERT_EQ(held.size(), 3u);
  EXPECT_EQ(held[0].run, runs[0].id()) << "the oldest ones first";
  EXPECT_EQ(held[0].run_head, 1);
  for (const HeldJob& job : held)
    end_step(*std::find_if(runs.begin(), runs.end(), [&](const TestRun& run) { return run.id() == job.run; }), job);
  EXPECT_TRUE(claim_model(8).empty()) << "a step that has ended has used its start";
  set_rate(std::nullopt);
  EXPECT_EQ(claim_model(8).size(), 9u);
}

TEST_P(QueueLimitsTest, what_is_given_back_has_used_its_start) {
  runs_in_model({0, 0});
  set_rate(StartRate{1, hour_us, 1});
  const std::vector<HeldJob> held = claim_model();
  ASSERT_EQ(held.size(), 1u);
  const std::vector<std::pair<RunId, Fence>> holds{{held[0].run, fence_of(held[0])}};
  store().jobs().release(holds, noon);
  EXPECT_TRUE(claim_model().empty());
}

TEST_P(QueueLimitsTest, a_rate_and_a_concurrency_hold_together) {
  runs_in_model(std::vector<std::int32_t>(8));
  change({.name = "model", .concurrency = 2, .rate = StartRate{1, hour_us, 5}});
  EXPECT_EQ(claim_model().size(), 2u);
  QueueLimits limits = limits_of("model");
  limits.concurrency = 100;
  change(limits);
  EXPECT_EQ(claim_model(8).size(), 3u);
  EXPECT_TRUE(claim_model(9).empty());
}

TEST_P(QueueLimitsTest, a_claim_of_certain_runs_obeys_the_rate) {
  const std::vector<TestRun> runs = runs_in_model(std::vector<std::int32_t>(6));
  set_rate(StartRate{1, hour_us, 2});
  std::vector<RunId> named;
  for (const TestRun& run : runs)
    if (shard_of(run.id(), store().shards()) == 0) named.push_back(run.id());
  std::size_t claimed = 0;
  for (int n = 0; n < 3; ++n) claimed += claim_model(7, 10, named).size();
  EXPECT_EQ(claimed, 2u);
}

TEST_P(QueueLimitsTest, a_paused_queue_with_a_rate_goes_on_with_it) {
  runs_in_model({0, 0, 0});
  change({.name = "model", .paused = true, .rate = StartRate{1, hour_us, 2}});
  EXPECT_TRUE(claim_model().empty());
  QueueLimits limits = limits_of("model");
  EXPECT_TRUE(limits.paused);
  limits.paused = false;
  change(limits);
  EXPECT_EQ(claim_model().size(), 2u);
}

TEST_P(QueueLimitsTest, a_job_that_has_waited_goes_before_younger_ones_of_a_better_priority) {
  std::vector<TestRun> runs;
  const auto add = [&](std::int32_t priority, TimeUs waited_us) {
    runs.emplace_back(store(), 0);
    EXPECT_EQ(runs.back().start(job_of(1, 1, noon - waited_us, "model", priority)).kind, Kind::committed);
  };
  add(5, 40'000'000);  // as one of priority 1
  add(2, 0);
  add(9, 85'000'000);  // as one of priority 0.5
  add(3, 5'000'000);
  change({.name = "model", .ageing_us = 10'000'000});
  std::vector<RunId> order;
  ClaimRequest request = claim_request(7, 1, 0);
  request.queues = {"model"};
  for (std::size_t n = 0; n < runs.size(); ++n)
    for (const HeldJob& job : store().claim(request).jobs) order.push_back(job.run);
  EXPECT_EQ(order, (std::vector<RunId>{runs[2].id(), runs[0].id(), runs[1].id(), runs[3].id()}));
}

INSTANTIATE_TEST_SUITE_P(Stores, QueueLimitsTest, ::testing::ValuesIn(every_store_and_pooled()), name_of_store);

}  // namespace
}  // namespace cairn
