// The store: the one interface to everything that is kept. Two implementations pass one suite: PostgresStore and
// MemoryStore. Its values are in log.hpp (runs, events), entry.hpp (commits), queue.hpp (jobs, claims) and
// sessions.hpp. Calls about one thing are a book, a struct of functions, which stores in front of others hand on whole.
//
// Safe to call from any thread; calls block. A refusal is a Verdict or a Result. A lost connection, a serialization
// failure or a deadlock is retried inside with backoff and jitter for a few seconds, then thrown as StoreUnavailable.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/result.hpp"
#include "storage/entry.hpp"
#include "storage/graph_book.hpp"
#include "storage/job_book.hpp"
#include "storage/log.hpp"
#include "storage/progress.hpp"
#include "storage/queue.hpp"
#include "storage/run_book.hpp"
#include "storage/sessions.hpp"
#include "storage/snapshot_book.hpp"
#include "storage/value_book.hpp"

namespace cairn {

struct LimitBook;
struct FoundStart;
struct StartBook;

class StoreUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One that no waiting cures: the store leads to another database than it was opened on, or what stands between does not
// do what the store needs. A worker ends.
class StoreUnfit : public StoreUnavailable {
 public:
  using StoreUnavailable::StoreUnavailable;
};

// The graphs that a reader knows.
struct KnownGraphs {
  std::int64_t mark = 0;
  std::map<std::string, bool> versions = {};  // and whether they are current
};

class Store {
 public:
  virtual ~Store() = default;

  virtual std::int32_t shards() const = 0;
  // A UUID made with the schema. It stays the database's when that is moved or restored.
  virtual std::string identity() const = 0;
  virtual TimeUs database_time() = 0;

  // --- books: calls about one thing, as long-lived as the store; a store that adds to some copies a book -------------

  virtual RunBook& all_runs() = 0;        // run_book.hpp
  virtual SnapshotBook& snapshots() = 0;  // of runs (snapshot_book.hpp)
  virtual ValueBook& values() = 0;        // large ones (value_book.hpp)
  virtual JobBook& jobs() = 0;            // and holds on them (job_book.hpp)
  virtual ProgressBook& progress() = 0;   // of steps (progress.hpp)
  virtual SessionBook& sessions() = 0;    // of workers (sessions.hpp)
  virtual GraphBook& graphs() = 0;        // graph_book.hpp
  virtual LimitBook& limits() = 0;        // of queues (limit_book.hpp)
  virtual StartBook& starts() = 0;  // of graphs that say what becomes of starts with one key (starts/start_book.hpp)

  // --- the log ------------------------------------------------------------------------------------------------------

  // Writes entries of one shard: a group commit, in one transaction unless the database refuses some entry for good.
  // Verdicts are in the order of the entries. One entry's refusal never disturbs another that is not linked to it; the
  // entries of a link are written together or not at all. A run may be in a batch once.
  // REQUIRES: every run's shard_of is `shard`.
  virtual std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) = 0;

  // Locks the runs, which waits for other writers in turn, then calls `decide` once with what each holds, in their
  // order, and writes the entries that it returns, as commit() would: none is a conflict because of a run that is
  // locked. Verdicts are in the order of the entries; no entries: nothing is written. If it throws after `decide` was
  // called, the entries may be written: they go again through commit(), in doubt. REQUIRES: each run once; every run's
  // shard_of is `shard`; `decide` makes no call of this store.
  virtual LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) = 0;

  virtual std::optional<RunRow> run(const RunId& id) = 0;
  virtual std::vector<RunRow> runs(const RunFilter& filter) = 0;  // newest first

  // Events after `after_seq`, in order, at most `limit`.
  virtual std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) = 0;

  // The histories to fold: for each request at most `limit` events; in the order of the requests.
  virtual std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit);

  virtual void put_checkpoint(const Checkpoint& checkpoint) = 0;

  // --- the queue ----------------------------------------------------------------------------------------------------

  // Takes up to `limit` due jobs, lowest priority number and oldest run_at first. From a queue with a concurrency, no
  // more than that leaves free; all held jobs count, claimed or inserted held. From a paused queue, nothing. Limited
  // queues may be claimed separately from the others, whatever their priorities.
  virtual ClaimedBatch claim(const ClaimRequest& request) = 0;

  // Notifications: "a job may be ready". Correctness never needs one. await_notification() returns true if one arrived
  // since this thread's last call, or arrives within the time. A thread that waits for those of this process alone may
  // be given others as well; where all do so, the database has no listener to wake. With NOTIFY off they stay within
  // this process. notify_here() reaches no other process and waits for no database.
  virtual void notify() = 0;
  virtual void notify_here() = 0;
  virtual bool await_notification(std::int64_t timeout_ms, NotifiedBy by) = 0;

  // For a process that is to end while the database does not answer: calls under way and later ones throw
  // StoreUnavailable at once.
  virtual void give_up() {}
};

// The graphs that are not known, whole, and those known that are current or no longer so, without text; both are known
// then. `only_current`: other versions stay unknown, and are not read. Costs little when nothing has changed.
std::vector<GraphRow> new_graphs(Store& store, KnownGraphs& known, bool only_current = false);

// The refusal `not_found` of an id that no run has, written as the caller wrote it.
Error no_such_run(const std::string& id);
// The same of an id; a start that waits for the run, or that was refused, is named.
Error no_such_run(Store& store, const RunId& id);
// The start that waits for a run which is not there yet; nothing: none does.
std::optional<FoundStart> start_to_come(Store& store, const RunId& id);

}  // namespace cairn
