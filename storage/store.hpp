// The one interface to what is kept: runs, events, jobs, questions, blobs, snapshots, graphs, sessions.
// Two implementations, one suite: PostgresStore and MemoryStore.
//
// Safe to call from any thread; calls block. A refusal is a Verdict or a Result; a lost connection, a serialization
// failure or a deadlock is retried inside, with jitter, for a few seconds, then thrown as StoreUnavailable.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/event.hpp"
#include "engine/id.hpp"
#include "engine/job.hpp"
#include "engine/result.hpp"

namespace cairn {

class StoreUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Hash = std::array<std::uint8_t, 32>;
std::string hex(std::span<const std::uint8_t> bytes);
std::optional<Hash> parse_hash(std::string_view hexadecimal);

// --- the log --------------------------------------------------------------------------------------------------------

// One row of `event`: exactly the bytes that are hashed.
struct EventRow {
  std::int64_t seq = 0;
  TimeUs at_us = 0;
  std::int16_t type = 0;
  std::int16_t version = 0;
  StepId step = 0;
  std::string actor;
  std::string payload;
  std::int64_t commit = 0;  // id of the batch that wrote it; set by the store
  Hash chain_hash{};        // set by the store
};

// The chain begins from run id and graph version; see storage/chain.hpp for the layout.
struct RunRow {
  RunId id;
  std::string graph;
  std::string version;
  RunStatus status = RunStatus::running;
  bool waiting = false;
  std::int64_t head = 0;  // seq of the last event
  Hash chain_hash{};      // of the last event
  std::optional<RunId> parent;
  std::optional<RunId> continues;
  std::optional<ForkPoint> forked_from = {};
  TimeUs started_at = 0;
  TimeUs updated_at = 0;
  std::string reason;
  Tags tags;
};

// The run a lineage goes on from: the origin of a fork, else the one it continues.
std::optional<RunId> came_from(const RunRow& run);

// --- commit ---------------------------------------------------------------------------------------------------------

// What a worker must still hold for its outcome to count.
struct Fence {
  BranchId branch = 0;
  SessionId session = 0;
  std::int64_t epoch = 0;
  StepId step = 0;
};

struct JobWrite {
  enum class Op : std::uint8_t {
    offer,        // the row becomes as `job` says, unowned, with a new epoch
    keep,         // the held row moves on to `job` under the same session and epoch (a HOT update)
    insert_held,  // a new row that `session` holds from the start, with epoch 1
    adjust,       // queue, priority, run_at and timeout as `job` says if the row is unowned; a held row stays as it is
    drop,         // no row
  };
  Op op = Op::offer;
  Job job;                        // for drop: only `branch`
  SessionId session = 0;          // for insert_held
  TimeUs deadline_us = never_us;  // for keep and insert_held: when the step counts as hung
};

// A claimed job's deadline is this much later than its timeout, for the worker's own timeout comes first.
inline constexpr std::int64_t deadline_grace_ms = 5'000;

struct QuestionRow {
  RunId run;
  std::string id;
  StepId step = 0;
  std::string kind;
  Json prompt;
  Json schema;
  std::optional<Json> fallback;
  std::optional<TimeUs> expires_at;
  TimeUs asked_at = 0;
};

// All that one run gains in one commit. Several outcomes of one run are one entry.
struct Entry {
  RunRow run;                    // as it is after the events; head and chain_hash are set by the store
  std::int64_t head_before = 0;  // 0: the run must not exist
  Hash chain_before{};           // the cached chain hash at head_before; ignored when head_before is 0
  std::vector<EventRow> events;  // seq = head_before + 1 ...; at least one
  std::vector<Fence> fences;
  std::vector<JobWrite> jobs;  // each branch at most once
  std::vector<QuestionRow> asked;
  std::vector<std::string> closed_questions;
  std::uint32_t link = 0;   // entries of a batch with the same non-zero link share one verdict
  std::int64_t commit = 0;  // the id of its batch, the same in all of its entries; 0: the store makes one up
  bool in_doubt = false;    // the batch was given before under this id; what of it has landed is `committed`
};

struct Verdict {
  enum class Kind : std::uint8_t {
    committed,
    conflict,  // the run is at another head (or exists already)
    stale,     // a fence does not hold; `stale` says which
    closed,    // a fenced job is gone because the run has ended
  };
  Kind kind = Kind::committed;
  std::int64_t head = 0;         // the run's head now; 0: there is no such run
  Hash chain_hash{};             // at head
  std::vector<BranchId> stale;   // branches whose fence failed
  std::vector<EventRow> missed;  // conflict: the events after head_before, if they are not too many
};

struct CommitOptions {
  bool notify = false;  // also send a notification after the commit, without waiting for it
};

// --- queue ----------------------------------------------------------------------------------------------------------

struct HeldJob {
  RunId run;
  Job job;
  SessionId session = 0;
  std::int64_t epoch = 0;
  TimeUs deadline_us = never_us;
  std::int64_t run_head = 0;  // so that a stale cached state never feeds a handler
};

// All events of a run that has few. They come with the claim of its job, because no worker can have it cached.
struct ShortHistory {
  RunId run;
  std::vector<EventRow> events;
};

struct ClaimRequest {
  Shard shard = 0;
  std::vector<std::string> queues;
  SessionId session = 0;
  std::int32_t limit = 1;               // over all queues
  TimeUs now_us = 0;                    // only jobs with run_at <= now
  std::int64_t default_timeout_ms = 0;  // deadline = now + the job's timeout (or this) + grace; 0: no deadline
  std::vector<RunId> only_runs;         // not empty: claim from these runs and no others
  std::int64_t short_history_max = 0;   // histories of at most so many events come with the claim
  bool notified_only = false;           // made because of a notification: the one job it names is enough
};

struct ClaimedBatch {
  std::vector<HeldJob> jobs;
  std::vector<ShortHistory> histories;  // of the jobs' runs that are short, each once
};

// What an operator has said of a queue. Held across all workers and shards.
struct QueueSettings {
  std::string name;
  std::optional<std::int32_t> concurrency = {};  // jobs held at once; nothing: any number
  bool paused = false;                           // nothing more is claimed; what is held stays held

  bool is_limited() const { return paused || concurrency.has_value(); }
  friend bool operator==(const QueueSettings&, const QueueSettings&) = default;
};

struct QueueRow {
  std::string name;
  std::int64_t ready = 0;  // due and held by nobody
  std::int64_t later = 0;  // not yet due
  std::int64_t held = 0;
  std::optional<TimeUs> oldest_us;  // run_at of the oldest ready one
};

struct SessionRow {
  SessionId id = 0;
  std::string host;
  std::int64_t pid = 0;
  std::vector<std::string> queues;
  std::int64_t counter = 0;  // raised by each heartbeat
  TimeUs started_at = 0;
  TimeUs beat_at = 0;     // its last heartbeat; 0: unknown, as of a worker of an older release
  bool only_own = false;  // executes only the runs it was started for, and those they call
  std::optional<std::vector<std::string>> handlers = {};  // that it has; nothing: unknown
  std::optional<std::vector<std::string>> tools = {};
  std::string machine = {};  // where `pid` means something; "": unknown
};

// Of all held jobs those that may want looking after. One may be among several of them.
struct HeldScan {
  std::vector<HeldJob> own;      // of the session that asks
  std::vector<HeldJob> overdue;  // past their deadline
  std::vector<HeldJob> unowned;  // of a session that has no row (it was closed or removed): like a dead one's
  bool is_all = false;           // the limit cut nothing off
};

// --- reading --------------------------------------------------------------------------------------------------------

struct SnapshotRow {
  std::int64_t seq = 0;
  std::int32_t fold_version = 0;
  Hash chain_hash{};  // of event `seq`
  std::string state;
};

struct PastRequest {
  RunId run;
  std::int64_t after_seq = 0;
  std::optional<std::int32_t> fold_version = {};  // begin with the newest snapshot of this version, if there is one
};
struct Past {
  std::optional<SnapshotRow> snapshot;
  std::vector<EventRow> events;  // after the snapshot, or after `after_seq`; in order
};

struct RunFilter {
  std::string graph;  // "": any
  std::optional<RunStatus> status;
  std::optional<bool> waiting;
  Tags tags;                                            // all must match
  std::optional<TimeUs> since;                          // started at or after
  std::optional<RunId> lineage;                         // this run, those it came from (a fork's origin, the one it
                                                        // continues), and all that came from them
  std::optional<std::pair<TimeUs, RunId>> behind = {};  // started_at and id of the last run of the page before
  std::int32_t limit = 100;
};

struct GraphRow {
  std::string name;
  std::string version;
  std::string text;
  bool current = false;
};

// What a process signs of the heads it committed; see storage/proof/checkpoint.hpp.
struct Checkpoint {
  std::int64_t process = 0;  // one start of a process, never used again
  std::int64_t n = 0;        // 1, 2, 3 ... of the process
  TimeUs at_us = 0;
  Hash key{};             // fingerprint of the public key
  std::string heads;      // as text
  Hash previous{};        // of the process's checkpoint before
  std::string signature;  // bytes
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

class Store {
 public:
  virtual ~Store() = default;

  virtual std::int32_t shards() const = 0;
  // Of this database for ever, also when it is moved or restored: a UUID made with its schema.
  virtual std::string identity() const = 0;
  virtual TimeUs database_time() = 0;

  // Writes entries of one shard in one transaction. Verdicts are in the order of the entries; one entry's refusal
  // never disturbs another that is not linked to it. A run may stand in a batch once.
  // REQUIRES: every run's shard_of is `shard`.
  virtual std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) = 0;

  // Takes up to `limit` due jobs, lowest priority number and oldest run_at first; of a queue with a limit no more than
  // its concurrency leaves free, held jobs counted however they came to be held, and of a paused one nothing. Queues
  // that are limited may be claimed separately from the others, whatever their priorities.
  virtual ClaimedBatch claim(const ClaimRequest& request) = 0;

  // Lets go of held jobs without an event: offered again at `run_at_us` with a new epoch. Those no longer held as the
  // fences say are left alone.
  virtual void release(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us) = 0;

  virtual std::optional<RunRow> run(const RunId& id) = 0;
  virtual std::vector<RunRow> runs(const RunFilter& filter) = 0;  // newest first

  // Events after `after_seq`, in order, at most `limit`.
  virtual std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) = 0;

  // The newest snapshot of this fold version with seq <= `at_most`.
  virtual std::optional<SnapshotRow> snapshot(const RunId& id, std::int32_t fold_version, std::int64_t at_most) = 0;
  virtual void put_snapshot(const RunId& id, const SnapshotRow& snapshot) = 0;

  // What runs are folded from, of each at most `limit` events; in the order of the requests.
  virtual std::vector<Past> pasts(std::span<const PastRequest> requests, std::int32_t limit);

  // Open questions of one run, or of all when `id` is nil; oldest first.
  virtual std::vector<QuestionRow> questions(const RunId& id, std::int32_t limit) = 0;

  virtual void put_blob(Shard shard, const Hash& hash, std::string_view bytes) = 0;  // again: nothing changes
  virtual std::optional<std::string> blob(Shard shard, const Hash& hash) = 0;

  virtual void put_checkpoint(const Checkpoint& checkpoint) = 0;  // again: nothing changes

  // Graphs: a name and version are stored once; `current` moves the name to this version.
  virtual void put_graph(const GraphRow& graph) = 0;
  virtual std::vector<GraphRow> graphs() = 0;

  // Jobs of a run, in branch order: for tests, `explain` and rebuild.
  virtual std::vector<HeldJob> jobs(const RunId& id) = 0;
  virtual std::vector<QueueRow> queues() = 0;

  // Holds from the first claim after it; the jobs held at that moment stay held, and count. Refuses `invalid` (see
  // check_queue). A worker keeps no step in a queue that binds; it hears of a change within seconds.
  virtual Status set_queue(const QueueSettings& settings) = 0;
  virtual std::vector<QueueSettings> queue_settings() = 0;  // of all queues ever set, by name

  // Sessions. A sweeper declares one dead only when it has itself seen no change of the counter for the time-to-live.
  // Again: queues, handlers and tools are as now said, all else stays.
  virtual void open_session(const SessionRow& session) = 0;
  virtual void beat(SessionId session) = 0;
  virtual void close_session(SessionId session) = 0;
  virtual std::vector<SessionRow> sessions() = 0;

  // What is held. No index knows the holder (a held row moves to its next step without one), so each of these reads all
  // jobs.
  virtual std::vector<HeldJob> held_by(SessionId session, std::int32_t limit) = 0;
  virtual HeldScan scan_held(SessionId session, TimeUs now_us, std::int32_t limit) = 0;
  virtual std::map<SessionId, std::int64_t> held_counts() = 0;  // of sessions that hold something

  // Open children of ended parents: cancelling descends by a sweep.
  virtual std::vector<RunId> orphans(std::int32_t limit) = 0;

  // Ends the connections of stopped processes, which would keep their locks for ever: those of this program that have
  // left a transaction half sent for `after_ms`.
  virtual void end_stalled(std::int64_t after_ms) = 0;

  // Notifications: "a job may be ready". Correctness never needs one. await_notification() returns true if one arrived
  // since this thread's last call, or arrives within the time. With NOTIFY off they stay within this process.
  virtual void notify() = 0;
  virtual bool await_notification(std::int64_t timeout_ms) = 0;
};

}  // namespace cairn
