// Notifications: "a job may be ready", from a commit here or in another process (LISTEN and NOTIFY). They only shorten
// the wait for the next poll; correctness never needs one. Safe from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "storage/postgres/placements.hpp"
#include "storage/queue.hpp"

namespace cairn {

// The only job that a commit made claimable.
struct NotifiedJob {
  Shard shard = 0;
  RunId run;
  BranchId branch = 0;
};

// The jobs that the latest notifications named.
class NotifiedJobs {
 public:
  void add(std::optional<NotifiedJob> named);  // nothing: the notification names no job
  // The one job of the shard that was named since the last call. Nothing if none or several of the shard were named, or
  // if a notification named no job.
  std::optional<NotifiedJob> only_one(Shard shard);

 private:
  std::mutex mutex_;
  std::deque<std::optional<NotifiedJob>> latest_;
  std::uint64_t count_ = 0;
  std::map<Shard, std::uint64_t> seen_;
};

// Wakes the waiting threads of this process.
class LocalNotifier {
 public:
  void notify();
  // True if a notification arrived since this thread's last call.
  bool take();
  bool is_new();  // the same, and it stays new
  // Returns at a notification that this thread has not seen, after the time, and once there were more interrupts than
  // this.
  void wait(std::int64_t timeout_ms, std::uint64_t interrupts);
  void interrupt();
  std::uint64_t interrupts();

 private:
  std::mutex mutex_;
  std::condition_variable notified_;
  std::uint64_t count_ = 0;
  std::uint64_t interrupts_ = 0;
  std::map<std::thread::id, std::uint64_t> seen_;
};

// The time at which a process that lost its listening connection at this time opens it again: drawn, up to 1.5 s later.
std::int64_t listens_again_us(std::int64_t lost_us);

// A way to the database past a pooler.
struct DirectWay {
  std::string dsn;       // "": none
  std::string identity;  // of the database that it must lead to
};

// Sends notifications through the database and receives them on a connection of its own (one to each node of a cluster
// that has runs). One of the waiting threads listens for all of them. The connections stand while a thread waits for
// notifications of any process, and some seconds longer: PostgreSQL wakes each listener for each notification.
// Notifications sent while the database is away are lost; the poll finds their jobs. Behind a pooler that keeps no
// connection for a client they are received over the direct way, or not at all.
class Notifier {
 public:
  Notifier(Placements& placements, bool notify, DirectWay direct);
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void notify();
  bool await(std::int64_t timeout_ms, NotifiedBy by);

  // A notification within this process at this time of the monotonic clock, or a little later. The
  // earliest of several such times takes the place of the others.
  void notify_at(std::int64_t at_us);

  // notify() in two halves, for a caller with an open pipeline: send() after its sync, notify_here() once that sync has
  // been answered.
  void send(PgConnection& connection, const std::optional<NotifiedJob>& named) const;
  void notify_here(const std::optional<NotifiedJob>& named);

  NotifiedJobs& jobs() { return jobs_; }

 private:
  void want(std::int64_t until_us);
  void raise() const;
  void listen(std::int64_t timeout_ms);
  void open();
  std::unique_ptr<PgConnection> open_directly(const PgConnectOptions& pooled) const;
  bool wait_for_any(std::int64_t timeout_ms);
  bool receive_foreign(PgConnection& connection);
  void notify_if_due();

  Placements& placements_;
  const bool notify_;
  const DirectWay direct_;
  const std::string own_;  // the sender in our own notifications
  LocalNotifier local_;
  NotifiedJobs jobs_;
  std::atomic<std::int64_t> notify_at_ = never_us;
  std::atomic<std::int64_t> wanted_until_us_ = 0;  // notifications of other processes
  int notified_here_ = -1;                         // an eventfd, readable after a notification in this process
  std::mutex listening_;                           // held by the listening thread; guards the members below
  std::vector<std::unique_ptr<PgConnection>> connections_;
  std::int64_t open_again_us_ = 0;
};

}  // namespace cairn
