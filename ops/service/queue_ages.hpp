// The ages of queues, by which an autoscaler adds and removes workers: there is a number for every name at any time,
// also for a queue that does not exist yet and while the database is away or silent. Safe from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "engine/json.hpp"
#include "ops/service/rare_count.hpp"
#include "ops/service/rare_warning.hpp"
#include "storage/store.hpp"

namespace cairn {

class QueueAges {
 public:
  // `store` lives longer.
  explicit QueueAges(Store& store);
  ~QueueAges();  // waits for a count that has begun
  QueueAges(const QueueAges&) = delete;
  QueueAges& operator=(const QueueAges&) = delete;

  // {"queue", "oldest_seconds", "ready", "later", "held", "counted", "counted_seconds_ago"}. Jobs are counted when one
  // asks, as rarely as RareCount says, on a thread of their own; a caller waits a second for them at most, and then
  // takes what was counted last, as all do while the database is away. Before the first count all numbers are zero and
  // `counted` is false; a queue that is not `covered` by the caller's scope is as one that does not exist.
  Json of(const std::string& queue, bool covered = true);

 private:
  using Clock = RareCount::Clock;
  void count_when_wanted();
  void count();

  Store& store_;
  RareWarning warning_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool is_wanted_ = false;  // until the count has ended
  bool closing_ = false;
  RareCount times_;
  std::map<std::string, QueueRow> rows_;
  TimeUs now_us_ = 0;
  Clock::time_point counted_at_{};  // none yet: the epoch
  std::thread counter_;
};

}  // namespace cairn
