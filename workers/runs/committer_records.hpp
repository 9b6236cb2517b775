// The committer's own records: a batch under way, and what its sources share. Included by the committer's sources
// alone. Not thread-safe.
#pragma once

#include <algorithm>
#include <utility>

#include "workers/runs/cached_run.hpp"
#include "workers/runs/committer.hpp"

namespace cairn {

inline constexpr TimeUs again_us = 200'000;     // after a failure of the store
inline constexpr TimeUs rivals_us = 2'000'000;  // after the last event of another writer
inline constexpr int conflicts_max = 9;         // one after another without progress: about ten seconds

inline std::int64_t bytes_of(std::span<const EventRow> rows) {
  std::int64_t bytes = 0;
  for (const EventRow& row : rows) bytes += static_cast<std::int64_t>(row.payload.size());
  return bytes;
}

inline bool frees(const JobWrite& write) { return write.op == JobWrite::Op::offer || write.op == JobWrite::Op::adjust; }

// Something that others may claim at once.
inline bool offers(const std::vector<Entry>& entries, TimeUs now_us) {
  return std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
    return std::any_of(entry.jobs.begin(), entry.jobs.end(),
                       [&](const JobWrite& write) { return frees(write) && write.job.run_at_us <= now_us; });
  });
}

struct Committer::Batch {
  std::uint64_t id = 0;
  Shard shard = 0;
  std::vector<Entry> entries;
  std::vector<CachedRun*> runs;
  std::size_t bytes = 0;      // of the entries' events
  bool is_undecided = false;  // its runs are to be locked first
  bool is_locked = false;     // they are, or will be
  TimeUs asked_at = 0;        // when it was sent first
  std::set<RunId> locked;     // the runs that were locked for it
  TimeUs retry_at = never_us;
  int failures = 0;
  int refusals = 0;  // of them, those that no other attempt would cure
};

}  // namespace cairn
