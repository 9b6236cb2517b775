// A store in whose place another one comes, as when a standby takes over. Not thread-safe.
#pragma once

#include <span>
#include <vector>

#include "tests/storage/forwarding_store.hpp"

namespace cairn::test {

// Another server that takes over, with a history of its own of the same run.
class TakenOver final : public ForwardingStore {
 public:
  TakenOver(Store& before, Store& after) : ForwardingStore(before), after_(after) {}
  JobBook& jobs() override { return has_taken_over_ ? after_.jobs() : ForwardingStore::jobs(); }
  void take_over() { has_taken_over_ = true; }

  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    return has_taken_over_ ? after_.histories(requests, limit) : ForwardingStore::histories(requests, limit);
  }
  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    return has_taken_over_ ? after_.commit(shard, batch, options) : ForwardingStore::commit(shard, batch, options);
  }
  LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    return has_taken_over_ ? after_.commit_locked(shard, runs, decide)
                           : ForwardingStore::commit_locked(shard, runs, decide);
  }

  ClaimedBatch claim(const ClaimRequest& request) override {
    return has_taken_over_ ? after_.claim(request) : ForwardingStore::claim(request);
  }

 private:
  Store& after_;
  bool has_taken_over_ = false;
};

}  // namespace cairn::test
