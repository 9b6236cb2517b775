// Test runs for stores: small entries, and a run's head kept from commit to commit. A TestRun is not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "storage/store.hpp"

namespace cairn::test {

// A new run id on that shard.
RunId run_on(Shard shard, std::int32_t shards);

inline constexpr TimeUs noon = 1'700'000'000'000'000;

Job job_of(BranchId branch, StepId step, TimeUs run_at_us = noon, std::string queue = "default",
           std::int32_t priority = 0);
JobWrite offer(Job job);
JobWrite keep(Job job);
JobWrite hold(Job job, SessionId session);
JobWrite adjust(Job job);
JobWrite drop(BranchId branch);

Fence fence_of(const HeldJob& held);

// One run, as seen by its only writer.
class TestRun {
 public:
  TestRun(Store& store, Shard shard = 0);

  const RunId& id() const { return row.id; }
  // The next commit: `events` of them, at the known head.
  Entry entry(int events = 1) const;
  // Commits it alone; the head moves when it is committed.
  Verdict commit(const Entry& entry);
  // Starts the run with one offered job.
  Verdict start(Job job);
  void moved(const Entry& entry, const Verdict& verdict);

  RunRow row;
  std::int64_t head = 0;
  Hash chain_hash{};

 private:
  Store& store_;
  Shard shard_;
};

// At 0.1 s after noon: jobs of noon are due, and no low-water mark passes them. On a slow machine a claim may leave out
// for a while the jobs before its marks.
ClaimRequest claim_request(SessionId session, std::int32_t limit = 10, Shard shard = 0);

// Empty if the run's events have no gap and every hash follows from the one before and the bytes; else what is wrong.
std::string chain_fault(Store& store, const RunId& run);

}  // namespace cairn::test
