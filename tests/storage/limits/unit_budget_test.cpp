// Budgets of queues: their windows and their arithmetic, and what claims and commits make of them on both stores.
#include "storage/limits/unit_budget.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "engine/event_types.hpp"
#include "storage/limit_book.hpp"
#include "storage/postgres/connection.hpp"
#include "tests/storage/set_limits.hpp"
#include "tests/storage/store_test.hpp"
#include "tests/waiting.hpp"

namespace cairn {
namespace {

using namespace test;
using Kind = Verdict::Kind;
using Per = BudgetWindow;

constexpr BudgetUnit tokens = BudgetUnit::tokens;
constexpr BudgetUnit cost = BudgetUnit::cost;

TimeUs at(const std::string& text) { return parse_time(text).value(); }

TEST(UnitBudgets, windows_are_those_of_the_calendar_in_UTC) {
  const TimeUs now_us = at("2024-02-29T23:59:59.999999Z");
  EXPECT_EQ(window_start(Per::minute, now_us), at("2024-02-29T23:59:00Z"));
  EXPECT_EQ(window_start(Per::hour, now_us), at("2024-02-29T23:00:00Z"));
  EXPECT_EQ(window_start(Per::day, now_us), at("2024-02-29T00:00:00Z"));
  EXPECT_EQ(window_start(Per::month, now_us), at("2024-02-01T00:00:00Z"));
  for (const Per per : {Per::minute, Per::hour, Per::day, Per::month}) {
    EXPECT_EQ(window_end(per, now_us), at("2024-03-01T00:00:00Z"));
    EXPECT_EQ(window_start(per, at("2024-03-01T00:00:00Z")), at("2024-03-01T00:00:00Z")) << "its first moment";
  }
  EXPECT_EQ(window_end(Per::month, at("2024-12-31T12:00:00Z")), at("2025-01-01T00:00:00Z"));
  EXPECT_EQ(window_start(Per::day, at("1969-12-31T12:00:00Z")), at("1969-12-31T00:00:00Z"));
}

TEST(UnitBudgets, a_step_begins_while_its_reservation_fits_beside_what_is_used_and_held) {
  const UnitBudget budget{tokens, Per::day, 1'000};
  const Reserves reserves{{tokens, 300}};
  EXPECT_EQ(free_steps(budget, reserves, 0, 0), 3);
  EXPECT_EQ(free_steps(budget, reserves, 0, 2), 1);
  EXPECT_EQ(free_steps(budget, reserves, 500, 1), 0);
  EXPECT_FALSE(is_used_up(budget, reserves, 500)) << "one begins when the held one has ended";
  EXPECT_EQ(free_steps(budget, reserves, 700, 0), 1);
  EXPECT_TRUE(is_used_up(budget, reserves, 701));
  EXPECT_EQ(free_steps(budget, reserves, 5'000, 0), 0) << "passed by what steps use beyond their reservations";
  EXPECT_GT(free_steps(budget, {}, 999, 50), 1'000) << "nothing is reserved: any number while some is left";
  EXPECT_EQ(free_steps(budget, {}, 1'000, 0), 0);
}

TEST(UnitBudgets, a_use_counts_in_its_window_alone_and_a_clock_that_goes_back_stays_in_it) {
  const UnitBudget budget{cost, Per::day, 1'000};
  std::vector<UnitUse> uses;
  add_use(uses, budget, 10, at("2024-05-01T10:00:00Z"));
  add_use(uses, budget, 5, at("2024-05-01T23:00:00Z"));
  add_use(uses, {cost, Per::month, 9}, 7, at("2024-05-01T23:00:00Z"));
  EXPECT_EQ(used_of(budget, uses, at("2024-05-01T23:59:59Z")), 15);
  EXPECT_EQ(used_of(budget, uses, at("2024-05-02T00:00:00Z")), 0);
  add_use(uses, budget, 3, at("2024-05-02T00:00:00Z"));
  add_use(uses, budget, 4, at("2024-05-01T23:59:00Z"));
  EXPECT_EQ(used_of(budget, uses, at("2024-05-02T09:00:00Z")), 7);
  EXPECT_EQ(used_of({cost, Per::month, 9}, uses, at("2024-05-02T09:00:00Z")), 7);
}

TEST(UnitBudgets, what_a_clock_that_was_a_year_ahead_counted_does_not_use_up_the_days_until_then) {
  const UnitBudget budget{tokens, Per::day, 1'000};
  std::vector<UnitUse> uses;
  add_use(uses, budget, 900, at("2025-05-01T10:00:00Z"));
  EXPECT_EQ(used_of(budget, uses, at("2024-05-01T10:00:00Z")), 0);
  add_use(uses, budget, 200, at("2024-05-01T10:00:00Z"));
  EXPECT_EQ(used_of(budget, uses, at("2024-05-01T10:00:00Z")), 200);
  EXPECT_EQ(used_of(budget, uses, at("2024-05-02T10:00:00Z")), 0) << "the next day is one of its own";
}

TEST(UnitBudgets, that_make_no_sense_are_refused) {
  const auto says = [](const std::vector<UnitBudget>& budgets, const Reserves& reserves = {}) {
    const Status fits = check_budgets(budgets, reserves, "the queue model");
    return fits ? std::string("fine") : fits.error().message;
  };
  EXPECT_EQ(says({{tokens, Per::day, 5}, {tokens, Per::hour, 2}, {cost, Per::day, 1}}, {{tokens, 2}}), "fine");
  EXPECT_EQ(says({{tokens, Per::day, 0}}),
            "Expected a budget of the queue model above nothing and of at most 10^15, but got 0 tokens per day.");
  EXPECT_EQ(says({{cost, Per::day, budget_amount_max + 1}}).substr(0, 45),
            "Expected a budget of the queue model above no");
  EXPECT_EQ(says({{tokens, Per::day, 5}, {tokens, Per::day, 6}}),
            "Expected one budget of tokens per day of the queue model, but got two.");
  EXPECT_EQ(says({{cost, Per::hour, 500'000}}, {{cost, 2'500'000}}),
            "Expected a step of the queue model to reserve no more than its budget of 0.5 cost per hour, but got 2.5: "
            "none could begin.");
  EXPECT_EQ(says({}, {{tokens, -1}}),
            "Expected a step of the queue model to reserve some tokens and at most 10^15, but got -1.");
}

TEST(UnitBudgets, of_each_budget_the_keys_that_used_most_now_are_named) {
  const TimeUs now_us = at("2024-05-02T10:00:00Z"), day = at("2024-05-02T00:00:00Z");
  std::map<std::string, QueueUse> keys;
  keys["a"].budgets = {{tokens, Per::day, day, 50}, {cost, Per::day, day, 1}};
  keys["b"].budgets = {{tokens, Per::day, day, 70}, {cost, Per::day, day - 86'400'000'000, 9}};
  keys["c"].budgets = {{tokens, Per::day, day, 60}, {cost, Per::day, day, 2}};
  std::string named;
  for (const KeyUnitUse& one : most_used(keys, 2, now_us))
    named += one.key + " " + std::string(to_string(one.use.unit)) + " " + std::to_string(one.use.used) + "; ";
  EXPECT_EQ(named, "b tokens 70; c tokens 60; c cost 2; a cost 1; ");
}

class UnitBudgetsTest : public StoreTest {
 protected:
  void set(QueueLimits limits) {
    const Status changed = set_limits(store(), std::move(limits));
    EXPECT_TRUE(changed) << changed.error().message;
  }
  void start_runs(int count, const std::string& team = "") {
    for (int n = 0; n < count; ++n) {
      TestRun run(store(), static_cast<Shard>(runs_.size()) % store().shards());
      if (!team.empty()) run.row.tags = {{"team", team}};
      Entry entry = run.entry();
      entry.jobs = {offer(job_of(1, 1, noon - 1'000 + static_cast<TimeUs>(runs_.size()), "model"))};
      EXPECT_EQ(run.commit(entry).kind, Kind::committed);
      runs_.emplace(run.id(), run);
    }
  }
  std::vector<HeldJob> claim(std::int32_t most = 10) {
    std::vector<HeldJob> jobs;
    for (Shard shard = 0; shard < store().shards(); ++shard) {
      ClaimRequest request = claim_request(7, most, shard);
      request.queues = {"model"};
      for (HeldJob& job : store().claim(request).jobs) jobs.push_back(std::move(job));
    }
    return jobs;
  }
  // The step called a model, and ends.
  void end_step(const HeldJob& held, const Json& fact) {
    TestRun& run = runs_.at(held.run);
    Entry entry = run.entry();
    entry.events[0].type = static_cast<std::int16_t>(first_record + static_cast<int>(RecordKind::model_called));
    entry.events[0].step = held.job.step;
    entry.events[0].payload = canonical(fact);
    entry.fences.push_back(fence_of(held));
    entry.jobs = {drop(1)};
    ASSERT_EQ(run.commit(entry).kind, Kind::committed);
  }
  static Json used(std::int64_t in, std::int64_t out, double cost = 0) {
    return {{"tokens_in", in}, {"tokens_out", out}, {"cost", cost}};
  }
  std::int64_t used_now(const UnitBudget& budget) {
    const auto uses = store().limits().queue_uses({"model"});
    const auto found = uses.find("model");
    return found == uses.end() ? 0 : used_of(budget, found->second.budgets, store().database_time());
  }

  std::map<RunId, TestRun> runs_;
};

constexpr UnitBudget thousand_a_month{tokens, Per::month, 1'000};

TEST_P(UnitBudgetsTest, are_read_back_and_make_a_queue_that_earlier_releases_leave_alone) {
  QueueLimits limits{.name = "model",
                     .budgets = {{tokens, Per::day, 5'000'000}, {cost, Per::month, 250'000'000}},
                     .reserves = {{tokens, 4'000}, {cost, 20'000}},
                     .key = "tag.team",
                     .key_budgets = {{tokens, Per::hour, 100'000}}};
  set(limits);
  limits.revision = 1;
  ASSERT_EQ(store().limits().queue_limits().size(), 1u);
  EXPECT_EQ(store().limits().queue_limits()[0], limits);
  EXPECT_TRUE(limits.is_governed());
}

TEST_P(UnitBudgetsTest, what_steps_reserve_is_held_until_they_end_and_what_they_used_stays_counted) {
  set({.name = "model", .budgets = {thousand_a_month}, .reserves = {{tokens, 300}}});
  start_runs(8);
  const std::vector<HeldJob> first = claim();
  ASSERT_EQ(first.size(), 3u);
  EXPECT_TRUE(claim().empty());
  end_step(first[0], used(80, 20));
  EXPECT_EQ(used_now(thousand_a_month), 100);
  const std::vector<HeldJob> second = claim();
  ASSERT_EQ(second.size(), 1u) << "100 are used, 600 reserved";
  end_step(first[1], used(100, 250));
  EXPECT_TRUE(claim().empty()) << "450 are used, 600 reserved";
  end_step(first[2], used(0, 0));
  end_step(second[0], used(0, 0));
  EXPECT_EQ(claim().size(), 1u) << "450 are used";
}

TEST_P(UnitBudgetsTest, a_step_that_is_given_back_gives_back_what_it_reserved) {
  set({.name = "model", .budgets = {thousand_a_month}, .reserves = {{tokens, 1'000}}});
  start_runs(2);
  const std::vector<HeldJob> held = claim();
  ASSERT_EQ(held.size(), 1u);
  const std::vector<std::pair<RunId, Fence>> holds{{held[0].run, fence_of(held[0])}};
  store().jobs().release(holds, noon);
  EXPECT_EQ(claim().size(), 1u);
}

TEST_P(UnitBudgetsTest, jobs_that_are_held_already_begin_their_next_steps_while_what_all_reserve_is_left) {
  set({.name = "model", .budgets = {thousand_a_month}, .reserves = {{tokens, 300}}});
  start_runs(3);
  const std::vector<HeldJob> held = claim();
  ASSERT_EQ(held.size(), 3u);
  const auto may_begin = [this](std::int64_t count) {
    const KeyCounts taken = store().limits().take_starts("model", {{"", count}});
    return taken.empty() ? 0 : taken.at("");
  };
  EXPECT_EQ(may_begin(3), 3) << "what they reserve goes on";
  EXPECT_EQ(may_begin(2), 2) << "the third one reserves as well";
  end_step(held[0], used(400, 0));
  EXPECT_EQ(may_begin(2), 2) << "400 are used, 600 reserved by these two";
  end_step(held[1], used(150, 0));
  EXPECT_EQ(may_begin(1), 1) << "550 are used, 300 reserved by this one";
  set({.name = "model", .budgets = {{tokens, Per::month, 849}}, .reserves = {{tokens, 300}}});
  EXPECT_EQ(may_begin(1), 0);
  set({.name = "model", .budgets = {{tokens, Per::month, 551}}});
  EXPECT_EQ(may_begin(1), 1) << "no step reserves anything, and one is left";
  set({.name = "model", .budgets = {{tokens, Per::month, 550}}});
  EXPECT_EQ(may_begin(1), 0) << "it is used up";
}

TEST_P(UnitBudgetsTest, jobs_that_are_held_already_begin_their_next_steps_while_their_key_has_some_of_its_budget_left) {
  set({.name = "model", .key = "tag.team", .key_budgets = {{tokens, Per::month, 100}}});
  start_runs(2, "blue");
  start_runs(1, "red");
  const std::vector<HeldJob> held = claim();
  ASSERT_EQ(held.size(), 3u);
  const auto may_begin = [this] { return store().limits().take_starts("model", {{"blue", 1}, {"red", 1}}); };
  EXPECT_EQ(may_begin(), (KeyCounts{{"blue", 1}, {"red", 1}}));
  const auto blue = std::find_if(held.begin(), held.end(), [](const HeldJob& job) { return job.key == "blue"; });
  ASSERT_NE(blue, held.end());
  end_step(*blue, used(99, 0));
  EXPECT_EQ(may_begin(), (KeyCounts{{"blue", 1}, {"red", 1}})) << "one is left";
  const auto other = std::find_if(std::next(blue), held.end(), [](const HeldJob& job) { return job.key == "blue"; });
  ASSERT_NE(other, held.end());
  end_step(*other, used(1, 0));
  EXPECT_EQ(may_begin(), (KeyCounts{{"red", 1}})) << "blue has used what it had";
}

TEST_P(UnitBudgetsTest, a_step_that_runs_while_the_key_of_its_queue_changes_counts_for_the_new_one) {
  set({.name = "model", .key = "tag.team", .key_budgets = {{tokens, Per::month, 100}}});
  start_runs(1, "blue");
  const std::vector<HeldJob> held = claim();
  ASSERT_EQ(held.size(), 1u);
  set({.name = "model", .key = "tag.none", .key_budgets = {{tokens, Per::month, 100}}});
  end_step(held[0], used(60, 0));
  const std::vector<KeyUnitUse> uses = store().limits().budget_uses("model", 9);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].key, "");
  EXPECT_EQ(uses[0].use.used, 60);
}

class UnitBudgetRowsTest : public UnitBudgetsTest {
 protected:
  // The window that was used up is moved by so much: it binds no more, and another one begins.
  void expect_begun_again(const std::string& moved) {
    set({.name = "model",
         .budgets = {thousand_a_month},
         .key = "tag.team",
         .key_budgets = {{tokens, Per::month, 9'000}}});
    start_runs(8);
    const std::vector<HeldJob> held = claim(1);
    ASSERT_FALSE(held.empty());
    end_step(held[0], used(2'000, 0));
    EXPECT_TRUE(claim(1).empty());
    EXPECT_EQ(store().limits().budget_uses("model", 9).size(), 1u);
    PgConnection({dsn(), "test", false}).execute("UPDATE cairn.budget_use SET since = since " + moved);
    EXPECT_TRUE(store().limits().budget_uses("model", 9).empty());
    EXPECT_EQ(used_now(thousand_a_month), 0);
    std::vector<HeldJob> more;  // a process that was held back looks again within a second
    ASSERT_TRUE(wait_until([&] { return !(more = claim(1)).empty(); }));
    end_step(more[0], used(7, 0));
    EXPECT_EQ(used_now(thousand_a_month), 7) << "the window is a new one";
  }
};

// Each permit is a row that a claim writes and another statement removes.
TEST_P(UnitBudgetRowsTest, only_reservations_and_places_take_permits) {
  const auto permits = [this] {
    return std::string(
        PgConnection({dsn(), "test", false}).ask("SELECT count(*) FROM cairn.permit", never_us)->text(0, 0));
  };
  set({.name = "model", .budgets = {thousand_a_month}});
  start_runs(1);
  ASSERT_EQ(claim().size(), 1u);
  EXPECT_EQ(permits(), "0");
  set({.name = "model", .budgets = {thousand_a_month}, .reserves = {{tokens, 1}}});
  EXPECT_EQ(permits(), "1") << "the one that is held already reserves as well";
  start_runs(1);
  ASSERT_EQ(claim().size(), 1u);
  EXPECT_EQ(permits(), "2");
}

TEST_P(UnitBudgetRowsTest, a_window_that_has_ended_counts_no_more) { expect_begun_again("- 1"); }

TEST_P(UnitBudgetRowsTest, a_window_that_a_clock_which_was_ahead_has_counted_is_begun_again) {
  expect_begun_again("+ 31536000000000");
}

TEST_P(UnitBudgetsTest, each_key_has_its_own_within_those_of_the_queue) {
  set({.name = "model",
       .budgets = {{cost, Per::month, 3'000'000}},
       .reserves = {{cost, 500'000}},
       .key = "tag.team",
       .key_budgets = {{cost, Per::month, 1'000'000}}});
  start_runs(4, "red");
  start_runs(4, "blue");
  start_runs(1);
  std::map<std::string, int> begun;
  const std::vector<HeldJob> held = claim();
  for (const HeldJob& job : held) ++begun[runs_.at(job.run).row.tags["team"]];
  EXPECT_EQ(begun, (std::map<std::string, int>{{"", 1}, {"red", 2}, {"blue", 2}}));
  for (const HeldJob& job : held) {
    const bool is_red = runs_.at(job.run).row.tags["team"] == "red";
    end_step(job, used(0, 0, is_red ? 0.75 : 0.1));
  }
  begun.clear();
  for (const HeldJob& job : claim()) ++begun[runs_.at(job.run).row.tags["team"]];
  EXPECT_EQ(begun, (std::map<std::string, int>{{"blue", 1}}))
      << "red used 1.5 of 1, blue 0.2: 0.5 more once, 1.8 in all";
  const std::vector<KeyUnitUse> most = store().limits().budget_uses("model", 2);
  ASSERT_EQ(most.size(), 2u);
  EXPECT_EQ(most[0].key, "red");
  EXPECT_EQ(most[0].use.used, 1'500'000);
  EXPECT_EQ(most[1].key, "blue");
}

TEST_P(UnitBudgetsTest, all_calls_of_a_commit_count_and_nothing_that_is_no_number) {
  set({.name = "model", .budgets = {thousand_a_month, {cost, Per::day, 5'000'000}}});
  start_runs(1);
  const std::vector<HeldJob> held = claim();
  ASSERT_EQ(held.size(), 1u);
  TestRun& run = runs_.at(held[0].run);
  Entry entry = run.entry();
  const EventRow first = entry.events[0];
  entry.events.clear();
  for (const Json& fact : {used(3, 4, 0.0000001), used(5, 6, 1.5),
                           Json{{"tokens_in", "many"}, {"tokens_out", -7}, {"cost", nullptr}}, Json::object()}) {
    entry.events.push_back(first);
    entry.events.back().seq = first.seq + std::ssize(entry.events) - 1;
    entry.events.back().type = static_cast<std::int16_t>(first_record + static_cast<int>(RecordKind::model_called));
    entry.events.back().step = held[0].job.step;
    entry.events.back().payload = canonical(fact);
  }
  entry.fences.push_back(fence_of(held[0]));
  entry.jobs = {drop(1)};
  ASSERT_EQ(run.commit(entry).kind, Kind::committed);
  EXPECT_EQ(used_now(thousand_a_month), 18);
  EXPECT_EQ(used_now({cost, Per::day, 1}), 1'500'001) << "less than a millionth counts as one";
}

TEST_P(UnitBudgetsTest, a_step_that_was_held_before_the_queue_had_a_budget_counts_too) {
  start_runs(2);
  const std::vector<HeldJob> held = claim();
  ASSERT_EQ(held.size(), 2u);
  set({.name = "model", .budgets = {thousand_a_month}, .key = "tag.team", .key_budgets = {thousand_a_month}});
  end_step(held[0], used(400, 0));
  EXPECT_EQ(used_now(thousand_a_month), 400);
  EXPECT_EQ(store().limits().budget_uses("model", 10).size(), 1u);
}

std::vector<StoreVariant> every_database() {
  std::vector<StoreVariant> stores = every_store();
  std::erase_if(stores, [](const StoreVariant& store) { return store.memory; });
  return stores;
}

INSTANTIATE_TEST_SUITE_P(Stores, UnitBudgetsTest, ::testing::ValuesIn(every_store()), name_of_store);
INSTANTIATE_TEST_SUITE_P(Databases, UnitBudgetRowsTest, ::testing::ValuesIn(every_database()), name_of_store);

}  // namespace
}  // namespace cairn
