#include "workers/gateway/ask_lines.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

constexpr TimeUs poll_us = 250'000;
const AskLines::Queues py = {"py"};
const auto any = [](AskId) { return true; };

AskLines lines_with(std::initializer_list<AskId> asks) {
  AskLines lines(2, poll_us);
  lines.tick(1);
  for (const AskId ask : asks) lines.join(py, {.ask = ask, .until = 1'000'000});
  return lines;
}

std::vector<std::pair<AskId, Shard>> next_of(AskLines& lines, const std::function<bool(AskId)>& may = any) {
  std::vector<std::pair<AskId, Shard>> claims;
  for (const AskLines::Claiming& one : lines.next_claims(may)) claims.emplace_back(one.ask, one.shard);
  return claims;
}

using Claims = std::vector<std::pair<AskId, Shard>>;

TEST(AskLines, the_first_claim_first_and_one_at_a_time_from_each_shard) {
  AskLines lines = lines_with({1, 2, 3});
  EXPECT_EQ(next_of(lines), (Claims{{1, 0}, {2, 1}}));
  EXPECT_TRUE(next_of(lines).empty());
}

TEST(AskLines, a_full_claim_says_that_there_may_be_more) {
  AskLines lines = lines_with({1, 2, 3});
  next_of(lines);
  lines.claimed(py, 1, false);
  EXPECT_TRUE(next_of(lines).empty());
  lines.claimed(py, 0, true);
  EXPECT_EQ(next_of(lines), (Claims{{3, 0}}));
}

TEST(AskLines, an_offer_in_its_queue_or_the_next_poll_lets_it_claim_again) {
  AskLines lines = lines_with({1, 2});
  next_of(lines);
  lines.claimed(py, 0, false);
  lines.claimed(py, 1, false);
  lines.join(py, {.ask = 1, .until = 1'000'000, .waits_first_time = false});
  lines.offered("js");
  EXPECT_TRUE(next_of(lines).empty());
  lines.offered("py");
  EXPECT_EQ(next_of(lines), (Claims{{1, 0}}));
  lines.claimed(py, 0, false);
  lines.join(py, {.ask = 2, .until = 1'000'000, .waits_first_time = false});
  EXPECT_EQ(next_of(lines), (Claims{{2, 1}})) << "the other shard was offered something as well";
  lines.claimed(py, 1, false);
  lines.join(py, {.ask = 3, .until = 1'000'000, .waits_first_time = false});
  EXPECT_TRUE(next_of(lines).empty());
  lines.tick(lines.due_us());
  EXPECT_EQ(next_of(lines).size(), 1u);
}

TEST(AskLines, one_that_can_take_nothing_keeps_its_place_and_lets_others_by) {
  AskLines lines = lines_with({1, 2});
  EXPECT_EQ(next_of(lines, [](AskId ask) { return ask != 1; }), (Claims{{2, 0}}));
  EXPECT_EQ(next_of(lines), (Claims{{1, 1}}));
}

TEST(AskLines, overdue_are_those_past_their_time_and_once_those_with_something_to_answer) {
  AskLines lines = lines_with({1});
  lines.join(py, {.ask = 2, .until = 1'000'000, .has_something = true});
  EXPECT_EQ(lines.overdue(), std::vector<AskId>{2});
  EXPECT_TRUE(lines.overdue().empty());
  lines.hurry(1);
  EXPECT_LE(lines.due_us(), 1);
  EXPECT_EQ(lines.overdue(), std::vector<AskId>{1});
  lines.leave(1);
  EXPECT_TRUE(lines.overdue().empty());
  lines.tick(1'000'000);
  EXPECT_EQ(lines.overdue(), std::vector<AskId>{2});
}

TEST(AskLines, a_line_is_kept_as_long_as_a_claim_is_under_way) {
  AskLines lines = lines_with({1});
  next_of(lines);
  lines.forget_empty();
  lines.claimed(py, 0, true);
  lines.forget_empty();
  EXPECT_EQ(lines.due_us(), never_us);
}

}  // namespace
}  // namespace cairn
