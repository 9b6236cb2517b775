#include "storage/limits/queue_room.hpp"

#include <algorithm>
#include <limits>

namespace cairn {

QueueRoom room_of(const QueueLimits& limits, const QueueUse& use, TimeUs now_us) {
  QueueRoom room;
  room.free = std::numeric_limits<std::int32_t>::max();
  if (limits.concurrency) room.free = *limits.concurrency - use.held;
  if (limits.rate) {
    room.full_at = counted_full_at(*limits.rate, use.full_at.value_or(now_us), now_us);
    room.pace_us = interval_us(*limits.rate);
    const std::int64_t starts = free_starts(*limits.rate, room.full_at, now_us);
    room.is_rate_least = starts <= room.free;
    room.free = std::min(room.free, starts);
  }
  if (limits.paused || !limits.is_understood) room.free = 0;
  room.free = std::max<std::int64_t>(room.free, 0);
  return room;
}

std::optional<TimeUs> held_back_until(const QueueLimits& limits, const QueueRoom& room, std::int64_t claimed,
                                      TimeUs now_us) {
  if (limits.paused || !limits.is_understood || !room.is_rate_least || claimed < room.free) return std::nullopt;
  return next_start_at(*limits.rate, room.full_at + claimed * room.pace_us, now_us);
}

}  // namespace cairn
