// The turns of queues with keys, as a session decides whether a held branch may take the next one.
#include "workers/session/queue_turns.hpp"

#include <gtest/gtest.h>

#include "tests/workers/session/times.hpp"

namespace cairn {
namespace {

using Free = QueueTurns::Free;

constexpr std::int32_t two_shards = 2;
constexpr TimeUs ask_pause_us = QueueTurns::ask_pause_us;
constexpr TimeUs seen_until = noon + second;

class QueueTurnsTest : public ::testing::Test {
 protected:
  QueueTurnsTest() { turns_.begin("model", "tag.customer"); }
  // A claim that left no job there, or those of one key alone.
  void claim_leaves(Shard shard, const std::optional<std::string>& key) {
    turns_.claimed("model", shard);
    turns_.seen({.queue = "model", .for_turn = !key, .but_of = key}, shard, seen_until);
  }
  Free free_for(const std::string& key, TimeUs now_us = noon) { return turns_.free_for("model", 0, key, now_us); }
  // The questions after a notification; branches of acme go on meanwhile.
  std::vector<AskForOthers> heard(TimeUs now_us) {
    (void)free_for("acme", now_us);
    turns_.notified();
    return turns_.asks(now_us, 0);
  }

  QueueTurns turns_{two_shards};
};

TEST_F(QueueTurnsTest, are_free_only_when_each_shard_was_claimed_from_and_no_other_key_waits_there) {
  claim_leaves(0, "acme");
  EXPECT_EQ(free_for("acme"), Free::no) << "a flood fills the slots by the first shard; others may wait in the second";
  claim_leaves(1, "tiny");
  EXPECT_EQ(free_for("acme"), Free::no);
  claim_leaves(1, {});
  EXPECT_EQ(free_for("acme"), Free::of_its_key);
  EXPECT_EQ(free_for("tiny"), Free::no);
  EXPECT_EQ(free_for("acme", seen_until), Free::no);
  claim_leaves(0, {});
  EXPECT_EQ(free_for("tiny"), Free::yes);
  turns_.claimed("model", 1);
  EXPECT_EQ(free_for("tiny"), Free::no) << "it may have left others";
}

TEST_F(QueueTurnsTest, of_a_queue_with_another_key_or_none_nothing_is_known) {
  claim_leaves(0, {});
  claim_leaves(1, {});
  turns_.begin("model", "tag.city");
  EXPECT_EQ(free_for("acme"), Free::no);
  claim_leaves(0, {});
  turns_.end("model");
  EXPECT_EQ(free_for("acme"), Free::no);
}

TEST_F(QueueTurnsTest, a_notification_is_answered_by_one_question_for_each_shard_while_branches_go_on) {
  claim_leaves(0, "acme");
  claim_leaves(1, {});
  turns_.notified();
  EXPECT_TRUE(turns_.asks(noon, 0).empty()) << "no branch goes on";
  std::vector<AskForOthers> asks = heard(noon);
  ASSERT_EQ(asks.size(), 2u);
  EXPECT_EQ(asks[0].but_of, "acme");
  EXPECT_EQ(asks[1].shard, 1);
  EXPECT_EQ(asks[1].but_of, std::nullopt);
  EXPECT_TRUE(heard(noon + second / 2).empty()) << "the answers are on their way";
  for (const AskForOthers& ask : asks) turns_.answered(ask, noon + 1, seen_until + second);
  EXPECT_EQ(free_for("acme", seen_until), Free::of_its_key) << "no one else waits still";
  EXPECT_EQ(turns_.ask_due_us(0), noon + 1 + ask_pause_us);
  EXPECT_TRUE(turns_.asks(noon + ask_pause_us, 0).empty());
  EXPECT_TRUE(turns_.asks(noon + 1 + ask_pause_us, 5 * ask_pause_us).empty()) << "many sessions ask seldom";
  asks = turns_.asks(noon + 1 + ask_pause_us, 0);
  ASSERT_EQ(asks.size(), 2u);
  asks[1].answer = true;
  turns_.answered(asks[1], noon + 2 * ask_pause_us, seen_until);
  EXPECT_EQ(free_for("acme"), Free::no);
  turns_.notified();
  EXPECT_EQ(turns_.asks(noon + second / 2, 0).size(), 0u) << "a claim comes before it is asked again";
}

TEST_F(QueueTurnsTest, a_question_that_failed_is_put_again_and_one_that_took_long_seldom) {
  claim_leaves(0, "acme");
  claim_leaves(1, {});
  const std::vector<AskForOthers> asks = heard(noon);
  ASSERT_EQ(asks.size(), 2u);
  turns_.failed(asks[0]);
  turns_.answered(asks[1], noon + ask_pause_us, seen_until);
  (void)free_for("acme");
  EXPECT_EQ(turns_.asks(noon + ask_pause_us, 0).size(), 1u);
  EXPECT_TRUE(heard(noon + 20 * ask_pause_us).empty()) << "a twentieth of the time";
  EXPECT_EQ(heard(noon + 21 * ask_pause_us).size(), 1u);
}

TEST_F(QueueTurnsTest, of_a_queue_without_keys_no_question_is_put) {
  turns_.begin("model", "");
  claim_leaves(0, {});
  EXPECT_EQ(free_for(""), Free::yes) << "of its own shard alone";
  EXPECT_TRUE(heard(noon).empty());
}

}  // namespace
}  // namespace cairn
