// Claims: which index entries a claim may skip, and the statements. Safe from any thread.
//
// Held and dead entries stand in front of the free ones in the index. Who claims little looks at all of them each time.
// Who has claimed much lately, or has met claims that are slow, begins at a low-water mark per (shard, queue,
// priority): the newest run_at this process has claimed, but a little behind now, so that rows committed late are not
// skipped. Every two seconds, or where that is slow as seldom as it takes a fiftieth of the time but at least every two
// minutes, a claim begins a minute ago, for rows committed later still, and likewise everywhere, for whatever is older;
// earlier if a claim finds too little.
//
// A claim that answers a hint of one job takes that by its key, and if it is gone looks like any other.
//
// Queues that are limited or paused are claimed apart, one claim at a time in all the database, and what they hold is
// counted by permits. Which ones they are every claim finds out in its own transaction.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/postgres/connection_pool.hpp"
#include "storage/postgres/notifier.hpp"
#include "storage/store.hpp"

namespace cairn {

class JobClaimer {
 public:
  // `many`: after so many claimed jobs marks are used.
  JobClaimer(PostgresPool& pool, NotifiedJobs& notified, std::int64_t many = 1'000)
      : pool_(pool), notified_(notified), many_(many) {}

  // Contract: Store::claim.
  ClaimedBatch claim(const ClaimRequest& request);

 private:
  using Mark = std::pair<TimeUs, RunId>;
  using Levels = std::map<std::int32_t, Mark>;  // by priority
  struct Scan {                                 // the latest of its kind, on the monotonic clock
    std::int64_t ended_us = 0;
    std::int64_t pause_us = 0;  // from then on until the next
  };
  struct Marks {  // of one shard
    std::map<std::string, Levels> by_queue;
    Scan everywhere;
    Scan minute;
    std::int64_t claimed = 0;  // lately
    std::int64_t claimed_since_us = 0;
    int slow = 0;  // looks everywhere in a row that took long
  };
  enum class ScanFrom : std::uint8_t { marks, minute, everywhere };  // where a claim begins

  // Nothing when one of the queues turned out to have settings: to be tried again.
  using Attempt = std::optional<ClaimedBatch>;

  struct Kinds {  // of the queues of a request, as far as this process knows
    ClaimRequest unlimited;
    ClaimRequest limited;
    bool limited_first = false;
  };
  Kinds kinds(const ClaimRequest& request);
  Attempt claim_unlimited(const ClaimRequest& request);
  Attempt claim_notified(const ClaimRequest& request, const NotifiedJob& job);
  Attempt claim_limited(const ClaimRequest& request);
  Attempt claim_from(const ClaimRequest& request, ScanFrom from);
  Attempt claim_of_runs(const ClaimRequest& request);
  PgParameters starting(const ClaimRequest& request, ScanFrom from);
  static Mark floor_of(const ClaimRequest& request, ScanFrom from);
  Attempt take(std::string_view name, const PgParameters& parameters, const ClaimRequest& request, bool limited);
  static ClaimedBatch confirm(PgConnection& connection, const ClaimRequest& request,
                              const std::vector<HeldJob>& claimed);
  static void read_runs_of(const PgResult& rows, ClaimedBatch& batch);
  void learn(const std::vector<std::string>& asked, const PgResult& settings);
  std::vector<std::string> rotated(const std::vector<std::string>& queues);
  void record_scan(const ClaimRequest& request, ScanFrom from, std::int64_t took_us, std::size_t found);
  void raise_marks(const ClaimRequest& request, const std::vector<HeldJob>& jobs);
  ScanFrom usual_start(const ClaimRequest& request);
  ScanFrom wider_start(Shard shard);
  std::map<std::string, Levels> marks_of(Shard shard);

  PostgresPool& pool_;
  NotifiedJobs& notified_;
  const std::int64_t many_;
  std::mutex mutex_;
  std::map<Shard, Marks> marks_;
  std::size_t turn_ = 0;           // which queue comes first
  std::set<std::string> limited_;  // queues that had settings when they were last claimed from
  bool limited_first_ = false;     // changes with each claim
};

}  // namespace cairn
