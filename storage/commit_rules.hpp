// The rules that are the same for every store: which hashes a commit's events get, who may pass, what may be set.
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage/store.hpp"

namespace cairn {

inline constexpr std::int64_t missed_events_max = 1'000;

// A bug in the caller ends the process: sequence numbers with a gap, a run or a branch twice, a run of another shard,
// a `keep` without its fence, no event at all.
void check_batch(Shard shard, std::int32_t shards, std::span<const Entry> batch);

// Of this process never twice, of two processes hardly ever; grows with time.
std::int64_t next_commit_id();

// The id that the batch brings along, else a new one.
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
};

// What the store holds of an entry's run, under lock.
struct Found {
  std::optional<FoundRun> run;
  std::vector<std::optional<FoundJob>> fenced;  // one for each fence, in their order
  bool landed = false;                          // its events are in the log: an earlier attempt's COMMIT came through
};

// Verdicts in the order of the entries; head and chain hash of the committed ones are left to the store.
// A fence that does not hold counts more than a head that moved on: such an outcome is lost, not late. Entries of a
// refused link that would have passed are refused as `conflict`.
std::vector<Verdict> judge(std::span<const Entry> batch, std::span<const Found> found);

// Whether the events a conflict missed are few enough to come with it.
bool wants_missed(const Entry& entry, const Verdict& verdict);

// The epoch of a job row that is new: beyond any that an earlier row of the same branch can have reached.
inline std::int64_t first_epoch(std::int64_t head) { return head << 20; }

// Refuses `invalid`: a queue without a name, a concurrency below 1, any setting of the timers' queue.
Status check_queue(const QueueSettings& settings);

// All of the filter but `lineage` and `limit`.
bool matches(const RunFilter& filter, const RunRow& run);

}  // namespace cairn
