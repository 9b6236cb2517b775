// The turns of keys: round robin by deficit.
#include "storage/limits/turns.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace cairn {
namespace {

KeyRing ring(std::vector<WaitingKey> keys, const KeyTurn& turn) {
  const auto first = std::find_if(keys.begin(), keys.end(), [&](const WaitingKey& one) { return one.key >= turn.key; });
  std::rotate(keys.begin(), first, keys.end());
  return {std::move(keys)};
}

TEST(Turns, each_key_has_one_job_in_a_turn_and_what_is_left_over_goes_round_again) {
  KeyTurn turn;
  EXPECT_EQ(take_turns({{{"a", 100, 100, 1}, {"b", 2, 100, 1}, {"c", 100, 100, 1}}}, 8, turn),
            (std::vector<KeyShare>{{"a", 3}, {"b", 2}, {"c", 3}}));
  EXPECT_EQ(take_turns(ring({{"a", 100, 100, 1}, {"c", 100, 100, 1}}, turn), 1, turn),
            (std::vector<KeyShare>{{"a", 1}}));
}

TEST(Turns, a_turn_that_is_cut_goes_on_with_the_next_claim) {
  const std::vector<WaitingKey> keys = {{"a", 100, 100, 3}, {"b", 100, 100, 1}};
  KeyTurn turn;
  std::string order;
  for (int claim = 0; claim < 8; ++claim)
    for (const KeyShare& share : take_turns(ring(keys, turn), 1, turn)) order += share.key;
  EXPECT_EQ(order, "aaabaaab") << "three of a for each of b, whatever a claim takes at once";
}

TEST(Turns, a_key_without_room_is_passed_by_and_loses_nothing_of_the_others) {
  KeyTurn turn;
  EXPECT_EQ(take_turns({{{"a", 100, 0, 5}, {"b", 4, 100, 1}, {"c", 1, 1, 9}}}, 10, turn),
            (std::vector<KeyShare>{{"b", 4}, {"c", 1}}));
  EXPECT_TRUE(take_turns({{{"a", 100, 0, 5}}}, 10, turn).empty());
  EXPECT_TRUE(take_turns({}, 10, turn).empty());
}

// One of 10,000 keys floods: another one waits for the turns of those that wait with it, not for the flood.
TEST(Turns, of_ten_thousand_keys_one_that_floods_has_one_job_in_each_round) {
  std::map<std::string, std::int64_t> waiting = {{"flood", 1'000'000}};
  for (int n = 0; n < 10'000; ++n) waiting["k" + std::to_string(n)] = 1;
  KeyTurn turn;
  std::int64_t claims = 0, of_flood = 0, others = 10'000;
  for (; others > 0 && claims < 1'000; ++claims) {
    KeyRing ring;
    for (auto at = waiting.lower_bound(turn.key); ring.keys.size() < 64 && ring.keys.size() < waiting.size(); ++at) {
      if (at == waiting.end()) at = waiting.begin();
      ring.keys.push_back({at->first, at->second, 1'000, 1});
    }
    ring.is_whole = ring.keys.size() == waiting.size();
    for (const KeyShare& share : take_turns(ring, 64, turn)) {
      (share.key == "flood" ? of_flood : others) += share.key == "flood" ? share.count : -share.count;
      if ((waiting[share.key] -= share.count) == 0) waiting.erase(share.key);
    }
  }
  EXPECT_EQ(others, 0);
  EXPECT_LE(of_flood, 2 + 64) << "a turn in each round, and at the end what no one else can take";
  EXPECT_LE(claims, 10'000 / 64 + 2) << "without the flood it is one less";
}

}  // namespace
}  // namespace cairn
