// The one way into a run's history, for workers, sweeps and clients: keeps folded states, decides commands on them,
// gathers the outcomes of many runs into batches and answers when their verdict is in. A state machine without I/O:
// whoever drives it carries out the actions it gives and brings back what came of them.
//
// A conflict never discards a command: the run is read again and the command decided again. While a batch is under way
// its runs' further commands wait; while it has not left, they join their run's entry. A run that calls or was called
// commits together with the other one when it starts and when it ends.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/decide.hpp"
#include "storage/store.hpp"
#include "workers/session/entry_builder.hpp"

namespace cairn {

using Ticket = std::uint64_t;  // whose answer it is; 0: nobody waits for it

struct CommitterOptions {
  std::int32_t shards = 1;
  int lanes = 2;                         // batches under way at once
  std::size_t batch_max = 500;           // entries
  std::size_t runs_max = 20'000;         // folded states kept
  std::int64_t snapshot_events = 2'000;  // so many since the last one, or a megabyte, are worth one if
                                         // they have as many bytes as the state
  int fuse_steps = 32;                   // consecutive pure steps of a branch in one entry
  std::string actor;
  SessionId session = 0;  // 0: nothing is kept or born held
  const ToolTable* tools = nullptr;
  std::function<RunId()> new_id;             // a new UUIDv7 each time
  std::function<double()> draw;              // in [0,1)
  std::function<std::int64_t()> new_commit;  // the id of a batch; empty: the store's, and a batch that failed and
                                             // landed all the same is then a conflict with itself
  Stays stays;                               // empty: nothing stays
  // The outcome of a pure step that may run at once, before anything is committed; nothing: it may not.
  std::function<std::optional<Command>(const RunState&, const Job&)> fuse;
};

struct Submission {
  Ticket ticket = 0;
  RunId run;
  Command command;
  std::optional<Fence> fence = {};
  std::string keep_in =
      {};  // the branch's next step may stay with the session if it is in this queue too; "": it may not
};

// What is to be done now, and its answer's name: history(), verdicts() or batch_failed(), none for snapshots.
struct Load {
  RunId run;
  std::int64_t after_seq = 0;  // 0: begin with the newest snapshot, if `snapshot`
  bool snapshot = true;
  bool graphs = false;  // read the graphs first: one is missing
  bool alone = false;   // read with others before, which failed: perhaps by this one
};
struct CommitBatch {
  std::uint64_t batch = 0;
  Shard shard = 0;
  const std::vector<Entry>* entries = nullptr;  // unchanged until the answer
  bool wakes = false;                           // offers what others may take at once
};
struct PutSnapshot {
  RunId run;
  SnapshotRow row;
};
struct Reply {
  Ticket ticket = 0;
  std::optional<Error> refused;  // nothing: committed, or, for a look, there to be read
  bool looked = false;
  std::int64_t head = 0;
  std::optional<HeldJob> next;  // the branch's next step, which stays with this session
};
struct Offered {  // queue rows that somebody may claim from then on
  std::string queue;
  TimeUs run_at_us = 0;
};
struct CommitterActions {
  std::vector<Load> loads;
  std::vector<CommitBatch> commits;
  std::vector<PutSnapshot> snapshots;
  std::vector<Reply> replies;
  std::vector<HeldJob> born;                      // new branches that are this session's from the start
  std::vector<std::pair<RunId, RunId>> children;  // caller, called
  std::vector<Offered> offered;
  bool empty() const;
};

// The answer to a Load: the snapshot if asked for and there, then the events after it (or after `after_seq`).
struct History {
  RunId run;
  std::optional<SnapshotRow> snapshot;
  std::vector<EventRow> rows;
  bool complete = true;  // false: there are more
  bool graphs = false;   // the graphs were read before
};

struct CommitterCounts {
  std::int64_t batches = 0;
  std::int64_t conflicts = 0;
  std::int64_t stale = 0;
  std::int64_t forgotten = 0;  // folded states that made room for others
};

class Committer {
 public:
  explicit Committer(CommitterOptions options, Graphs graphs = {});
  ~Committer();

  void tick(TimeUs now_us);  // never goes back
  void add_graph(GraphRef graph, bool make_current) { graphs_.add(std::move(graph), make_current); }
  const Graphs& graphs() const { return graphs_; }

  // Answered by one Reply: when committed, or refused for good (never on the word of a state that may be old).
  // Besides what decide refuses: `stale` and `closed` (the fence), `not_found`, `unsupported`, `corrupt` (the run).
  void submit(Submission submission);

  // Answered by a Reply with `looked` when the run is folded at least up to `min_head`.
  void look(Ticket ticket, const RunId& run, std::int64_t min_head);

  // The folded state, which may be ahead of what is committed; null if it is not at hand.
  const RunState* state(const RunId& run) const;

  void history(History history);
  void load_failed(const RunId& run);
  void verdicts(std::uint64_t batch, std::vector<Verdict> verdicts);
  void batch_failed(std::uint64_t batch);  // the store is unavailable: the same bytes go again later

  CommitterActions take();

  bool idle() const;  // nothing waits, is gathered or under way
  int born_under_way() const { return born_; }
  TimeUs due_us() const;  // when take() is worth a call although nothing came; `never_us`: not
  const CommitterCounts& counts() const { return counts_; }

 private:
  struct Task;
  class TaskQueue;
  struct Run;
  struct Batch;

  Run& run_of(const RunId& id);
  Run* find(const RunId& id) const;
  void forget(Run& run);
  void shrink();
  void enqueue(Run& run, Task task);

  void process(Run& run);
  bool process_front(Run& run);
  bool look_front(Run& run);
  bool decide_front(Run& run);
  bool decide_last(Run& run);
  bool refuse_last(Run& run, const Error& error);
  void scrap(Run& run, const Error& error);
  void load(Run& run, bool snapshot, bool graphs);
  std::optional<Error> fold(Run& run, const History& history);
  bool restore(Run& run, const History& history, std::optional<Error>& fault);
  void fail(Run& run, const Error& error);

  void gather(Run& run, Numbering before);
  Context context_for(const Run& run);
  void absorb(Run& run, Decision decision);
  void fuse(Run& run, BranchId branch);
  void start_child(Run& caller, Decision::Child child);
  void notify_parent(Run& child);
  void free_child(const Task& notice);
  void link(Run& one, Run& other);

  void depart();
  bool depart(Shard shard);
  std::vector<Run*> leaving_with(Run& run) const;
  void seal(Run& run, Batch& batch);
  void settle(Run& run, const Entry& entry, const Verdict& verdict);
  void undo(Run& run, const Verdict& verdict);
  void take_back(Run& run);
  bool is_worth_a_snapshot(const Run& run) const;
  void keep_snapshot(Run& run);
  void reply(const Task& task, const Run& run, std::optional<Error> refused);

  CommitterOptions options_;
  Graphs graphs_;
  TimeUs now_ = 0;
  std::uint64_t serial_ = 0;
  std::unordered_map<RunId, std::unique_ptr<Run>> runs_;
  std::list<Run*> by_use_;                  // latest first
  std::vector<std::deque<Run*>> gathered_;  // of each shard, those whose entry has not left
  std::size_t shard_next_ = 0;
  std::map<std::uint32_t, std::vector<Run*>> groups_;
  std::uint32_t last_group_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Batch>> batches_;  // under way or waiting for the store
  std::uint64_t last_batch_ = 0;
  std::vector<std::pair<TimeUs, Load>> loads_again_;
  std::vector<RunId> again_;  // their verdict is in: to be processed by the next take()
  std::int64_t waiting_ = 0;  // tasks in all runs' queues
  Stays stays_;               // options_.stays, counted
  int born_ = 0;
  CommitterActions actions_;
  CommitterCounts counts_;
};

}  // namespace cairn
