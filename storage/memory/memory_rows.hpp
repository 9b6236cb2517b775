// The rows of the store in memory, which its parts share under one lock: runs with all that belongs to each, and worker
// sessions. Not safe from several threads without that lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/store.hpp"

namespace cairn {

// An adjustment of a held row: applied when the row is released, unless its step or attempt has changed by then.
struct Adjustment {
  StepId step = 0;
  std::int32_t attempt = 0;
  Job job;
};

struct StoredRun {
  void adjust_released(Job& job) {
    const auto found = on_release.find(job.branch);
    if (found == on_release.end()) return;
    const Adjustment& wanted = found->second;
    if (wanted.step == job.step && wanted.attempt == job.attempt) {
      job.queue = wanted.job.queue;
      job.priority = wanted.job.priority;
      job.timeout_ms = wanted.job.timeout_ms;
    }
    on_release.erase(found);
  }

  RunRow row;
  std::vector<EventRow> events;
  std::map<BranchId, HeldJob> jobs;
  std::map<BranchId, Adjustment> on_release;
  std::set<BranchId> at_home;  // free, and found by the run's home alone
  std::optional<SessionId> home = {};
  std::map<std::string, QuestionRow> questions;
  std::map<std::pair<std::int32_t, std::int64_t>, SnapshotRow> snapshots;  // by fold version and seq
  std::map<std::pair<StepId, std::int32_t>, ProgressRow> progress;         // by step and attempt
};

struct MemoryRows {
  const std::int32_t shards;
  const std::function<TimeUs()> clock;
  mutable std::recursive_mutex mutex = {};  // a test may look while an entry is decided under the lock
  std::map<RunId, StoredRun> runs = {};
  std::map<SessionId, SessionRow> sessions = {};
  std::set<RunId> loose_ends = {};

  HeldJob with_head(const HeldJob& job) const {
    HeldJob whole = job;
    whole.run_head = runs.at(job.run).row.head;
    return whole;
  }

  // The first `limit` jobs of those that match, with the heads of their runs.
  template <class Matches>
  std::vector<HeldJob> select(const Matches& is_match, std::int64_t limit) const {
    std::vector<HeldJob> jobs;
    for (const auto& [id, run] : runs) {
      for (const auto& [branch, job] : run.jobs) {
        if (static_cast<std::int64_t>(jobs.size()) < limit && is_match(job)) jobs.push_back(with_head(job));
      }
    }
    return jobs;
  }
};

template <class T>
void cut(std::vector<T>& values, std::int32_t limit) {
  const auto size_max = static_cast<std::size_t>(std::max(limit, 0));
  if (values.size() > size_max) values.erase(values.begin() + static_cast<std::ptrdiff_t>(size_max), values.end());
}

}  // namespace cairn
