// Wake-ups: a counter that rises when something may be ready, here or in another process. Safe from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "storage/postgres/connection_pool.hpp"

namespace cairn {

// The one job that a commit has freed.
struct NotifiedJob {
  Shard shard = 0;
  RunId run;
  BranchId branch = 0;
};

// Which jobs hints have named lately.
class NotifiedJobs {
 public:
  void add(std::optional<NotifiedJob> named);  // nothing: a hint of whatever there is
  // The one job of the shard that the hints since the last call have named; nothing if there was none or more than one
  // of that shard, or if one may have been of any job.
  std::optional<NotifiedJob> only_one(Shard shard);

 private:
  std::mutex mutex_;
  std::deque<std::optional<NotifiedJob>> latest_;
  std::uint64_t count_ = 0;
  std::map<Shard, std::uint64_t> seen_;
};

// The hints of one process, as its threads wait for them.
class LocalNotifier {
 public:
  void notify();
  // True if one came since this thread's last call, or comes within the time.
  bool await(std::int64_t timeout_ms);

 private:
  std::mutex mutex_;
  std::condition_variable raised_;
  std::uint64_t count_ = 0;
  std::map<std::thread::id, std::uint64_t> seen_;
};

// Sends hints through the database and receives them on a connection of its own, which one of the threads that wait
// listens to for all. While the database is away hints are lost, which costs time and nothing else.
class Notifier {
 public:
  Notifier(PostgresPool& pool, bool notify);
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void notify();
  bool await(std::int64_t timeout_ms);

  // The same as wake() in two parts, for who has a pipeline open anyway: behind its sync, and when that has come.
  void send(PgConnection& connection, const std::optional<NotifiedJob>& named) const;
  void notify_here(const std::optional<NotifiedJob>& named);

  NotifiedJobs& jobs() { return jobs_; }

 private:
  void listen(std::int64_t timeout_ms);
  void open();
  bool wait_for_news(std::int64_t timeout_ms);
  bool take_foreign();

  PostgresPool& pool_;
  const bool notify_;
  const std::string own_;  // what our own hints say
  LocalNotifier local_;
  NotifiedJobs jobs_;
  int raised_here_ = -1;  // readable when a hint was raised in this process
  std::mutex listening_;  // held by the thread that does; guards what follows
  std::unique_ptr<PgConnection> connection_;
  std::int64_t open_again_us_ = 0;
};

}  // namespace cairn
