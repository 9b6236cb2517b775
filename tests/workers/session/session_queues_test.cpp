// The answers of a session's queues to a held branch that would go on there.
#include "workers/session/session_queues.hpp"

#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "tests/workers/session/times.hpp"

namespace cairn {
namespace {

constexpr TimeUs known_until = noon + second;
constexpr TimeUs turn_us = 250'000;

SessionQueues queues_with(const std::vector<QueueLimits>& limits) {
  SessionQueues queues({"default", "model"}, 1);
  queues.learn(limits, noon);
  return queues;
}

void claim_from(SessionQueues& queues, Shard shard, std::vector<NoOneWaits> no_one_waits, TimeUs until = known_until) {
  ClaimRequest request;
  request.shard = shard;
  request.queues = {"default", "model"};
  ClaimedBatch batch;
  batch.no_one_waits = std::move(no_one_waits);
  queues.claimed(request, batch, until);
}

const NoOneWaits for_place{.queue = "model", .for_place = true};
const NoOneWaits for_turn{.queue = "model", .for_turn = true};

bool may_go_on(SessionQueues queues, SessionQueues::Holder holder, TimeUs now_us = noon) {
  return queues.may_go_on("model", holder, now_us);
}

TEST(SessionQueues, without_limits_a_held_branch_goes_on) {
  const SessionQueues::Holder holder{.held_us = 60 * second, .is_short = true};
  EXPECT_TRUE(may_go_on(queues_with({}), holder));
  EXPECT_TRUE(may_go_on(queues_with({{.name = "model", .revision = 2}}), holder)) << "its limits are gone";
}

TEST(SessionQueues, where_places_may_be_wanted_a_held_branch_goes_on_for_its_turn) {
  SessionQueues queues = queues_with({{.name = "model", .concurrency = 2}});
  EXPECT_TRUE(may_go_on(queues, {.held_us = turn_us - 1}));
  EXPECT_FALSE(may_go_on(queues, {.held_us = turn_us}));
  claim_from(queues, 0, {for_place});
  EXPECT_TRUE(may_go_on(queues, {.shard = 1, .held_us = turn_us})) << "places are those of all shards";
  EXPECT_TRUE(may_go_on(queues, {.held_us = turn_us}, known_until - 1));
  EXPECT_FALSE(may_go_on(queues, {.held_us = turn_us}, known_until));
  claim_from(queues, 1, {});
  EXPECT_FALSE(may_go_on(queues, {.held_us = turn_us})) << "another claim has found none left";
}

TEST(SessionQueues, where_starts_are_short_no_branch_goes_on) {
  const SessionQueues queues = queues_with({{.name = "model", .rate = StartRate{5, second, 5}}});
  EXPECT_TRUE(may_go_on(queues, {.held_us = 60 * second}));
  EXPECT_FALSE(may_go_on(queues, {.is_short = true}));
}

TEST(SessionQueues, where_turns_are_counted_a_held_branch_goes_on_while_only_jobs_of_its_own_key_wait) {
  SessionQueues queues = queues_with({{.name = "model", .key = "tag.customer"}});
  const TimeUs now_us = noon + 1;
  EXPECT_FALSE(may_go_on(queues, {.key = "acme"}, now_us)) << "nothing is known";
  claim_from(queues, 0, {{.queue = "model", .but_of = "acme"}});
  EXPECT_TRUE(may_go_on(queues, {.key = "acme"}, now_us));
  EXPECT_FALSE(may_go_on(queues, {.key = "tiny"}, now_us)) << "it is the turn of acme";
  EXPECT_FALSE(may_go_on(queues, {.key = "acme"}, known_until));
  claim_from(queues, 0, {for_turn});
  EXPECT_TRUE(may_go_on(queues, {.key = "tiny"}, now_us)) << "no one waits";
  EXPECT_FALSE(may_go_on(queues, {.key = "tiny", .may_miss_home = true}, now_us));
  claim_from(queues, 0, {});
  EXPECT_FALSE(may_go_on(queues, {.key = "acme"}, now_us));
}

// A job of the same key that has waited for long goes first.
TEST(SessionQueues, where_turns_and_waiting_count_a_held_branch_goes_on_for_its_time_while_its_own_key_waits) {
  SessionQueues queues = queues_with({{.name = "model", .ageing_us = second, .key = "tag.customer"}});
  const TimeUs now_us = noon + turn_us + 1;
  claim_from(queues, 0, {{.queue = "model", .but_of = "acme"}});
  EXPECT_TRUE(may_go_on(queues, {.key = "acme", .held_us = turn_us - 1}, now_us));
  EXPECT_FALSE(may_go_on(queues, {.key = "acme", .held_us = turn_us}, now_us));
  claim_from(queues, 0, {for_turn});
  EXPECT_TRUE(may_go_on(queues, {.key = "acme", .held_us = turn_us}, now_us)) << "no one waits";
}

TEST(SessionQueues, a_branch_that_was_claimed_by_another_key_of_its_queue_is_claimed_again) {
  SessionQueues queues = queues_with({{.name = "model", .key = "tag.customer"}});
  claim_from(queues, 0, {for_turn});
  EXPECT_TRUE(queues.learn({{.name = "model", .key = "tag.city"}}, noon + second));
  EXPECT_TRUE(queues.must_be_claimed("model", second, noon + 2 * second));
  EXPECT_FALSE(may_go_on(queues, {.held_us = 1}, noon + second + 2)) << "what a claim saw was of other keys";
  claim_from(queues, 0, {for_turn}, noon + 3 * second);
  EXPECT_TRUE(may_go_on(queues, {.held_us = 1}, noon + second + 2));
}

TEST(SessionQueues, where_turns_and_places_are_counted_a_place_is_given_back_after_its_turn) {
  SessionQueues queues = queues_with({{.name = "model", .key = "tag.customer", .key_concurrency = 1}});
  const TimeUs now_us = noon + turn_us + 1;
  claim_from(queues, 0, {for_turn});
  EXPECT_TRUE(may_go_on(queues, {.held_us = turn_us - 1}, now_us));
  EXPECT_FALSE(may_go_on(queues, {.held_us = turn_us}, now_us));
}

TEST(SessionQueues,
     where_waiting_counts_a_held_branch_goes_on_for_its_turn_and_longer_while_no_one_waits_in_its_shard) {
  SessionQueues queues = queues_with({{.name = "model", .ageing_us = second}});
  EXPECT_TRUE(may_go_on(queues, {.shard = 1, .held_us = turn_us - 1}));
  EXPECT_FALSE(may_go_on(queues, {.shard = 1, .held_us = turn_us}));
  claim_from(queues, 1, {for_turn});
  EXPECT_TRUE(may_go_on(queues, {.shard = 1, .held_us = turn_us}));
  EXPECT_FALSE(may_go_on(queues, {.shard = 2, .held_us = turn_us}));
}

TEST(SessionQueues, where_waiting_counts_for_long_a_held_branch_goes_on_for_a_hundredth_of_it_and_ten_seconds_at_most) {
  SessionQueues queues = queues_with({{.name = "model", .ageing_us = 100 * second}});
  EXPECT_TRUE(may_go_on(queues, {.held_us = second - 1}));
  EXPECT_FALSE(may_go_on(queues, {.held_us = second}));
  queues.learn({{.name = "model", .ageing_us = 86'400 * second}}, noon);
  EXPECT_TRUE(may_go_on(queues, {.held_us = 10 * second - 1}));
  EXPECT_FALSE(may_go_on(queues, {.held_us = 10 * second}));
}

TEST(SessionQueues, with_budgets_only_a_branch_goes_on_that_was_claimed_after_they_were_known) {
  const QueueLimits limits{.name = "model", .budgets = {{BudgetUnit::tokens, BudgetWindow::day, 100}}};
  SessionQueues queues = queues_with({limits});
  queues.learn({limits}, noon + second);
  EXPECT_FALSE(may_go_on(queues, {.held_us = 2 * second}, noon + 2 * second));
  EXPECT_TRUE(queues.must_be_claimed("model", 2 * second, noon + 2 * second));
  EXPECT_TRUE(may_go_on(queues, {.held_us = 2 * second - 1}, noon + 2 * second));
  queues.learn({}, noon + 3 * second);
  EXPECT_FALSE(queues.must_be_claimed("model", 4 * second, noon + 4 * second));
  queues.learn({limits}, noon + 5 * second);
  EXPECT_TRUE(queues.must_be_claimed("model", second, noon + 5 * second)) << "they are others than the first ones";
}

TEST(SessionQueues, where_each_step_is_claimed_no_branch_goes_on) {
  SessionQueues queues = queues_with({{.name = "model", .paused = true}});
  claim_from(queues, 0, {for_place, for_turn});
  EXPECT_FALSE(may_go_on(queues, {}));
  EXPECT_TRUE(queues.must_be_claimed("model", 0, noon));
}

TEST(SessionQueues, are_others_only_if_branches_go_on_otherwise_there) {
  SessionQueues queues = queues_with({{.name = "model", .concurrency = 1}});
  EXPECT_FALSE(queues.learn({{.name = "model", .concurrency = 2}}, noon));
  EXPECT_TRUE(queues.learn({{.name = "model", .rate = StartRate{5, second, 5}}}, noon));
  EXPECT_TRUE(queues.learn({}, noon));
  EXPECT_FALSE(queues.learn({}, noon));
}

TEST(SessionQueues, that_are_served_come_with_how_a_branch_goes_on_there) {
  const SessionQueues queues = queues_with({{.name = "model", .concurrency = 1}, {.name = "other", .paused = true}});
  EXPECT_EQ(queues.served_queues(), (ServedQueues{{"default", GoesOn::open}, {"model", GoesOn::freely}}));
}

}  // namespace
}  // namespace cairn
