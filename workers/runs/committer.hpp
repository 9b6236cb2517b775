// The committer: the only writer of a run's history, for workers, sweeps and clients. It caches folded states, decides
// commands on them, gathers the outcomes of many runs into batches (a group commit) and answers when their verdict is
// in. A state machine without I/O: its driver carries out the actions that it gives, returns their results, and says
// what room there is.
//
// Conflict (optimistic concurrency): no command is discarded; the run is read again, and its commands are decided
// again. So it is where a run calls a graph that is not at hand, after the names have been read once more.
// Contention (pessimistic concurrency): for two seconds after another writer's event the run has rivals. Its commands
// wait until it is locked, the events that others wrote move the cached state forward, and then they are decided, all
// at once.
// Order: one batch of a run is under way at a time. Commands that arrive before it leaves join its entry; later ones
// wait for its verdict. A child run's start and end are committed atomically with its parent; where the parent cannot
// be read, the end waits.
//
// It calls out to four functions of its options (pure_steps, new_id, draw and new_commit), and none of them comes back
// into it.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/decide.hpp"
#include "storage/store.hpp"
#include "workers/runs/entry_builder.hpp"
#include "workers/runs/graph_shelf.hpp"
#include "workers/runs/history.hpp"
#include "workers/runs/keep_rules.hpp"
#include "workers/runs/run_cache.hpp"
#include "workers/runs/submission.hpp"

namespace cairn {

class Executor;

struct CommitterOptions {
  std::int32_t shards = 1;
  int lanes = 2;                           // batches under way at once
  std::size_t batch_max = 500;             // entries
  std::size_t batch_bytes_max = 8u << 20;  // of a batch's events; a larger entry leaves alone, and gains nothing more
  std::size_t runs_max = 20'000;           // folded states kept
  std::int64_t states_bytes_max = 256 << 20;  // the same, by an estimate of their memory
  std::int64_t graphs_bytes_max =
      std::numeric_limits<std::int64_t>::max();  // graph versions that are not current, likewise
  std::int64_t snapshot_events = 2'000;          // a snapshot needs more than this many new events,
                                                 // or a megabyte of them, with as many bytes as the state
  int fuse_steps = 32;                           // consecutive pure steps of a branch in one entry
  std::string actor;
  SessionId session = 0;  // that holds new branches from the start; 0: none does
  bool keep = true;       // the next step of a held branch may stay with the session
  std::int64_t default_timeout_ms = 0;
  const ToolTable* tools = nullptr;
  const Executor* pure_steps = nullptr;      // executes pure steps before anything is committed; null: none
  std::function<RunId()> new_id;             // a new UUIDv7 each time
  std::function<double()> draw;              // in [0,1)
  std::function<std::int64_t()> new_commit;  // the id of a batch; empty: the store's, and a batch that failed and
                                             // landed all the same is then a conflict with itself
};

struct CommitBatch {
  std::uint64_t batch = 0;
  Shard shard = 0;
  const std::vector<Entry>* entries = nullptr;  // unchanged until the answer
  bool notify = false;                          // offers what others may claim at once
};
// Runs to be locked: the driver calls decide_locked() under the locks, and writes what that returns.
struct LockedCommit {
  std::uint64_t batch = 0;
  Shard shard = 0;
  std::vector<KnownRun> runs;
};
struct PutSnapshot {
  RunId run;
  SnapshotRow row;
};
struct Reply {
  Ticket ticket = 0;
  Status status;          // ok: committed, or, to await_state(), there to be read
  bool is_state = false;  // to await_state()
  std::int64_t head = 0;
  std::optional<HeldJob> next;  // the branch's next step, which stays with this session
};
// The store has less of a run, or something else, than was committed there.
struct GoneBack {
  RunId run;
  std::int64_t known = 0;  // the head that this process knew
  std::int64_t found = 0;
};
std::string to_sentence(const GoneBack& gone);  // for the log
struct Offered {                                // queue rows that any session may claim from then on
  std::string queue;
  TimeUs run_at_us = 0;
};

// The work to be done now. Each load is answered by history() or load_failed(), each commit by verdicts() or
// batch_failed(); snapshots have no answer.
struct CommitterActions {
  std::vector<Load> loads;
  std::vector<CommitBatch> commits;
  std::vector<LockedCommit> locked_commits;
  std::vector<PutSnapshot> snapshots;
  std::vector<Reply> replies;
  std::vector<HeldJob> created_held;              // new branches that are this session's from the start
  std::vector<std::pair<RunId, RunId>> children;  // caller, called
  std::vector<Offered> offered;
  std::vector<GoneBack> gone_back;  // one a minute at most: there may be thousands, and `verify` names all
  bool empty() const;
};

struct CommitterCounts {
  std::int64_t batches = 0;
  std::int64_t conflicts = 0;
  std::int64_t stale = 0;
  std::int64_t refused = 0;    // entries that the database will never take
  std::int64_t fused = 0;      // steps executed here, in the entry of the step before
  std::int64_t forgotten = 0;  // folded states that made room for others
  std::int64_t hits = 0;       // states that were asked for and at hand
};

struct RunTask;

class Committer {
 public:
  explicit Committer(CommitterOptions options, Graphs graphs = {});
  Committer(CommitterOptions options, GraphShelf shelf);  // with the graphs that another one had at hand

  // The actor of commands that are decided from now on.
  void set_actor(std::string actor) { options_.actor = std::move(actor); }
  ~Committer();

  // Waits inside are on the first clock, which never goes back; what is written has the time of the database's.
  void tick(TimeUs steady_us, TimeUs database_us);
  void tick(TimeUs now_us) { tick(now_us, now_us); }  // where one clock is both
  void set_capacity(Capacity capacity) { keep_rules_.set_capacity(capacity); }
  // As KeepRules.
  void set_queues(ServedQueues queues) { keep_rules_.set_queues(std::move(queues)); }
  void add_graph(const GraphRef& graph, bool make_current) { shelf_.add(graph, make_current); }
  void trim_graphs() { shelf_.trim(); }  // as each drain_actions() does
  const Graphs& graphs() const { return shelf_.graphs(); }
  const GraphShelf& shelf() const { return shelf_; }

  // Answered by one Reply: when committed, or refused for good (never because of a state that may be outdated).
  // Refuses as decide does, and: `stale` and `closed` (the fence), `not_found`, `unsupported` (the run; or it would
  // end, and the run that called it cannot be read), `corrupt` (the run, or values that the database never takes).
  void submit(Submission submission);

  // Answered by a Reply with `is_state` when the run is folded at least up to `min_head`.
  void await_state(Ticket ticket, const RunId& run, std::int64_t min_head);

  // Ends the call of a run that ended without its caller. Answered by a Reply: ok, or, where there is
  // no such call, or none that is open, as decide refuses FinishChild.
  void finish_call(Ticket ticket, const RunId& child);

  // The folded state contradicts the store: it is read again, from the beginning, by the next that needs it. Commands
  // that are under way show it by a conflict.
  void doubt(const RunId& run);

  // The folded state, which may be ahead of what is committed; null if it is not at hand.
  const RunState* state(const RunId& run) const;

  void history(History history);
  void load_failed(const RunId& run);
  // The entries of a locked commit, which stay as they are until its answer; none if it does not stand any more.
  LockedDecision decide_locked(std::uint64_t batch, std::vector<LockedRun> runs);
  void verdicts(std::uint64_t batch, std::vector<Verdict> verdicts);
  void batch_failed(std::uint64_t batch);  // the store is unavailable: the same bytes go again later
  // Counts that the store refused the batch as a whole, and returns how often it has; batch_failed() is called as well.
  int batch_refused(std::uint64_t batch);

  CommitterActions drain_actions();

  bool idle() const;  // nothing waits, is gathered or under way
  // When the shard's oldest batch was sent first whose verdicts are not known: they may bring holds. `never_us`: none.
  TimeUs unanswered_since_us(Shard shard) const;
  int created_held_under_way() const { return keep_rules_.created_held(); }
  TimeUs due_us() const;  // steady: when drain_actions() is worth a call although nothing arrived; `never_us`: not
  CommitterCounts counts() const;
  std::size_t states() const { return runs_.size(); }
  std::int64_t states_bytes() const { return runs_.bytes(); }  // an estimate

 private:
  struct Batch;

  void enqueue(CachedRun& run, RunTask task);
  RunTask take_first(CachedRun& run);

  void process(CachedRun& run);
  bool process_front(CachedRun& run);
  bool answer_front(CachedRun& run);
  bool notify_caller(CachedRun& run);
  bool decide_front(CachedRun& run);
  bool decide_last(CachedRun& run);
  bool refuse_last(CachedRun& run, const Error& error);
  void scrap(CachedRun& run, const Error& error);
  static bool is_short_of_graph(const CachedRun& run, const Decision& decision);
  void decide_with_names(CachedRun& run);
  void load(CachedRun& run, bool snapshot, bool graphs);
  void reload(CachedRun& run);
  void lose_state(CachedRun& run);
  void note_gone_back(CachedRun& run);
  static bool continues(const CachedRun& run, std::span<const EventRow> rows, Shard shard);
  Status fold(CachedRun& run, const History& history);
  Result<bool> restore(CachedRun& run, const History& history);
  void fail(CachedRun& run, const Error& error);
  void refuse(const RunTask& task, const CachedRun& run, const Error& error);
  bool has_rivals(const CachedRun& run) const;
  void note_rivals(CachedRun& run);

  void gather(CachedRun& run, BranchId last_branch);
  Context context_for(const CachedRun& run);
  void absorb(CachedRun& run, Decision decision);
  bool fuse(CachedRun& run, BranchId branch, const std::optional<std::string>& keep_in);
  void start_child(CachedRun& caller, Decision::Child child);
  void notify_parent(CachedRun& child);
  void free_child(const RunTask& notice);
  void hold_up_child(const RunTask& notice, const Error& error);
  void link(CachedRun& one, CachedRun& other);

  void depart();
  bool depart(Shard shard);
  bool depart_locked(Shard shard);
  void send(const Batch& batch);
  void set_commit_id(Batch& batch);
  void await_lock(CachedRun& run);
  void decide_locked(CachedRun& run, const LockedRun& locked, Batch& batch);
  std::optional<ClaimRequest> refill(const Batch& batch) const;
  bool catch_up(CachedRun& run, const LockedRun& locked);
  std::vector<CachedRun*> leaving_with(CachedRun& run) const;
  bool has_room(const Batch& batch, const std::vector<CachedRun*>& leaving) const;
  void add_to_batch(CachedRun& run, Batch& batch);
  void gather_for_a_while(CachedRun& run, TimeUs took_us) const;
  void apply_verdict(CachedRun& run, const Entry& entry, const Verdict& verdict);
  void undo(CachedRun& run, const Verdict& verdict);
  void back_off(CachedRun& run);
  void give_up(CachedRun& run);
  void refuse_entry(CachedRun& run, const std::string& fault);
  void take_back_group(CachedRun& run);
  void refuse_decided(CachedRun& run, const Error& error);
  void take_back(CachedRun& run);
  static void count_folded(CachedRun& run, const std::vector<EventRow>& rows);
  bool is_worth_a_snapshot(const CachedRun& run) const;
  bool may_have_snapshots(const CachedRun& run) const;
  void keep_snapshot(CachedRun& run);
  void reply(const RunTask& task, const CachedRun& run, Status status);

  CommitterOptions options_;
  GraphShelf shelf_;
  KeepRules keep_rules_;
  TimeUs now_ = 0;                   // steady
  TimeUs silent_of_loss_until_ = 0;  // steady
  TimeUs database_ = 0;              // the database's clock; it may be set back
  std::uint64_t serial_ = 0;
  RunCache runs_;
  std::vector<std::deque<CachedRun*>> gathered_;  // of each shard, those whose entry has not left
  std::vector<std::deque<CachedRun*>> to_lock_;   // of each shard, those that are to be locked before they are decided
  bool locked_first_ = false;                     // the two take turns
  std::size_t shard_next_ = 0;
  std::map<std::uint32_t, std::vector<CachedRun*>> groups_;
  std::uint32_t last_group_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Batch>> batches_;  // under way or waiting for the store
  std::uint64_t last_batch_ = 0;
  std::vector<std::pair<TimeUs, Load>> loads_again_;
  std::vector<std::pair<TimeUs, RunId>> backing_off_;
  std::vector<RunId> again_;  // their verdict is in: to be processed by the next drain_actions()
  std::int64_t waiting_ = 0;  // tasks in all runs' queues
  CommitterActions actions_;
  CommitterCounts counts_;
};

}  // namespace cairn
