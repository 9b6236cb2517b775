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

  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    return store_.commit(shard, batch, options);
  }
  LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    return store_.commit_locked(shard, runs, decide);
  }
  std::optional<RunRow> run(const RunId& id) override { return store_.run(id); }
  std::vector<std::optional<RunHead>> heads(std::span<const RunId> runs) override { return store_.heads(runs); }
  std::vector<RunRow> runs(const RunFilter& filter) override { return store_.runs(filter); }
  std::int64_t count_runs(const RunFilter& filter, std::int64_t at_most) override {
    return store_.count_runs(filter, at_most);
  }
  std::vector<RunId> runs_between(const RunId& first, const RunId& last, std::int32_t limit) override {
    return store_.runs_between(first, last, limit);
  }
  std::optional<ImportOrigin> imported(const RunId& id) override { return store_.imported(id); }
  std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) override {
    return store_.events(id, after_seq, limit);
  }
  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    return store_.histories(requests, limit);
  }
  std::optional<SnapshotRow> snapshot(const RunId& id, std::int32_t fold_version, std::int64_t at_most) override {
    return store_.snapshot(id, fold_version, at_most);
  }
  void put_snapshot(const RunId& id, const SnapshotRow& snapshot) override { store_.put_snapshot(id, snapshot); }
  void drop_snapshots(const RunId& id) override { store_.drop_snapshots(id); }
  std::vector<QuestionRow> questions(const RunId& id, std::int32_t limit) override {
    return store_.questions(id, limit);
  }
  std::vector<RunId> orphans(OrphanMark& mark, std::int32_t limit) override { return store_.orphans(mark, limit); }
  std::vector<LooseEnd> loose_ends(const RunId& after, std::int32_t limit) override {
    return store_.loose_ends(after, limit);
  }
  void put_progress(SessionId session, std::span<const ProgressRow> texts,
                    std::span<const ProgressPlace> ended) override {
    store_.put_progress(session, texts, ended);
  }
  std::vector<ProgressRow> progress(const RunId& id) override { return store_.progress(id); }
  void tie_ends(std::span<const RunId> runs) override { store_.tie_ends(runs); }
  std::vector<QuestionRow> questions_after(const QuestionPlace& after, std::int32_t limit,
                                           std::int64_t bytes_max) override {
    return store_.questions_after(after, limit, bytes_max);
  }
  bool renew_blobs(Shard shard, std::span<const Hash> hashes) override { return store_.renew_blobs(shard, hashes); }
  void put_blob(Shard shard, const Hash& hash, std::string_view bytes) override { store_.put_blob(shard, hash, bytes); }
  std::optional<std::string> blob(Shard shard, const Hash& hash) override { return store_.blob(shard, hash); }
  void put_checkpoint(const Checkpoint& checkpoint) override { store_.put_checkpoint(checkpoint); }
  void put_graph(const GraphRow& graph) override { store_.put_graph(graph); }
  std::vector<GraphRow> graphs() override { return store_.graphs(); }
  std::int64_t graphs_mark() override { return store_.graphs_mark(); }
  std::vector<GraphRow> graph_names() override { return store_.graph_names(); }
  std::vector<GraphRow> graphs_of(std::span<const std::string> versions) override { return store_.graphs_of(versions); }

  ClaimedBatch claim(const ClaimRequest& request) override { return store_.claim(request); }
  std::vector<HoldStanding> standing(std::span<const std::pair<RunId, Fence>> holds) override {
    return store_.standing(holds);
  }
  void release(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us) override {
    store_.release(holds, run_at_us);
  }
  std::vector<HeldJob> jobs(const RunId& id) override { return store_.jobs(id); }
  std::vector<QueueRow> queues() override { return store_.queues(); }
  LimitBook& limits() override { return store_.limits(); }
  StartBook& starts() override { return store_.starts(); }
  void notify() override { store_.notify(); }
  bool await_notification(std::int64_t timeout_ms) override { return store_.await_notification(timeout_ms); }

  void open_session(const SessionRow& session) override { store_.open_session(session); }
  void beat(SessionId session) override { store_.beat(session); }
  void set_alone(SessionId session, const std::string& hold) override { store_.set_alone(session, hold); }
  void set_begun(SessionId session, const std::vector<std::string>& attempts) override {
    store_.set_begun(session, attempts);
  }
  void set_home(SessionId session, const RunId& run, bool is_home) override { store_.set_home(session, run, is_home); }
  void close_session(SessionId session) override { store_.close_session(session); }
  std::vector<SessionRow> sessions() override { return store_.sessions(); }
  std::vector<HeldJob> held_by(SessionId session, std::int32_t limit, RunShare share) override {
    return store_.held_by(session, limit, share);
  }
  HeldScan scan_held(SessionId session, TimeUs now_us, std::int32_t limit) override {
    return store_.scan_held(session, now_us, limit);
  }
  std::map<SessionId, std::int64_t> held_counts() override { return store_.held_counts(); }
  void end_stalled(std::int64_t after_ms) override { store_.end_stalled(after_ms); }

 protected:
  Store& store_;
};

}  // namespace cairn
