// A change of what is set for a queue, as `cairn queue set` and POST /queues/NAME ask for it. Safe from any thread; of
// two changes at once of one queue, the later one may undo the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/store.hpp"

namespace cairn {

// A setting that is not given stays as it is.
struct QueueChange {
  std::string queue;
  bool is_limit_given = false;
  std::optional<int> concurrency = {};  // with is_limit_given; nothing: no limit
  std::optional<bool> paused = {};
};

// The settings after the change; workers are woken. Refuses `invalid` as Store::set_queue.
Result<QueueSettings> change_queue(Store& store, const QueueChange& change);

// {"queue", "concurrency", "paused"}
Json queue_settings_json(const QueueSettings& settings);

}  // namespace cairn
