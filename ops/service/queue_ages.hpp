// The ages of queues, by which an autoscaler adds and removes workers: there is a number for every name at any time,
// also for a queue that does not exist yet and while the database is away or silent. A question to the database costs
// the same however many jobs wait (decision 0133). Safe from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "engine/json.hpp"
#include "ops/metrics/job_tally.hpp"
#include "ops/service/rare_count.hpp"
#include "ops/service/rare_warning.hpp"
#include "storage/store.hpp"

namespace cairn {

class QueueAges {
 public:
  // `store` lives longer. `dsn`: its database; "" of a store in memory.
  QueueAges(Store& store, std::string dsn);
  ~QueueAges();  // waits for a count that has begun
  QueueAges(const QueueAges&) = delete;
  QueueAges& operator=(const QueueAges&) = delete;

  // {"queue", "oldest_seconds", "ready", "later", "held", "counted", "counted_seconds_ago",
  // "jobs_counted_seconds_ago"}. Jobs are counted when one asks, as rarely as RareCount says, on a thread of their own;
  // a caller waits a second for them at most, and then takes what was counted last, as all do while the database is
  // away. Before the first count all numbers are zero and `counted` is false; a queue that is not `covered` by the
  // caller's scope is as one that does not exist. The age is that of the last count. `ready`, `later` and `held` are
  // those of the last pass of a JobTally, which began `jobs_counted_seconds_ago`. Until the first pass has ended that
  // is null, and they are those of the jobs that were passed. One at least is `ready` where there is an age.
  Json of(const std::string& queue, bool covered = true);

 private:
  using Clock = RareCount::Clock;
  struct Counted {
    JobTally::Reading jobs;
    bool is_whole = false;  // all jobs, as they were at the last pass
  };
  void count_when_wanted();
  void count();
  Counted counted_jobs(TimeUs now_us);

  Store& store_;
  const std::string dsn_;
  JobTally tally_;  // of the counter's thread alone
  RareWarning warning_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool is_wanted_ = false;  // until the count has ended
  bool closing_ = false;
  RareCount times_;
  std::map<std::string, TimeUs> ages_us_;  // of the oldest ready job
  Counted counted_;
  Clock::time_point counted_at_{};  // none yet: the epoch
  std::thread counter_;
};

}  // namespace cairn
