#include "storage/postgres/store/postgres_store.hpp"

#include <utility>

#include "storage/commit_rules.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/claims/job_claimer.hpp"
#include "storage/postgres/commit.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/postgres/notifier.hpp"
#include "storage/postgres/placements.hpp"
#include "storage/postgres/reachable.hpp"
#include "storage/postgres/rows.hpp"
#include "storage/postgres/schema.hpp"
#include "storage/postgres/store/graph_table.hpp"
#include "storage/postgres/store/history_table.hpp"
#include "storage/postgres/store/job_table.hpp"
#include "storage/postgres/store/limit_table.hpp"
#include "storage/postgres/store/progress_table.hpp"
#include "storage/postgres/store/run_table.hpp"
#include "storage/postgres/store/session_table.hpp"
#include "storage/postgres/store/shared_clock.hpp"
#include "storage/postgres/store/start_table.hpp"
#include "storage/postgres/store/value_table.hpp"

namespace cairn {
namespace {

// Before anything is asked: a connection keeps what it was opened to expect.
Placements& expecting(Placements& placements, const std::string& identity) {
  placements.expect_identity(identity);
  return placements;
}

class PostgresStore final : public Store {
 public:
  PostgresStore(const PostgresOptions& options, std::int32_t shards, std::string identity, bool is_replica)
      : shards_(shards),
        identity_(std::move(identity)),
        is_replica_(is_replica),
        committed_(options.committed),
        placements_({options.dsn, options.application, options.prepared}, options.connections_max, options.patience_ms,
                    options.silence_min_ms),
        clock_(expecting(placements_, identity_).whole()),
        notifier_(placements_, options.notify && !is_replica,
                  {options.direct_dsn.empty() ? direct_dsn_of_environment() : options.direct_dsn, identity_}),
        claimer_(placements_, notifier_.jobs()),
        starts_(placements_, {options.dsn, "cairn starts", options.prepared}, identity_, options.patience_ms) {
    claimer_.on_held_back([this](std::int64_t at_us) { notifier_.notify_at(at_us); });
  }

  std::int32_t shards() const override { return shards_; }
  std::string identity() const override { return identity_; }
  TimeUs database_time() override { return clock_.now(); }

  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    check_batch(shard, shards_, batch);
    std::vector<Verdict> verdicts = commit_batch(placements_, shard, batch, options.notify ? &notifier_ : nullptr);
    if (committed_) committed_(batch, verdicts);
    return verdicts;
  }

  LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    LockedDecision decided;
    const auto checked = [&](std::vector<LockedRun> locked) {
      decided = decide(std::move(locked));
      check_batch(shard, shards_, decided.entries);
      return decided;
    };
    LockedCommitted committed = commit_locked_batch(placements_, shard, runs, checked, notifier_);
    if (committed_) committed_(decided.entries, committed.verdicts);
    return committed;
  }

  ClaimedBatch claim(const ClaimRequest& request) override { return claimer_.claim(request); }

  std::optional<RunRow> run(const RunId& id) override { return runs_.run(id); }
  std::vector<RunRow> runs(const RunFilter& filter) override { return runs_.runs(filter); }

  std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) override {
    return histories_.events(id, after_seq, limit);
  }
  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    return histories_.histories(requests, limit);
  }
  void put_checkpoint(const Checkpoint& checkpoint) override {
    PgParameters parameters;
    parameters.add(checkpoint.process).add(checkpoint.n).add(checkpoint.at_us).add(checkpoint.key);
    parameters.add(checkpoint.heads).add(checkpoint.previous).add_bytes(checkpoint.signature);
    placements_.whole().query("put_checkpoint", parameters);
  }

  RunBook& all_runs() override { return run_book_; }
  SnapshotBook& snapshots() override { return snapshot_book_; }
  ValueBook& values() override { return value_book_; }
  JobBook& jobs() override { return job_book_; }
  ProgressBook& progress() override { return progress_book_; }
  SessionBook& sessions() override { return session_book_; }
  GraphBook& graphs() override { return graph_book_; }
  LimitBook& limits() override { return limit_book_; }
  StartBook& starts() override { return start_book_; }

  void give_up() override {
    placements_.give_up();
    starts_.give_up();
  }

  void notify() override { notifier_.notify(); }
  void notify_here() override { notifier_.notify_here(std::nullopt); }
  bool await_notification(std::int64_t timeout_ms, NotifiedBy by) override { return notifier_.await(timeout_ms, by); }

 private:
  const std::int32_t shards_;
  const std::string identity_;
  const bool is_replica_;
  const CommitWatch committed_;
  Placements placements_;
  SharedClock clock_;
  Notifier notifier_;
  JobClaimer claimer_;
  JobTable jobs_{placements_, clock_, shards_};
  RunTable runs_{placements_, shards_};
  HistoryTable histories_{placements_, shards_};
  ValueTable values_{placements_};
  ProgressTable progress_{placements_, clock_, shards_, is_replica_};
  SessionTable sessions_{placements_, shards_};
  GraphTable graphs_{placements_};
  LimitTable limits_{{placements_, clock_, claimer_}, shards_};
  StartTable starts_;
  RunBook run_book_ = run_book_of(runs_);
  SnapshotBook snapshot_book_ = snapshot_book_of(histories_);
  ValueBook value_book_ = value_book_of(values_);
  JobBook job_book_ = job_book_of(jobs_);
  ProgressBook progress_book_ = progress_book_of(progress_);
  SessionBook session_book_ = session_book_of(sessions_);
  GraphBook graph_book_ = graph_book_of(graphs_);
  LimitBook limit_book_ = limit_book_of(limits_);
  StartBook start_book_ = start_book_of(starts_);
};

Error older_schema(int version, bool is_replica) {
  std::string remedy = version == 0 ? "`cairn migrate` creates it." : "`cairn migrate` moves it forward.";
  if (is_replica) remedy = "this is a replica, which has what `cairn migrate` does to its primary once it follows.";
  return {Code::not_found,
          "Expected the schema cairn of version " + std::to_string(newest_schema()) + " in the database, but " +
              (version == 0 ? "there is none yet" : "found version " + std::to_string(version)) + ": " + remedy};
}

}  // namespace

Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options) {
  if (const Result<Pooler> pooler = pooler_of_environment(); !pooler) return pooler.error();
  if (const Status dsns = check_dsns_of_environment(); !dsns) return dsns.error();
  try {
    Administration database(options.dsn, options.application, opening_limit_ms);
    const AdminRows server = database.query("server_kind");
    server.expect_columns({"is_replica", "version", "backend"});
    if (const Status fits = check_server_version(server.number(0, 1)); !fits) return fits.error();
    if (const Status fits = check_pooler(database, server.number(0, 2), options.dsn); !fits) return fits.error();
    const bool is_replica = server.boolean(0, 0);
    if (is_replica && options.found_replica == nullptr) return takes_no_writes(options.dsn);
    const Result<SchemaFound> found = find_schema(database);
    if (!found) return found.error();
    if (found->version < newest_schema()) return older_schema(found->version, is_replica);
    const std::string identity = database.query("identity").text(0, 0);
    if (is_replica) options.found_replica();
    return std::unique_ptr<Store>(std::make_unique<PostgresStore>(options, found->shards, identity, is_replica));
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to reach the database, but: ") + failure.what()};
  } catch (const StoreUnavailable& failure) {
    return Error{Code::unavailable, failure.what()};
  }
}

}  // namespace cairn
