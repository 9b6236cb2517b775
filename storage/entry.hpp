// A commit's input and answer: entries, each with everything that one run gains in one transaction, and a verdict on
// each. Plain values.
//
// Concurrency control is optimistic: an entry names the head and chain hash it was decided on, and the store refuses it
// as `conflict` if the run has moved on. Where several processes write one run, its entry is decided under a lock
// instead (pessimistic). Many runs' entries go in one batch, which is a group commit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/log.hpp"
#include "storage/queue.hpp"

namespace cairn {

// Everything that one run gains in one commit. Several outcomes of one run are one entry.
struct Entry {
  RunRow run;                    // as it is after the events; head and chain_hash are set by the store
  std::int64_t head_before = 0;  // 0: the run must not exist
  Hash chain_before{};           // the cached chain hash at head_before; ignored when head_before is 0
  std::vector<EventRow> events;  // seq = head_before + 1 ...; at least one
  std::vector<Fence> fences;
  std::vector<JobWrite> jobs;  // each branch at most once
  std::vector<QuestionRow> asked;
  std::vector<std::string> closed_questions;
  std::uint32_t link = 0;        // entries of a batch with the same non-zero link share one verdict
  std::int64_t commit = 0;       // the id of its batch, the same in all of its entries; 0: the store makes one up
  bool caller_knows = false;     // of a called run that ends: its caller's history has the end, or needs it no more
  bool drops_snapshots = false;  // of a run that ends and may have some: they go with the same commit
  bool in_doubt = false;         // the batch was given before under this id; entries already in the log are `committed`
};

struct Verdict {
  enum class Kind : std::uint8_t {
    committed,
    conflict,  // the run is at another head (or exists already)
    stale,     // a fence does not hold; `stale` names its branch
    closed,    // a fenced job is gone because the run has ended
    archived,  // a new run's id is that of an archived run; `fault` says where it is
    refused,   // the database will never take the entry (too long for an index, encoding, a damaged page ...)
  };
  Kind kind = Kind::committed;
  std::int64_t head = 0;        // the run's head now; 0: there is no such run
  Hash chain_hash{};            // at head
  std::vector<BranchId> stale;  // branches whose fence failed
  std::string fault;            // refused: the database's sentence; archived: ours
};

struct CommitOptions {
  bool notify = false;  // also send a notification after the commit, without waiting for it
};

// A run to be locked before its entry is decided, and the head up to which the caller knows it.
struct KnownRun {
  RunId id;
  std::int64_t head = 0;
};
// The same run under its lock.
struct LockedRun {
  std::int64_t head = 0;         // 0: there is no such run; -1: the store refuses to give or lock it, whatever it holds
  Hash chain_hash{};             // at head
  std::vector<EventRow> missed;  // the events after the known head; of many, in number or in bytes, only the first
};
// The entries that were decided under the locks; they stay as they are until the commit has been answered.
struct LockedDecision {
  std::span<const Entry> entries;
  CommitOptions options;
  // Jobs of the locked runs (`only_runs`) to be claimed in the same transaction, once the entries are written. Nothing
  // of a limited queue is, and nothing at all if the entries have to be judged apart.
  std::optional<ClaimRequest> claim = {};
};
struct LockedCommitted {
  std::vector<Verdict> verdicts;
  std::vector<HeldJob> claimed = {};
};
using DecideLocked = std::function<LockedDecision(std::vector<LockedRun> runs)>;

}  // namespace cairn
