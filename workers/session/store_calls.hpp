// The calls that a session makes of the store: plain values. Each struct holds a call whole: what is asked, how it is
// carried out, and its answer. A new call is a struct here, its place in StoreCall, and what the session makes of it in
// session_answers.cpp. carry_out() blocks on the store and is safe from any thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "storage/limit_book.hpp"
#include "storage/store.hpp"
#include "workers/runs/blob_texts.hpp"
#include "workers/runs/committer.hpp"
#include "workers/runs/executor.hpp"
#include "workers/runs/graph_shelf.hpp"
#include "workers/runs/history.hpp"
#include "workers/runs/recorded_answers.hpp"

namespace cairn {

// Where calls are carried out.
struct CallSite {
  Store& store;
  const std::function<TimeUs()>& steady;  // a monotonic clock
  // Whether the session's process, as seen from here, has exited; empty: none can be seen.
  std::function<bool(const SessionRow&)> has_exited = {};
  // The session's decision about what was locked; called while the store holds its locks, so it waits for nothing.
  std::function<LockedDecision(std::uint64_t batch, std::vector<LockedRun> runs)> decide_locked = {};
};

// In each: `answer` is what carry_out() left; it means nothing before. `purpose()` is for a sentence: "Expected to
// <claim steps>, but ...". carry_out() throws StoreUnavailable: then it happened or not.

struct OpenSession {
  SessionRow row;            // its start is the database's time
  KnownGraphs known = {};    // what the answer brings is added
  bool wants_queues = true;  // of every version, also of those that are not current
  struct Answer {
    TimeUs database_us = 0;
    TimeUs steady_us = 0;  // at that moment
    ReadGraphsOf graphs;
    std::vector<QueueLimits> queue_limits;
  };
  Answer answer = {};
  static const char* purpose() { return "open a session"; }
  void carry_out(const CallSite& at);
};

struct CloseSession {
  SessionId session = 0;
  static const char* purpose() { return "close the session"; }
  void carry_out(const CallSite& at) const { at.store.sessions().close(session); }
};

struct ReadGraphs {
  KnownGraphs known = {};  // what the answer brings is added
  bool wants_queues = true;
  ReadGraphsOf answer = {};
  static const char* purpose() { return "read the graphs"; }
  void carry_out(const CallSite& at) { answer = read_new_graphs(at.store, known, wants_queues); }
};

struct ReadHistories {
  std::vector<Load> loads;
  struct Answer {
    std::vector<History> histories;  // of the loads, in their order
    ReadGraphsOf graphs;             // of the loads that asked for them
  };
  Answer answer = {};
  static const char* purpose() { return "read histories"; }
  void carry_out(const CallSite& at);
};

// The loads as calls: many in one, and each that failed among others in one of its own.
std::vector<ReadHistories> calls_of(std::vector<Load> loads);

struct Commit {
  CommitBatch batch;
  std::vector<Verdict> answer = {};
  static const char* purpose() { return "commit"; }
  void carry_out(const CallSite& at);
};

// Its decision is asked of the session while the locks are held.
struct CommitLocked {
  LockedCommit commit;
  LockedCommitted answer = {};
  static const char* purpose() { return "commit under locks"; }
  void carry_out(const CallSite& at);

 private:
  void lock_without_missed(Store& store, const DecideLocked& decide);
};

struct KeepSnapshot {
  PutSnapshot what;
  static const char* purpose() { return "keep a snapshot"; }
  void carry_out(const CallSite& at) const { at.store.snapshots().put(what.run, what.row); }
};

struct ClaimJobs {
  ClaimRequest request;
  TimeUs asked_us = 0;  // steady
  ClaimedBatch answer = {};
  static const char* purpose() { return "claim steps"; }
  void carry_out(const CallSite& at) { answer = at.store.claim(request); }
};

// Starts of a queue, for jobs that are held already. The answer: how many of each key may begin.
struct TakeStarts {
  std::string queue;
  KeyCounts asked;
  KeyCounts answer = {};
  static const char* purpose() { return "take starts of a queue"; }
  void carry_out(const CallSite& at) { answer = at.store.limits().take_starts(queue, asked); }
};

// Do jobs of other keys than the one named wait in a queue with keys, or any at all?
struct AskForOthers {
  std::string queue;
  Shard shard = 0;
  std::optional<std::string> but_of = {};
  TimeUs now_us = 0;
  bool answer = false;
  static const char* purpose() { return "ask who waits"; }
  void carry_out(const CallSite& at) { answer = at.store.limits().others_wait(queue, shard, but_of, now_us); }
};

struct LetGo {
  std::vector<std::pair<RunId, Fence>> holds;
  TimeUs run_at_us = 0;
  Ticket report = 0;          // of a worker over HTTP, that asked for it; 0: none
  bool is_of_others = false;  // of sessions taken for dead, or late: those that have begun meanwhile stay theirs
  std::size_t answer = 0;     // how many were held
  static const char* purpose() { return "let go of steps"; }
  void carry_out(const CallSite& at);
};

// Two calls about what the step in `slot` reads and leaves besides its events: large values, and the record, where the
// run is a fork that takes its answers from one.
struct ReadBlobs {
  Ticket slot = 0;
  Shard shard = 0;
  std::shared_ptr<Work> work;  // made whole in place; the call's alone while it is under way
  Graphs graphs;               // for a record, with the handlers
  const HandlerTable* handlers = nullptr;
  std::shared_ptr<RecordedAnswersCache> records = {};
  std::shared_ptr<BlobTexts> texts = {};
  static const char* purpose() { return "read large values"; }
  void carry_out(const CallSite& at) const;
};
struct KeepBlobs {
  Ticket slot = 0;
  Shard shard = 0;
  std::vector<Blob> blobs;
  Command command;  // the report that names them; that of a failure if there is no memory to keep them
  static const char* purpose() { return "keep large values"; }
  void carry_out(const CallSite& at);
};

// Says which hold the session executes alone, written before that begins and after it has ended: if the worker
// dies, those who take over its holds know which of them had begun.
struct SetAlone {
  SessionId session = 0;
  std::string hold;  // as SessionRow::alone has it; "": none
  static const char* purpose() { return "say what runs alone"; }
  void carry_out(const CallSite& at) const { at.store.sessions().set_alone(session, hold); }
};

// Says which attempts of steps that may not be lost have begun, written before they do: if the worker dies, those who
// take over its holds offer the others again. So they begin only if they are still held after it is written: a worker
// that stood still may have been taken for dead, and others may have begun them.
struct SetBegun {
  SessionId session = 0;
  std::vector<std::string> attempts = {};           // as SessionRow::begun has them: also those that began before
  std::vector<Ticket> slots = {};                   // that wait for it
  std::vector<std::pair<RunId, Fence>> holds = {};  // theirs
  std::vector<HoldStanding> answer = {};            // of each
  static const char* purpose() { return "say what has begun"; }
  void carry_out(const CallSite& at);
};

// Says that the session is the run's home, or is so no longer. Nothing waits for it.
struct SetHome {
  SessionId session = 0;
  RunId run;
  bool is_home = true;
  static const char* purpose() { return "say whose steps stay here"; }
  void carry_out(const CallSite& at) const { at.store.sessions().set_home(session, run, is_home); }
};

// The texts that steps have said since the last such call, and the steps that ended since, whose rows go.
struct KeepProgress {
  SessionId session = 0;
  std::vector<ProgressRow> texts;
  std::vector<ProgressPlace> ended;
  static const char* purpose() { return "show the progress of steps"; }
  void carry_out(const CallSite& at) const { at.store.progress().put(session, texts, ended); }
};

// A scan of all sessions, and if asked of all jobs that are held: no index knows those (a held row moves to its next
// step without one), so that this costs as much as there are jobs.
struct ScanSessions {
  SessionId session = 0;
  std::int32_t held_max = 0;
  TimeUs now_us = 0;    // the database's
  TimeUs asked_us = 0;  // steady
  OrphanMark orphans_from = {};
  bool scans_jobs = true;
  RunId loose_after = {};  // where the scan for loose ends goes on
  struct Answer {
    std::vector<SessionRow> sessions;
    std::vector<SessionId> exited;  // of these, those whose process has exited
    HeldScan held;
    TimeUs jobs_took_us = 0;  // to scan; steady
    std::vector<RunId> orphans;
    std::vector<LooseEnd> loose_ends;
    bool are_last = true;  // of the loose ends
    std::vector<QueueLimits> queue_limits;
    TimeUs database_us = 0;
    TimeUs steady_us = 0;  // at that moment
  };
  Answer answer = {};
  static const char* purpose() { return "look after the other sessions"; }
  void carry_out(const CallSite& at);
};

// Answered by what the dead session still holds of these runs; if it is nothing of all runs, its row is gone.
struct ReapSession {
  static constexpr std::int32_t holds_max = 2'000;  // at once
  SessionId session = 0;
  RunShare share = {};
  std::vector<HeldJob> answer = {};
  static const char* purpose() { return "reap a dead session"; }
  void carry_out(const CallSite& at);
};

// The callers of these ended runs know of their ends.
struct TieEnds {
  std::vector<RunId> runs;
  static const char* purpose() { return "tie the ends of called runs"; }
  void carry_out(const CallSite& at) const { at.store.all_runs().tie_ends(runs); }
};

using StoreCall = std::variant<OpenSession, CloseSession, ReadGraphs, ReadHistories, Commit, CommitLocked, KeepSnapshot,
                               ClaimJobs, TakeStarts, AskForOthers, LetGo, ReadBlobs, KeepBlobs, SetAlone, SetBegun,
                               SetHome, KeepProgress, ScanSessions, ReapSession, TieEnds>;

const char* purpose(const StoreCall& call);
void carry_out(StoreCall& call, const CallSite& at);

}  // namespace cairn
