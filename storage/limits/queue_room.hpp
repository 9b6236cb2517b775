// The room in a queue: how many more jobs a claim may take of it now. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/limits/queue_limits.hpp"

namespace cairn {

// The facts that a claim reads under the queue's lock.
struct QueueUse {
  std::int64_t held = 0;               // jobs, where the queue counts them
  std::optional<TimeUs> full_at = {};  // of its rate; nothing: all starts are free
  std::vector<UnitUse> budgets = {};
};

struct QueueRoom {
  std::int64_t free = 0;                     // jobs
  bool is_rate_least = false;                // its rate leaves no more than this either
  TimeUs full_at = 0;                        // of its rate as it counts now
  TimeUs pace_us = 0;                        // how much later each start makes that; 0: it has no rate
  std::optional<TimeUs> used_up_until = {};  // when the last window ends of which a budget is used up
};

// A queue without limits has room for any number.
QueueRoom room_of(const QueueLimits& limits, const QueueUse& use, TimeUs now_us);

// The room for starts of jobs that are held already: what its rate and its budgets leave, and any number without them.
// `use.held` are the jobs besides these. Without room where a held branch never goes on.
QueueRoom room_of_held(QueueLimits limits, const QueueUse& use, TimeUs now_us);

// So many jobs of each key of a queue; of the key "" in one without keys.
using KeyCounts = std::map<std::string, std::int64_t>;

// How many of the starts that `asked` wants for jobs that are held already may be made, key by key: what the queue and
// each key leave (room_of_held), in turns of the keys where the queue leaves less. Uses count the asking jobs as held.
KeyCounts held_starts(const QueueLimits& limits, const KeyCounts& asked, const QueueUse& use,
                      const std::map<std::string, QueueUse>& key_uses, TimeUs now_us);

// A key of a queue, with what it used of one of its budgets.
struct KeyUnitUse {
  std::string key;
  UnitUse use;
};

// The `limit` keys that used most of each unit in each kind of window that is now, the greatest first.
std::vector<KeyUnitUse> most_used(const std::map<std::string, QueueUse>& keys, std::int32_t limit, TimeUs now_us);

// When its rate and its budgets let the next start be made after `claimed` ones, if those stand before it; otherwise
// nothing.
std::optional<TimeUs> held_back_until(const QueueLimits& limits, const QueueRoom& room, std::int64_t claimed,
                                      TimeUs now_us);

}  // namespace cairn
