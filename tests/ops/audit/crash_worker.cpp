// A worker that executes one run: to its end, or until the commit that brings the run's head to a given event, after
// which the process is gone without a word. The crash is here, in a store around the real one; the product has none.
//   crash_worker DSN RUN EVENT      EVENT 0: no crash; negative: just before the commit that brings the head there;
//                                   exit 137 after the crash, 0 when the run has ended or waits
#include <cstdlib>
#include <unistd.h>

#include "storage/postgres/postgres_store.hpp"
#include "workers/catalogue.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

class CrashingStore final : public Store {
 public:
  CrashingStore(Store& store, const RunId& run, std::int64_t event) : store_(store), run_(run), event_(event) {}

  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    for (const Entry& entry : batch)
      if (event_ < 0 && entry.run.id == run_ && entry.events.back().seq >= -event_) _exit(137);
    std::vector<Verdict> verdicts = store_.commit(shard, batch, options);
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (event_ > 0 && batch[i].run.id == run_ && verdicts[i].kind == Verdict::Kind::committed &&
          verdicts[i].head >= event_)
        _exit(137);
    return verdicts;
  }

  std::int32_t shards() const override { return store_.shards(); }
  std::string identity() const override { return store_.identity(); }
  void put_checkpoint(const Checkpoint& checkpoint) override { store_.put_checkpoint(checkpoint); }
  TimeUs database_time() override { return store_.database_time(); }
  ClaimedBatch claim(const ClaimRequest& request) override { return store_.claim(request); }
  void release(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us) override {
    store_.release(holds, run_at_us);
  }
  std::optional<RunRow> run(const RunId& id) override { return store_.run(id); }
  std::vector<RunRow> runs(const RunFilter& filter) override { return store_.runs(filter); }
  std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) override {
    return store_.events(id, after_seq, limit);
  }
  std::optional<SnapshotRow> snapshot(const RunId& id, std::int32_t version, std::int64_t at_most) override {
    return store_.snapshot(id, version, at_most);
  }
  std::vector<Past> pasts(std::span<const PastRequest> requests, std::int32_t limit) override {
    return store_.pasts(requests, limit);
  }
  void put_snapshot(const RunId& id, const SnapshotRow& snapshot) override { store_.put_snapshot(id, snapshot); }
  std::vector<QuestionRow> questions(const RunId& id, std::int32_t limit) override {
    return store_.questions(id, limit);
  }
  void put_blob(Shard shard, const Hash& hash, std::string_view bytes) override { store_.put_blob(shard, hash, bytes); }
  std::optional<std::string> blob(Shard shard, const Hash& hash) override { return store_.blob(shard, hash); }
  void put_graph(const GraphRow& graph) override { store_.put_graph(graph); }
  std::vector<GraphRow> graphs() override { return store_.graphs(); }
  std::vector<HeldJob> jobs(const RunId& id) override { return store_.jobs(id); }
  std::vector<QueueRow> queues() override { return store_.queues(); }
  Status set_queue(const QueueSettings& settings) override { return store_.set_queue(settings); }
  std::vector<QueueSettings> queue_settings() override { return store_.queue_settings(); }
  void open_session(const SessionRow& session) override { store_.open_session(session); }
  void end_stalled(std::int64_t after_ms) override { store_.end_stalled(after_ms); }
  void beat(SessionId session) override { store_.beat(session); }
  void close_session(SessionId session) override { store_.close_session(session); }
  std::vector<SessionRow> sessions() override { return store_.sessions(); }
  std::vector<HeldJob> held_by(SessionId session, std::int32_t limit) override {
    return store_.held_by(session, limit);
  }
  HeldScan scan_held(SessionId session, TimeUs now_us, std::int32_t limit) override {
    return store_.scan_held(session, now_us, limit);
  }
  std::map<SessionId, std::int64_t> held_counts() override { return store_.held_counts(); }
  std::vector<RunId> orphans(std::int32_t limit) override { return store_.orphans(limit); }
  void notify() override { store_.notify(); }
  bool await_notification(std::int64_t timeout_ms) override { return store_.await_notification(timeout_ms); }

 private:
  Store& store_;
  RunId run_;
  std::int64_t event_;
};

int execute(const std::string& dsn, const RunId& run, std::int64_t event) {
  PostgresOptions database;
  database.dsn = dsn;
  Result<std::unique_ptr<Store>> store = open_postgres_store(database);
  Result<std::unique_ptr<Catalogue>> catalogue = make_catalogue(catalogue_options_from_environment());
  if (!store || !catalogue) return 2;
  (*catalogue)->use_database(dsn, true);
  CrashingStore crashing(**store, run, event);
  WorkerOptions options;
  options.only_runs = {run};
  options.poll_ms = 20;
  options.beat_ms = 50;
  options.dead_after_ms = 250;
  options.until = [&] {
    const std::optional<RunRow> row = (*store)->run(run);
    return !row || is_ended(row->status) || row->waiting;
  };
  Worker(crashing, **catalogue, options).run();
  return 0;
}

}  // namespace
}  // namespace cairn

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::optional<cairn::RunId> run = cairn::parse_run_id(argv[2]);
  return run ? cairn::execute(argv[1], *run, std::atoll(argv[3])) : 2;
}
