// The room in a queue: how many more jobs a claim may take of it now. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "storage/limits/queue_limits.hpp"

namespace cairn {

// The facts that a claim reads under the queue's lock.
struct QueueUse {
  std::int64_t held = 0;               // jobs, where the queue has a concurrency
  std::optional<TimeUs> full_at = {};  // of its rate; nothing: all starts are free
};

struct QueueRoom {
  std::int64_t free = 0;       // jobs
  bool is_rate_least = false;  // its rate leaves no more than this either
  TimeUs full_at = 0;          // of its rate as it counts now
  TimeUs pace_us = 0;          // how much later each start makes that; 0: it has no rate
};

// A queue without limits has room for any number.
QueueRoom room_of(const QueueLimits& limits, const QueueUse& use, TimeUs now_us);

// When its rate lets the next start be made after `claimed` ones, if that is what stands before it; otherwise nothing.
std::optional<TimeUs> held_back_until(const QueueLimits& limits, const QueueRoom& room, std::int64_t claimed,
                                      TimeUs now_us);

}  // namespace cairn
