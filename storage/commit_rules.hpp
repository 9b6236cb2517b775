// The rules that both stores share: the chain hashes of a commit's events, the verdict on each entry, the checks of a
// batch, what a claim says of who waits. Pure functions except next_commit_id(); safe from any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage/limits/unit_budget.hpp"
#include "storage/store.hpp"

namespace cairn {

struct QueueLimits;

inline constexpr std::int32_t missed_events_max = 1'000;  // of a LockedRun
// The same in bytes of their payloads: a share of 32 MiB.
inline std::int64_t missed_bytes_max(std::size_t runs) {
  return (std::int64_t{32} << 20) / static_cast<std::int64_t>(std::max<std::size_t>(runs, 1));
}

// One that the store refuses to give or to lock.
inline LockedRun run_not_given() {
  LockedRun run;
  run.head = -1;
  return run;
}

// CHECKs what callers must get right: sequence numbers without a gap, each run and branch once, every run of this
// shard, a fence for each `keep`, at least one event.
void check_batch(Shard shard, std::int32_t shards, std::span<const Entry> batch);

// Unique within a process, practically unique across processes; increasing.
std::int64_t next_commit_id();

// The id that the batch's entries carry, otherwise a new one.
std::int64_t commit_id_of(std::span<const Entry> batch);

// The chain hashes of an entry's events, in order.
std::vector<Hash> chain_hashes(Shard shard, const Entry& entry, std::int64_t commit);

struct FoundRun {
  std::int64_t head = 0;
  Hash chain_hash{};
  RunStatus status = RunStatus::running;
};

struct FoundJob {
  SessionId session = 0;
  std::int64_t epoch = 0;
  StepId step = 0;
  TimeUs deadline_us = never_us;
};

// The tombstone of an archived or erased run.
struct FoundTombstone {
  TimeUs at_us = 0;
  std::string file;
  Hash file_digest{};
  std::string erased_by = {};
};

// The state of an entry's run and fenced jobs as the store found it under lock.
struct Found {
  std::optional<FoundRun> run;
  std::vector<std::optional<FoundJob>> fenced;   // one for each fence, in their order
  bool landed = false;                           // the events are in the log: an earlier attempt's COMMIT succeeded
  std::optional<FoundTombstone> tombstone = {};  // of a new run that was archived
};

// The attempt as SessionRow::begun names it.
std::string attempt_text(const HeldJob& held);

// Tokens and cost of the entry's model calls, by the branches under whose holds they were made; none of nothing.
std::vector<StepUse> uses_of(const Entry& entry);

// Verdicts in the order of the entries; the store adds head and chain hash of the committed ones. A failed fence counts
// more than a head that moved on: such an outcome is lost, not late. If one entry of a link is refused, the others are
// refused as `conflict`.
std::vector<Verdict> judge(std::span<const Entry> batch, std::span<const Found> found);

// The epoch of a new job row: above any that an earlier row of the same branch can have had, so that old fencing tokens
// stay invalid.
inline std::int64_t first_epoch(std::int64_t head) { return head << 20; }

// When a step that begins now counts as hung: after the job's timeout, or else the default, and a grace in which the
// worker's own timeout comes first. `never_us` without a timeout.
TimeUs deadline_of(const Job& job, std::int64_t default_timeout_ms, TimeUs now_us);

// Adds to the batch of a claim where no one waits in a queue with these limits, as the claim saw it; for a place only
// where there are some. Nothing, where a held branch never goes on.
void note_no_one_waits(ClaimedBatch& batch, const QueueLimits& limits, NoOneWaits there);

// True if the run passes the filter, `lineage` and `limit` left aside.
bool matches(const RunFilter& filter, const RunRow& run);

}  // namespace cairn
