// A store that forwards every call to another one: the base of stores that add something to some calls, such as
// counting them, or failing at them in a test. Safe from any thread if the other store is.
#pragma once

#include "storage/store.hpp"

namespace cairn {

class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(Store& store) : store_(store) {}

  std::int32_t shards() const override { return store_.shards(); }
  std::string identity() const override { return store_.identity(); }
  void give_up() override { store_.give_up(); }
  TimeUs database_time() override { return store_.database_time(); }

  RunBook& all_runs() override { return store_.all_runs(); }
  SnapshotBook& snapshots() override { return store_.snapshots(); }
  ValueBook& values() override { return store_.values(); }
  JobBook& jobs() override { return store_.jobs(); }
  ProgressBook& progress() override { return store_.progress(); }
  SessionBook& sessions() override { return store_.sessions(); }
  GraphBook& graphs() override { return store_.graphs(); }
  LimitBook& limits() override { return store_.limits(); }
  StartBook& starts() override { return store_.starts(); }

  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    return store_.commit(shard, batch, options);
  }
  LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    return store_.commit_locked(shard, runs, decide);
  }
  std::optional<RunRow> run(const RunId& id) override { return store_.run(id); }
  std::vector<RunRow> runs(const RunFilter& filter) override { return store_.runs(filter); }
  std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) override {
    return store_.events(id, after_seq, limit);
  }
  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    return store_.histories(requests, limit);
  }
  void put_checkpoint(const Checkpoint& checkpoint) override { store_.put_checkpoint(checkpoint); }

  ClaimedBatch claim(const ClaimRequest& request) override { return store_.claim(request); }
  void notify() override { store_.notify(); }
  void notify_here() override { store_.notify_here(); }
  bool await_notification(std::int64_t timeout_ms, NotifiedBy by) override {
    return store_.await_notification(timeout_ms, by);
  }

 protected:
  Store& store_;
};

}  // namespace cairn
