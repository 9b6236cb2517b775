// Claims: the dequeue of the job queue. A claim takes due jobs for a session with `for update skip locked` and gives it
// a hold on each: a lease, whose fencing token is the job's epoch. Safe from any thread.
//
// Low-water marks. In the index of due jobs, held and dead entries stand in front of the free ones. While this process
// claims little, each claim scans its queues' part of the index from the beginning. Once it has claimed `many` jobs
// within two seconds, or scans have become slow, a claim starts at a mark per (shard, queue, priority): the newest
// run_at that this process has claimed, but at least 250 ms before now, because a row may be committed later than its
// run_at.
//
// Wider scans find the rows that marks skip. One starts a minute before now, the other at the beginning of the index.
// Each runs every two seconds; a slow one runs seldom enough to take at most a fiftieth of the time, but every two
// minutes at least. A claim that finds too few jobs brings them forward.
//
// A claim made because of a notification takes the one job that the notification names by its key, and scans only if
// that job is gone.
//
// Limited queues (with a concurrency, or paused) are claimed separately, by one claim at a time in the whole database;
// their held jobs are counted by permits. Each claim finds out in its own transaction which of its queues are limited.
// Governed ones among them (with a rate, for one) take a round trip more, in which it learns what they have left. A
// queue whose rate or budget lets nothing be started is left alone until it does; then the waiting threads are woken.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/limits/queue_room.hpp"
#include "storage/limits/turns.hpp"
#include "storage/postgres/notifier.hpp"
#include "storage/postgres/placements.hpp"
#include "storage/postgres/rows.hpp"
#include "storage/store.hpp"

namespace cairn {

class JobClaimer {
 public:
  // `many`: marks are used once this many jobs were claimed.
  JobClaimer(Placements& placements, NotifiedJobs& notified, std::int64_t many = 1'000)
      : placements_(placements), notified_(notified), many_(many) {}

  // Adds the rows of key_uses.sql of one database.
  static void add_key_uses(const PgResult& rows, std::map<std::string, QueueUse>& uses);
  // Adds the rows of queue_rates.sql of one database, by queue.
  static void add_rates(const PgResult& rows, std::map<std::string, QueueUse>& uses);
  // Adds the rows of budget_uses.sql of one database, by queue or, `by_key`, by the keys of one queue.
  static void add_budget_uses(const PgResult& rows, bool by_key, std::map<std::string, QueueUse>& uses);
  static PgParameters budgets_of_queues(const std::vector<std::string>& queues);
  static PgParameters budgets_of_keys(const std::string& queue, const std::vector<std::string>& keys);

  // The limits of the queue are others now: it is not held back by what was known of them.
  void limits_changed(const std::string& queue);

  // Called with a time of the monotonic clock at which a rate or a budget lets jobs be claimed again. Set before the
  // first claim.
  void on_held_back(std::function<void(std::int64_t)> wake_at) { wake_at_ = std::move(wake_at); }

  // Contract: Store::claim.
  ClaimedBatch claim(const ClaimRequest& request);
  // Contract: LimitBook::take_starts.
  std::int64_t take_starts(const std::string& queue, std::int64_t count);

 private:
  using Mark = std::pair<TimeUs, RunId>;
  using Levels = std::map<std::int32_t, Mark>;  // by priority
  struct LastScan {                             // of one width; on the monotonic clock
    std::int64_t ended_us = 0;
    std::int64_t pause_us = 0;  // from its end to the next one
  };
  struct Marks {  // of one shard
    std::map<std::string, Levels> by_queue;
    LastScan everywhere;
    LastScan minute;
    std::int64_t claimed = 0;  // since `claimed_since_us`
    std::int64_t claimed_since_us = 0;
    int slow_scans = 0;  // from the beginning, in a row
  };
  struct KeySearch {  // for jobs without keys, of one queue in one shard
    std::int64_t revision = 0;
    JobPlace after = {};
    bool was_at_all = false;
    std::int64_t again_at_us = 0;
  };
  enum class ScanFrom : std::uint8_t { marks, minute, everywhere };

  // Nothing when a queue that was taken for unlimited turned out to be limited: the claim must be made again.
  using Attempt = std::optional<ClaimedBatch>;

  struct Split {  // a request's queues, as far as this process knows
    ClaimRequest unlimited;
    ClaimRequest limited;
    bool limited_first = false;
  };
  Split split(const ClaimRequest& request);
  Attempt claim_unlimited(const ClaimRequest& request);
  Attempt claim_notified(const ClaimRequest& request, const NotifiedJob& job);
  Attempt claim_limited(ClaimRequest request);
  Attempt claim_governed(const ClaimRequest& request);
  Attempt claim_all_keyed(const ClaimRequest& request);
  Attempt claim_counted(const ClaimRequest& request);  // of queues with a concurrency alone
  void take_governed(std::vector<std::string>& queues, std::vector<std::string>& governed,
                     std::vector<std::string>& keyed);
  ClaimedBatch claim_keyed(const ClaimRequest& request, const std::string& queue);
  ClaimedBatch claim_keyed_here(const ClaimRequest& request, const std::string& queue);
  ClaimedBatch claim_keyed_across(const ClaimRequest& request, const std::string& queue);
  Attempt claim_of_runs(const ClaimRequest& request);
  Attempt scan(const ClaimRequest& request, ScanFrom from);
  PgParameters scan_parameters(const ClaimRequest& request, ScanFrom from);
  static Mark earliest(const ClaimRequest& request, ScanFrom from);

  struct Statement {
    // The rooms of limited queues are counted by the statement, or found in the same transaction before it (governed),
    // or given.
    enum class Kind : std::uint8_t { unlimited, limited, governed, given };
    std::string_view name;
    PgParameters parameters;
    Kind kind = Kind::unlimited;
  };
  Attempt transact(const ClaimRequest& request, const std::function<Attempt(PgConnection&)>& claim);
  Attempt execute(const Statement& claim, const ClaimRequest& request);
  static void send_first(PgConnection& connection, const Statement& claim, const PgParameters& queues);
  Attempt claim_across(const ClaimRequest& request, Statement claim);
  // The limits of the queues that are bound, and what each has left.
  struct Rooms {
    std::map<std::string, QueueLimits> limits;
    std::map<std::string, QueueRoom> left;
    TimeUs now_us = 0;  // by the database's clock
  };
  struct Uses {
    std::map<std::string, QueueUse> by_queue;
    void add_permits(const PgResult& rows);
  };
  static Rooms rooms_of(const PgResult& limits, const Uses& uses, TimeUs now_us);
  static Rooms find_rooms(PgConnection& connection, const std::vector<std::string>& queues);
  // How many of `count` starts a queue has left, and how its rate stands when they are taken.
  struct TakenStarts {
    std::int64_t count = 0;
    std::optional<PgParameters> rate = {};  // to be written
  };
  static TakenStarts starts_of(const std::string& queue, std::int64_t count, const PgResult& limits, const Uses& uses,
                               TimeUs now_us);
  std::int64_t take_starts_across(const std::string& queue, std::int64_t count);
  Rooms find_rooms_across(PgConnection& lock, const std::vector<std::string>& asked);
  static PgParameters with_rooms(PgParameters parameters, const std::vector<std::string>& queues, const Rooms& rooms);
  // The keys of a queue that have jobs, and the jobs of each that a claim takes.
  struct KeyPlan {
    std::string queue;
    QueueLimits limits;
    KeyRing ring;
    std::map<std::string, QueueRoom> rooms;  // by key
    std::vector<KeyShare> shares;
    KeyTurn turn;
    TimeUs now_us = 0;
  };
  // They ask the node of the shard, and each node.
  using Ask = std::function<PgResult(std::string_view, const PgParameters&)>;
  using AskEach = std::function<std::vector<PgResult>(std::string_view, const PgParameters&)>;
  static KeyPlan plan_keys(const ClaimRequest& request, const std::string& queue, const Rooms& rooms, const Ask& ask,
                           const AskEach& ask_each);
  static void find_key_rooms(KeyPlan& plan, const AskEach& ask_each);
  static PgParameters keyed_parameters(const ClaimRequest& request, const KeyPlan& plan, const QueueRoom& room);
  void record_plan(const KeyPlan& plan, const std::map<std::string, std::int64_t>& taken);
  void find_missing_keys(Shard shard, const std::string& queue);

  void record_rooms(const std::vector<std::string>& asked, const Rooms& rooms, const std::vector<HeldJob>& claimed);
  static ClaimedBatch still_ours(PgConnection& connection, const ClaimRequest& request,
                                 const std::vector<HeldJob>& claimed);

  void record_limited(const std::vector<std::string>& asked, const std::vector<QueueLimits>& limits);
  void record_scan(const ClaimRequest& request, ScanFrom from, std::int64_t took_us, std::size_t found);
  void raise_marks(const ClaimRequest& request, const std::vector<HeldJob>& jobs);
  std::vector<std::string> rotated(const std::vector<std::string>& queues);
  ScanFrom usual_scan(const ClaimRequest& request);
  ScanFrom wider_scan(Shard shard);
  std::map<std::string, Levels> marks_of(Shard shard);

  Placements& placements_;
  NotifiedJobs& notified_;
  const std::int64_t many_;
  std::mutex mutex_;
  std::map<Shard, Marks> marks_;
  std::size_t rotation_ = 0;                   // which queue comes first
  std::set<std::string> limited_;              // queues that were limited when they were last claimed from
  std::set<std::string> governed_;             // of these, those that were governed
  std::map<std::string, std::int64_t> keyed_;  // of these, those with keys, and the revision of their limits
  std::map<std::pair<std::string, Shard>, KeySearch> key_searches_;
  std::map<std::string, std::int64_t> held_back_;  // by a rate or a budget; until when, on the monotonic clock
  bool limited_first_ = false;                     // changes with each claim
  std::function<void(std::int64_t)> wake_at_;
};

}  // namespace cairn
