#include "storage/limits/queue_room.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "storage/limits/turns.hpp"

namespace cairn {

QueueRoom room_of(const QueueLimits& limits, const QueueUse& use, TimeUs now_us) {
  QueueRoom room;
  room.free = std::numeric_limits<std::int32_t>::max();
  if (limits.concurrency) room.free = *limits.concurrency - use.held;
  for (const UnitBudget& budget : limits.budgets) {
    const std::int64_t used = used_of(budget, use.budgets, now_us);
    room.free = std::min(room.free, free_steps(budget, limits.reserves, used, use.held));
    if (!is_used_up(budget, limits.reserves, used)) continue;
    const TimeUs end_us = window_end(budget.per, now_us);
    room.used_up_until = std::max(room.used_up_until.value_or(end_us), end_us);
  }
  if (limits.rate) {
    room.full_at = counted_full_at(*limits.rate, use.full_at.value_or(now_us), now_us);
    room.pace_us = interval_us(*limits.rate);
    const std::int64_t starts = free_starts(*limits.rate, room.full_at, now_us);
    room.is_rate_least = starts <= room.free;
    room.free = std::min(room.free, starts);
  }
  if (limits.paused || !limits.is_understood) room.free = 0;
  room.free = std::max<std::int64_t>(room.free, 0);  // a limit that was lowered may leave less than nothing
  CHECK(!limits.concurrency || room.free <= std::max<std::int64_t>(*limits.concurrency - use.held, 0));
  return room;
}

QueueRoom room_of_held(QueueLimits limits, const QueueUse& use, TimeUs now_us) {
  if (limits.goes_on() == GoesOn::never) return {};
  limits.concurrency.reset();
  return room_of(limits, use, now_us);
}

KeyCounts held_starts(const QueueLimits& limits, const KeyCounts& asked, const QueueUse& use,
                      const std::map<std::string, QueueUse>& key_uses, TimeUs now_us) {
  const auto room_beside = [now_us](const QueueLimits& of, QueueUse used, std::int64_t count) {
    used.held = std::max<std::int64_t>(used.held - count, 0);  // what these reserve goes on
    return room_of_held(of, used, now_us).free;
  };
  KeyRing ring;
  std::int64_t all = 0;
  for (const auto& [key, count] : asked) {
    const auto used = key_uses.find(key);
    const QueueUse of_key = used == key_uses.end() ? QueueUse{} : used->second;
    const auto weight = limits.weights.find(key);
    ring.keys.push_back(
        {key, count, room_beside(limits.of_key(), of_key, count), weight == limits.weights.end() ? 1 : weight->second});
    all += count;
  }
  KeyTurn from_first;
  KeyCounts counts;
  const std::int64_t room = std::min(all, room_beside(limits, use, all));
  for (const KeyShare& share : take_turns(ring, room, from_first)) counts[share.key] = share.count;
  return counts;
}

std::vector<KeyUnitUse> most_used(const std::map<std::string, QueueUse>& keys, std::int32_t limit, TimeUs now_us) {
  std::vector<KeyUnitUse> uses;
  for (const auto& [key, use] : keys)
    for (const UnitUse& of : use.budgets)
      if (of.since >= window_start(of.per, now_us)) uses.push_back({key, of});
  const auto rank = [](const KeyUnitUse& one) { return std::tuple(one.use.unit, one.use.per, -one.use.used, one.key); };
  std::sort(uses.begin(), uses.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::int32_t place = 0;
  std::pair<BudgetUnit, BudgetWindow> of{};
  std::erase_if(uses, [&](const KeyUnitUse& one) {
    const std::pair now(one.use.unit, one.use.per);
    place = now == of ? place + 1 : 1;
    of = now;
    return place > limit;
  });
  return uses;
}

std::optional<TimeUs> held_back_until(const QueueLimits& limits, const QueueRoom& room, std::int64_t claimed,
                                      TimeUs now_us) {
  CHECK(claimed <= room.free);  // pairs with room_of(): a claim takes no more than was left
  if (limits.paused || !limits.is_understood || claimed < room.free) return std::nullopt;
  if (!room.is_rate_least) return room.used_up_until;
  const TimeUs next = next_start_at(*limits.rate, room.full_at + claimed * room.pace_us, now_us);
  return std::max(next, room.used_up_until.value_or(next));
}

}  // namespace cairn
