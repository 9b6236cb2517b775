// The limits of queues as a process knows them from its claims, by a clock that the test moves.
#include "storage/postgres/claims/known_limits.hpp"

#include <gtest/gtest.h>

#include "storage/postgres/claims/key_plan.hpp"
#include "storage/postgres/claims/queue_rotation.hpp"

namespace cairn {
namespace {

using Names = std::vector<std::string>;

constexpr TimeUs noted_at_us = 5'000'000'000;  // by the database's clock

const QueueLimits few{.name = "few", .concurrency = 2};
const QueueLimits paced{.name = "paced", .rate = StartRate{1, 10'000'000, 1}};
const QueueLimits fair{.name = "fair", .key = "tag.tenant"};

class KnownLimitsTest : public ::testing::Test {
 protected:
  KnownLimitsTest() {
    known_.on_held_back([this](TimeUs at_us) { woken_at_us_ = at_us; });
  }
  KnownLimits::Split split() { return known_.split({.queues = {"default", "few"}, .only_runs = {}, .not_of = {}}); }
  // A claim of a queue whose rate lets one job begin, and which took it.
  void claim_paced() {
    const ClaimRooms rooms{.limits = {{"paced", paced}},
                           .uses = {},
                           .left = {{"paced", room_of(paced, {}, noted_at_us)}},
                           .now_us = noted_at_us};
    HeldJob held;
    held.job.queue = "paced";
    known_.record({"paced"}, rooms, {held});
  }

  TimeUs clock_us_ = 77'000'000;
  TimeUs woken_at_us_ = 0;
  KnownLimits known_{[this] { return clock_us_; }};
};

TEST_F(KnownLimitsTest, queues_that_were_limited_are_split_off_and_the_two_kinds_take_turns_at_being_first) {
  EXPECT_EQ(split().unlimited.queues, (Names{"default", "few"}));
  EXPECT_TRUE(split().limited.queues.empty());
  known_.record({"default", "few"}, {few});
  const KnownLimits::Split one = split(), next = split();
  EXPECT_EQ(one.unlimited.queues, Names{"default"});
  EXPECT_EQ(one.limited.queues, Names{"few"});
  EXPECT_NE(one.limited_first, next.limited_first);
  known_.record({"few"}, std::vector<QueueLimits>{});
  EXPECT_EQ(split().unlimited.queues, (Names{"default", "few"})) << "its limit was taken away";
}

TEST_F(KnownLimitsTest, each_kind_of_limit_has_its_statement) {
  known_.record({"few", "paced", "fair"}, {few, paced, fair});
  const KnownLimits::Kinds kinds = known_.kinds_of({"fair", "paced", "few"});
  EXPECT_EQ(kinds.counted, Names{"few"});
  EXPECT_EQ(kinds.governed, Names{"paced"});
  EXPECT_EQ(kinds.keyed, Names{"fair"});
}

TEST_F(KnownLimitsTest, a_queue_whose_rate_is_used_up_is_left_alone_for_a_second_at_most_and_then_claims_are_woken) {
  claim_paced();
  EXPECT_EQ(woken_at_us_, clock_us_ + 1'000'000) << "its next start is in ten, but its limits may change";
  EXPECT_TRUE(known_.kinds_of({"paced"}).governed.empty());
  EXPECT_TRUE(known_.kinds_of({"paced"}).counted.empty());
  clock_us_ += 1'000'000;
  EXPECT_EQ(known_.kinds_of({"paced"}).governed, Names{"paced"});
}

TEST_F(KnownLimitsTest, a_queue_whose_limits_were_changed_is_not_held_back) {
  claim_paced();
  known_.limits_changed("paced");
  EXPECT_EQ(known_.kinds_of({"paced"}).governed, Names{"paced"});
}

TEST_F(KnownLimitsTest, permits_are_looked_at_with_the_first_claim_of_a_queue_and_then_four_times_a_second) {
  EXPECT_TRUE(known_.is_time_to_retire({"few"}));
  EXPECT_FALSE(known_.is_time_to_retire({"few"}));
  EXPECT_TRUE(known_.is_time_to_retire({"few", "narrow"})) << "of one of them never";
  clock_us_ += 249'999;
  EXPECT_FALSE(known_.is_time_to_retire({"few", "narrow"}));
  clock_us_ += 1;
  EXPECT_TRUE(known_.is_time_to_retire({"few"}));
}

TEST(QueueRotation, each_claim_begins_with_another_queue) {
  QueueRotation rotation;
  EXPECT_EQ(rotation.turned({"a", "b", "c"}), (Names{"a", "b", "c"}));
  EXPECT_EQ(rotation.turned({"a", "b", "c"}), (Names{"b", "c", "a"}));
  EXPECT_EQ(rotation.turned({"a", "b", "c"}), (Names{"c", "a", "b"}));
  EXPECT_EQ(rotation.turned({"a"}), Names{"a"});
}

TEST(KeyPlan, claims_are_woken_for_the_first_key_that_waits_for_its_rate_alone) {
  KeyPlan plan{.queue = "fair", .limits = fair, .now_us = noted_at_us};
  plan.limits.key_rate = StartRate{1, 10'000'000, 1};
  for (const char* key : {"a", "b"}) plan.rooms[key] = room_of(plan.limits.of_key(), {}, noted_at_us);
  plan.ring.keys = {{"a", 1, 1, 1}, {"b", 7, 1, 1}};
  EXPECT_EQ(wait_of(plan, {{"a", 1}}), std::nullopt) << "a has no more jobs, and b has room";
  EXPECT_EQ(wait_of(plan, {{"a", 1}, {"b", 1}}), 10'000'000);
}

}  // namespace
}  // namespace cairn
