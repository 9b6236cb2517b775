// The starts of kept steps in queues with a rate, as the session's part decides them.
#include "workers/session/paced_starts.hpp"

#include <gtest/gtest.h>

#include "tests/workers/session/times.hpp"

namespace cairn {
namespace {

Pool::Start kept(Pool::Slot slot, const std::string& queue, const std::string& key = "") {
  Pool::Start start{.slot = slot, .job = {}, .is_kept = true};
  start.job.job.queue = queue;
  start.job.key = key;
  return start;
}

std::vector<Pool::Slot> slots_of(const std::vector<Pool::Start>& starts) {
  std::vector<Pool::Slot> slots;
  for (const Pool::Start& start : starts) slots.push_back(start.slot);
  return slots;
}

using Slots = std::vector<Pool::Slot>;

TEST(PacedStarts, only_kept_steps_of_queues_with_a_rate_wait) {
  PacedStarts paced;
  paced.set_queues({{"model", GoesOn::paced}});
  EXPECT_TRUE(paced.must_wait(kept(1, "model")));
  EXPECT_FALSE(paced.must_wait(kept(1, "default")));
  Pool::Start claimed = kept(1, "model");
  claimed.is_kept = false;
  EXPECT_FALSE(paced.must_wait(claimed)) << "the claim took its start";
  EXPECT_FALSE(paced.is_short("model", ""));
}

TEST(PacedStarts, those_that_wait_are_asked_for_together_and_those_that_come_meanwhile_with_the_next_call) {
  PacedStarts paced;
  paced.set_queues({{"model", GoesOn::paced}, {"tool", GoesOn::paced}});
  for (const Pool::Slot slot : Slots{1, 2}) paced.wait(kept(slot, "model"));
  paced.wait(kept(3, "tool"));
  std::vector<TakeStarts> calls = paced.drain_calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].queue, "model");
  EXPECT_EQ(calls[0].asked, (KeyCounts{{"", 2}}));
  EXPECT_EQ(calls[1].asked, (KeyCounts{{"", 1}}));
  paced.wait(kept(4, "model"));
  EXPECT_TRUE(paced.drain_calls().empty()) << "one call of a queue at a time";
  calls[0].answer = {{"", 2}};
  const PacedStarts::Outcome outcome = paced.taken(calls[0]);
  EXPECT_EQ(slots_of(outcome.begin), (Slots{1, 2}));
  EXPECT_TRUE(outcome.give_back.empty());
  const std::vector<TakeStarts> next = paced.drain_calls();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].asked, (KeyCounts{{"", 1}}));
  EXPECT_FALSE(paced.is_short("model", ""));
}

TEST(PacedStarts, what_a_rate_leaves_no_room_for_is_given_back_and_nothing_is_kept_there_for_a_second) {
  PacedStarts paced;
  paced.tick(second);
  paced.set_queues({{"model", GoesOn::paced}});
  for (const Pool::Slot slot : Slots{1, 2, 3}) paced.wait(kept(slot, "model"));
  TakeStarts call = paced.drain_calls().at(0);
  call.answer = {{"", 1}};
  const PacedStarts::Outcome outcome = paced.taken(call);
  EXPECT_EQ(slots_of(outcome.begin), Slots{1});
  EXPECT_EQ(slots_of(outcome.give_back), (Slots{2, 3}));
  EXPECT_TRUE(paced.is_short("model", ""));
  paced.tick(2 * second);
  EXPECT_FALSE(paced.is_short("model", ""));
}

TEST(PacedStarts, in_a_queue_with_keys_each_key_has_its_own_starts_and_its_own_shortage) {
  PacedStarts paced;
  paced.set_queues({{"model", GoesOn::paced}});
  paced.wait(kept(1, "model", "acme"));
  paced.wait(kept(2, "model", "tiny"));
  paced.wait(kept(3, "model", "acme"));
  TakeStarts call = paced.drain_calls().at(0);
  EXPECT_EQ(call.asked, (KeyCounts{{"acme", 2}, {"tiny", 1}}));
  call.answer = {{"acme", 1}, {"tiny", 1}};
  const PacedStarts::Outcome outcome = paced.taken(call);
  EXPECT_EQ(slots_of(outcome.begin), (Slots{1, 2}));
  EXPECT_EQ(slots_of(outcome.give_back), Slots{3});
  EXPECT_TRUE(paced.is_short("model", "acme"));
  EXPECT_FALSE(paced.is_short("model", "tiny"));
}

TEST(PacedStarts, of_a_call_that_failed_nothing_begins) {
  PacedStarts paced;
  paced.set_queues({{"model", GoesOn::paced}});
  paced.wait(kept(1, "model"));
  const PacedStarts::Outcome outcome = paced.failed(paced.drain_calls().at(0));
  EXPECT_TRUE(outcome.begin.empty());
  EXPECT_EQ(slots_of(outcome.give_back), Slots{1});
  EXPECT_FALSE(paced.is_short("model", ""));
  EXPECT_TRUE(paced.drain_calls().empty());
}

TEST(PacedStarts, a_queue_that_lost_its_rate_meanwhile_answers_for_those_that_wait) {
  PacedStarts paced;
  paced.set_queues({{"model", GoesOn::paced}});
  paced.wait(kept(1, "model"));
  TakeStarts call = paced.drain_calls().at(0);
  paced.set_queues({});
  call.answer = {{"", 1}};
  EXPECT_EQ(slots_of(paced.taken(call).begin), Slots{1});
}

}  // namespace
}  // namespace cairn
