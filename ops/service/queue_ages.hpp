// The ages of queues, by which an autoscaler adds and removes workers: there is a number for every name at any time,
// also for a queue that does not exist yet and while the database is away. Safe from any thread.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "engine/json.hpp"
#include "storage/store.hpp"

namespace cairn {

class QueueAges {
 public:
  explicit QueueAges(Store& store) : store_(store) {}

  // {"queue", "oldest_seconds", "ready", "later", "held", "counted", "counted_seconds_ago"}. Jobs are counted at most
  // once in five seconds, and in a twentieth of the time, by one caller; others take what was counted last, and so do
  // all while the database is away. Before the first count all numbers are zero and `counted` is false; a queue that is
  // not `covered` by the caller's scope is as one that does not exist.
  Json of(const std::string& queue, bool covered = true);

 private:
  using Clock = std::chrono::steady_clock;
  void count();

  Store& store_;
  std::mutex counting_;
  std::mutex mutex_;  // of what follows
  std::map<std::string, QueueRow> rows_;
  TimeUs now_us_ = 0;
  Clock::time_point counted_at_{};  // none yet: the epoch
  Clock::time_point fresh_until_{};
};

}  // namespace cairn
