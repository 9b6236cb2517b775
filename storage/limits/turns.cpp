#include "storage/limits/turns.hpp"

#include <algorithm>

namespace cairn {
namespace {

// The place right after the key: no other key comes between them.
std::string place_after(const std::string& key) { return key + '\x01'; }

}  // namespace

std::vector<KeyShare> take_turns(const KeyRing& ring, std::int64_t limit, KeyTurn& turn) {
  const std::vector<WaitingKey>& keys = ring.keys;
  std::vector<KeyShare> shares;
  for (const WaitingKey& one : keys) shares.push_back({one.key, 0});
  std::int64_t served = !keys.empty() && keys.front().key == turn.key ? turn.served : 0;
  std::size_t passed = 0;  // keys in a row of which nothing could be taken
  for (std::size_t visits = 0; limit > 0 && passed < keys.size(); ++visits) {
    if (!ring.is_whole && visits == keys.size()) break;
    const std::size_t at = visits % keys.size();
    const WaitingKey& one = keys[at];
    const std::int64_t left = std::min(one.waiting, one.room) - shares[at].count;
    const std::int64_t count = std::clamp<std::int64_t>(std::min(left, one.weight - served), 0, limit);
    shares[at].count += count;
    limit -= count;
    served += count;
    passed = count > 0 ? 0 : passed + 1;
    const bool goes_on = limit == 0 && served < one.weight && count < left;
    turn = goes_on ? KeyTurn{one.key, served} : KeyTurn{place_after(one.key), 0};
    served = 0;
  }
  std::erase_if(shares, [](const KeyShare& share) { return share.count == 0; });
  return shares;
}

}  // namespace cairn
