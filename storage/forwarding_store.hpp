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
  std::vector<std::optional<RunHead>> heads(std::span<const RunId> runs) override { return store_.heads(runs); }
  std::vector<RunRow> runs(const RunFilter& filter) override { return store_.runs(filter); }
  std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) override {
    return store_.events(id, after_seq, limit);
  }
  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    return store_.histories(requests, limit);
  }
  std::optional<SnapshotRow> snapshot(const RunId& id, std::int32_t version, std::int64_t at_most) override {
    return store_.snapshot(id, version, at_most);
  }
  void put_snapshot(const RunId& id, const SnapshotRow& snapshot) override { store_.put_snapshot(id, snapshot); }
  void drop_snapshots(const RunId& id) override { store_.drop_snapshots(id); }
  void put_progress(SessionId session, std::span<const ProgressRow> texts,
                    std::span<const ProgressPlace> ended) override {
    store_.put_progress(session, texts, ended);
  }
  std::vector<ProgressRow> progress(const RunId& id) override { return store_.progress(id); }
  bool renew_blobs(Shard shard, std::span<const Hash> hashes) override { return store_.renew_blobs(shard, hashes); }
  void put_blob(Shard shard, const Hash& hash, std::string_view bytes) override { store_.put_blob(shard, hash, bytes); }
  std::optional<std::string> blob(Shard shard, const Hash& hash) override { return store_.blob(shard, hash); }
  void put_checkpoint(const Checkpoint& checkpoint) override { store_.put_checkpoint(checkpoint); }

  ClaimedBatch claim(const ClaimRequest& request) override { return store_.claim(request); }
  std::vector<HoldStanding> standing(std::span<const std::pair<RunId, Fence>> holds) override {
    return store_.standing(holds);
  }
  void release(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us) override {
    store_.release(holds, run_at_us);
  }
  std::vector<HeldJob> jobs(const RunId& id) override { return store_.jobs(id); }
  std::vector<QueueRow> queues() override { return store_.queues(); }
  void notify() override { store_.notify(); }
  bool await_notification(std::int64_t timeout_ms) override { return store_.await_notification(timeout_ms); }

 protected:
  Store& store_;
};

}  // namespace cairn
