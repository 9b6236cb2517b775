#include "storage/postgres/postgres_store.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "storage/clock.hpp"
#include "storage/commit_rules.hpp"
#include "storage/limit_book.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/claim_parameters.hpp"
#include "storage/postgres/commit.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/postgres/job_claimer.hpp"
#include "storage/postgres/notifier.hpp"
#include "storage/postgres/placements.hpp"
#include "storage/postgres/rows.hpp"
#include "storage/postgres/schema.hpp"
#include "storage/postgres/start_table.hpp"

namespace cairn {
namespace {

constexpr std::int64_t clock_checked_every_us = 5'000'000;
constexpr int clock_asked = 3;  // each time
constexpr auto loose_end_columns = std::to_array<std::string_view>({"run_id", "caller_is_open"});
constexpr auto progress_columns =
    std::to_array<std::string_view>({"branch", "step", "attempt", "session", "at", "written", "node", "text"});
constexpr std::size_t lineage_max = 10'000;
constexpr auto standing_columns = std::to_array<std::string_view>({"place", "is_there", "is_held"});
constexpr auto import_columns = std::to_array<std::string_view>({"at", "actor", "origin", "file_digest", "key"});
constexpr std::array<std::int32_t, 2> tagged_windows{1'000, 10'000};  // so many of the newest runs
constexpr std::size_t runs_of_a_piece = 64;                           // whose events are read by one statement

// The database's clock as this process knows it. Safe from any thread.
class SharedClock {
 public:
  explicit SharedClock(PostgresPool& pool) : pool_(pool) {}

  TimeUs now() {
    const std::lock_guard lock(mutex_);
    if (checked_at_us_ == 0 || steady_us() - checked_at_us_ > clock_checked_every_us) check();
    return clock_.now(steady_us());
  }

 private:
  // Asks several times, because the first may have to open a connection and so be inexact.
  void check() {
    for (int asked = 0; asked < clock_asked; ++asked) {
      const TimeUs before_us = steady_us();
      const TimeUs there = pool_.query("database_time").int8(0, 0);
      checked_at_us_ = steady_us();
      clock_.observe(there, before_us, checked_at_us_);
    }
  }

  PostgresPool& pool_;
  std::mutex mutex_;
  TimeUs checked_at_us_ = 0;
  DatabaseClock clock_;
};

PgParameters& add_texts(PgParameters& parameters, const std::optional<std::vector<std::string>>& texts) {
  if (!texts) return parameters.add_null_array(PgType::text);
  PgArray array(PgType::text);
  for (const std::string& text : *texts) array.add(text);
  return parameters.add(std::move(array));
}

bool newer(const RunRow& a, const RunRow& b) { return std::tie(a.started_at, a.id) > std::tie(b.started_at, b.id); }
bool asked_earlier(const QuestionRow& a, const QuestionRow& b) {
  return std::tie(a.asked_at, a.run, a.id) < std::tie(b.asked_at, b.run, b.id);
}
bool in_no_order(const HeldJob&, const HeldJob&) { return false; }

std::vector<RunId> read_ids(const PgResult& rows) {
  std::vector<RunId> found;
  for (int row = 0; row < rows.rows(); ++row) found.push_back(rows.uuid(row, 0));
  return found;
}

// The first `limit` rows of all placements, each of which gave its own first ones in this order.
template <class Read, class Before>
auto joined(const std::vector<PgResult>& parts, const Read& read, const Before& before, std::int32_t limit) {
  auto rows = read(parts.front());
  if (parts.size() == 1) return rows;
  for (std::size_t part = 1; part < parts.size(); ++part) {
    auto more = read(parts[part]);
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  std::stable_sort(rows.begin(), rows.end(), before);
  const auto size_max = static_cast<std::size_t>(std::max(limit, 0));
  if (rows.size() > size_max) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(size_max), rows.end());
  return rows;
}

// A placement may have ended for its bytes: what others have after its last row is left to the next call.
std::vector<QuestionRow> joined_until_one_ends(const std::vector<PgResult>& parts, std::int32_t limit) {
  std::optional<QuestionRow> end;
  const auto read = [&end](const PgResult& part) {
    std::vector<QuestionRow> rows = read_questions(part);
    if (!rows.empty() && (!end || asked_earlier(rows.back(), *end))) end = rows.back();
    return rows;
  };
  std::vector<QuestionRow> rows = joined(parts, read, asked_earlier, limit);
  std::erase_if(rows, [&end](const QuestionRow& row) { return asked_earlier(*end, row); });
  return rows;
}

// Holds as the arrays that statements take.
class FenceArrays {
 public:
  void add(const RunId& run, const Fence& fence) {
    runs_.add(run);
    branches_.add(fence.branch);
    sessions_.add(fence.session);
    epochs_.add(fence.epoch);
    steps_.add(fence.step);
  }
  PgParameters add_to(PgParameters parameters) {
    parameters.add(std::move(runs_)).add(std::move(branches_)).add(std::move(sessions_)).add(std::move(epochs_));
    return parameters.add(std::move(steps_));
  }

 private:
  PgArray runs_{PgType::uuid}, branches_{PgType::int4}, sessions_{PgType::int8}, epochs_{PgType::int8},
      steps_{PgType::int4};
};

class PostgresStore final : public Store {
 public:
  PostgresStore(const PostgresOptions& options, std::int32_t shards, std::string identity, bool is_replica)
      : shards_(shards),
        identity_(std::move(identity)),
        is_replica_(is_replica),
        committed_(options.committed),
        placements_({options.dsn, options.application, options.prepared}, options.connections_max, options.patience_ms,
                    options.silence_min_ms),
        clock_(placements_.whole()),
        notifier_(placements_, options.notify && !is_replica,
                  {options.direct_dsn.empty() ? direct_dsn_of_environment() : options.direct_dsn, identity_}),
        claimer_(placements_, notifier_.jobs()),
        starts_(placements_, {options.dsn, "cairn starts", options.prepared}, identity_, options.patience_ms) {
    placements_.expect_identity(identity_);
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

  void release(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us) override {
    std::map<Shard, std::map<std::pair<RunId, BranchId>, Fence>> by_shard;
    for (const auto& [run, fence] : holds) by_shard[shard_of(run, shards_)][{run, fence.branch}] = fence;
    for (const auto& [shard, fences] : by_shard) release_on(shard, fences, run_at_us);
  }

  std::vector<HoldStanding> standing(std::span<const std::pair<RunId, Fence>> holds) override {
    std::map<Shard, std::vector<std::size_t>> by_shard;
    for (std::size_t at = 0; at < holds.size(); ++at) by_shard[shard_of(holds[at].first, shards_)].push_back(at);
    std::vector<HoldStanding> found(holds.size(), HoldStanding::gone);
    for (const auto& [shard, places] : by_shard) {
      FenceArrays fences;
      for (const std::size_t at : places) fences.add(holds[at].first, holds[at].second);
      const PgResult rows = placements_.query(shard, "holds_standing", fences.add_to(PgParameters().add(shard)));
      rows.expect_columns(standing_columns);
      for (int row = 0; row < rows.rows(); ++row) {
        HoldStanding& one = found[places[static_cast<std::size_t>(rows.int8(row, 0) - 1)]];
        if (rows.boolean(row, 1)) one = rows.boolean(row, 2) ? HoldStanding::held : HoldStanding::lost;
      }
    }
    return found;
  }

  std::optional<RunRow> run(const RunId& id) override {
    const PgResult rows = query_of(id, "run", of_run(id));
    std::vector<RunRow> found = read_runs(rows);
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  }

  std::vector<std::optional<RunHead>> heads(std::span<const RunId> runs) override {
    std::map<Shard, std::vector<std::size_t>> by_shard;
    for (std::size_t at = 0; at < runs.size(); ++at) by_shard[shard_of(runs[at], shards_)].push_back(at);
    std::vector<std::optional<RunHead>> heads(runs.size());
    for (const auto& [shard, places] : by_shard) {
      PgArray ids(PgType::uuid);
      for (const std::size_t at : places) ids.add(runs[at]);
      const PgResult rows = placements_.query(shard, "run_heads", PgParameters().add(shard).add(std::move(ids)));
      for (const auto& [place, found] : read_found_runs(rows)) heads[places[place]] = RunHead{found.head, found.status};
    }
    return heads;
  }

  std::optional<ImportOrigin> imported(const RunId& id) override {
    const PgResult rows = query_of(id, "imported", of_run(id));
    rows.expect_columns(import_columns);
    if (rows.rows() == 0) return std::nullopt;
    ImportOrigin origin{rows.int8(0, 0), std::string(rows.text(0, 1)), std::string(rows.text(0, 2)), rows.hash(0, 3)};
    if (!rows.is_null(0, 4)) origin.key = rows.hash(0, 4);
    return origin;
  }

  std::vector<RunRow> runs(const RunFilter& filter) override {
    if (filter.limit <= 0) return {};
    if (filter.lineage) return runs_of_lineage(filter);
    if (filter.parent)
      return read_runs(query_of(*filter.parent, "runs_called",
                                filtered(filter).add(shard_of(*filter.parent, shards_)).add(*filter.parent)));
    if (!filter.tags.empty()) return runs_tagged(filter);
    return joined(placements_.query_each(filter.graph.empty() ? "runs" : "runs_of_graph", filtered(filter)), read_runs,
                  newer, filter.limit);
  }

  // A tag that many runs have is found among the newest of them, one that few have by its index: the first costs the
  // same however many there are, and the second as much as there are of these few.
  std::vector<RunRow> runs_tagged(const RunFilter& filter) {
    for (const std::int32_t newest : tagged_windows) {
      const std::vector<PgResult> parts = placements_.query_each("runs_tagged_lately", filtered(filter).add(newest));
      if (std::all_of(parts.begin(), parts.end(), [&](const PgResult& part) { return part.rows() >= filter.limit; }))
        return joined(parts, read_runs, newer, filter.limit);
    }
    return joined(placements_.query_each("runs_tagged", filtered(filter)), read_runs, newer, filter.limit);
  }

  std::int64_t count_runs(const RunFilter& filter, std::int64_t at_most) override {
    RunFilter all = filter;
    all.after.reset();
    all.limit = static_cast<std::int32_t>(std::min<std::int64_t>(at_most, std::numeric_limits<std::int32_t>::max()));
    if (all.parent) return std::ssize(runs(all));
    std::int64_t count = 0;
    for (const PgResult& part : placements_.query_each("count_runs", filtered(all))) count += part.int8(0, 0);
    return std::min(count, at_most);
  }

  std::vector<RunId> runs_between(const RunId& first, const RunId& last, std::int32_t limit) override {
    return joined(placements_.query_each("runs_between",
                                         PgParameters().add(first).add(last).add(shards_).add(std::max(limit, 0))),
                  read_ids, std::less<>(), limit);
  }

  // The parameters of parts/run_filter.sql.
  static PgParameters filtered(const RunFilter& filter) {
    PgParameters parameters;
    filter.graph.empty() ? parameters.add_null(PgType::text) : parameters.add(filter.graph);
    filter.status ? parameters.add(to_string(*filter.status)) : parameters.add_null(PgType::text);
    filter.waiting ? parameters.add(*filter.waiting) : parameters.add_null(PgType::boolean);
    parameters.add(filter.since.value_or(std::numeric_limits<TimeUs>::min())).add(filter.limit);
    // One bound for both: of two the index may begin at the later one, and pass all runs between them.
    const std::pair until(filter.until.value_or(never_us), RunId{});
    const auto [started_at, id] = std::min(filter.after.value_or(until), until);
    parameters.add(started_at).add(id).add(filter.until.value_or(never_us));
    filter.lasted_us > 0 ? parameters.add(filter.lasted_us) : parameters.add_null(PgType::int8);
    for (const std::string* text : {&filter.version, &filter.reason, &filter.error, &filter.node, &filter.tool})
      text->empty() ? parameters.add_null(PgType::text) : parameters.add(*text);
    filter.tags.empty() ? parameters.add_null(PgType::text) : parameters.add(canonical(Json(filter.tags)));
    return parameters;
  }

  std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) override {
    return read_events(query_of(id, "events", of_run(id).add(after_seq).add(std::max(limit, 0))));
  }

  std::optional<SnapshotRow> snapshot(const RunId& id, std::int32_t fold_version, std::int64_t at_most) override {
    const PgResult rows = query_of(id, "snapshot", of_run(id).add(fold_version).add(at_most));
    std::vector<SnapshotRow> found = read_snapshots(rows);
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  }

  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    std::vector<StoredHistory> histories(requests.size());
    std::map<Shard, std::vector<std::size_t>> by_shard;
    for (std::size_t at = 0; at < requests.size(); ++at) by_shard[shard_of(requests[at].run, shards_)].push_back(at);
    for (const auto& [shard, places] : by_shard) {
      add_snapshots(shard, requests, places, histories);
      add_events(shard, requests, places, limit, histories);
    }
    return histories;
  }

  void put_snapshot(const RunId& id, const SnapshotRow& snapshot) override {
    PgParameters parameters;
    parameters.add(shard_of(id, shards_)).add(id).add(snapshot.fold_version).add(snapshot.seq);
    query_of(id, "put_snapshot", parameters.add(snapshot.chain_hash).add(snapshot.state));
  }

  void drop_snapshots(const RunId& id) override { query_of(id, "drop_snapshots", of_run(id)); }

  std::vector<QuestionRow> questions(const RunId& id, std::int32_t limit) override {
    if (limit <= 0) return {};
    if (id.is_nil())
      return joined(placements_.query_each("questions", PgParameters().add(limit)), read_questions, asked_earlier,
                    limit);
    return read_questions(query_of(id, "questions_of_run", of_run(id).add(limit)));
  }

  std::vector<QuestionRow> questions_after(const QuestionPlace& after, std::int32_t limit,
                                           std::int64_t bytes_max) override {
    if (limit <= 0) return {};
    const PgParameters place =
        PgParameters().add(after.asked_at).add(after.run).add(after.id).add(limit).add(bytes_max);
    return joined_until_one_ends(placements_.query_each("questions_after", place), limit);
  }

  void put_blob(Shard shard, const Hash& hash, std::string_view bytes) override {
    placements_.query(shard, "put_blob", PgParameters().add(shard).add(hash).add_bytes(bytes));
  }

  bool renew_blobs(Shard shard, std::span<const Hash> hashes) override {
    PgArray wanted(PgType::bytes);
    for (const Hash& hash : hashes) wanted.add(hash);
    if (wanted.size() == 0) return true;
    return placements_.query(shard, "renew_blobs", PgParameters().add(shard).add(std::move(wanted))).int8(0, 0) ==
           std::ssize(hashes);
  }

  std::optional<std::string> blob(Shard shard, const Hash& hash) override {
    const PgResult rows = placements_.query(shard, "blob", PgParameters().add(shard).add(hash));
    if (rows.rows() == 0) return std::nullopt;
    return std::string(rows.text(0, 0));
  }

  void put_checkpoint(const Checkpoint& checkpoint) override {
    PgParameters parameters;
    parameters.add(checkpoint.process).add(checkpoint.n).add(checkpoint.at_us).add(checkpoint.key);
    parameters.add(checkpoint.heads).add(checkpoint.previous).add_bytes(checkpoint.signature);
    placements_.whole().query("put_checkpoint", parameters);
  }

  void put_graph(const GraphRow& graph) override {
    const PgParameters name = PgParameters().add(graph.name).add(graph.version);
    placements_.whole().run([&](PgConnection& connection) {
      connection.begin_pipeline();
      connection.send(begin_statement());
      connection.send(statement("lock_graphs"));
      connection.send(statement("put_graph"), PgParameters(name).add(graph.text).add(graph.actor));
      if (graph.current) {
        connection.send(statement("retire_graph"), name);
        connection.send(statement("make_graph_current"), PgParameters(name).add(graph.actor));
      }
      connection.send(commit_statement());
      connection.sync();
      connection.finish();
    });
  }

  std::vector<GraphRow> graphs() override { return read_graphs(placements_.whole().query("graphs")); }
  std::int64_t graphs_mark() override { return placements_.whole().query_widely("graphs_mark").int8(0, 0); }
  std::vector<GraphRow> graph_names() override { return read_graphs(placements_.whole().query_widely("graph_names")); }
  std::vector<GraphRow> graphs_of(std::span<const std::string> versions) override {
    PgArray wanted(PgType::text);
    for (const std::string& version : versions) wanted.add(version);
    return read_graphs(placements_.whole().query_widely("graphs_of", PgParameters().add(std::move(wanted))));
  }

  std::vector<HeldJob> jobs(const RunId& id) override {
    const PgResult rows = query_of(id, "jobs", of_run(id));
    std::vector<HeldJob> jobs = read_held_jobs(rows);
    const int home = rows.column("home");
    for (int row = 0; row < rows.rows(); ++row)
      if (!rows.is_null(row, home)) jobs[static_cast<std::size_t>(row)].home = rows.int8(row, home);
    return jobs;
  }

  std::vector<QueueRow> queues() override {
    std::map<std::string, QueueRow> queues;
    for (const PgResult& part : placements_.query_each_widely("queues", PgParameters().add(database_time())))
      for (QueueRow& row : read_queues(part)) {
        QueueRow& sum = queues.try_emplace(row.name, QueueRow{row.name, 0, 0, 0, std::nullopt}).first->second;
        sum.ready += row.ready;
        sum.later += row.later;
        sum.held += row.held;
        if (row.oldest_us) sum.oldest_us = std::min(sum.oldest_us.value_or(never_us), *row.oldest_us);
      }
    std::vector<QueueRow> rows;
    for (auto& [name, row] : queues) rows.push_back(std::move(row));
    return rows;
  }

  StartBook& starts() override { return start_book_; }
  LimitBook& limits() override { return book_; }
  std::vector<QueueLimits> queue_limits() { return read_queue_limits(placements_.whole().query("queue_limits")); }

  // Waits for the claims under way (exclude_claims), so that the jobs they take are counted.
  Result<QueueLimits> change_limits(const LimitChange& change) {
    if (const Status fine = check_limits(change.limits); !fine) return fine.error();
    const bool is_in_pause = placements_.are_distributed() && change.limits.is_counted();
    const Result<QueueLimits> changed = is_in_pause ? change_in_pause(change) : make_change(change);
    if (changed && changed->has_keys()) find_keys(change.limits.name);
    claimer_.limits_changed(change.limits.name);
    return changed;
  }

  std::int64_t take_starts(const std::string& queue, std::int64_t count) { return claimer_.take_starts(queue, count); }

  std::map<std::string, QueueUse> queue_uses(const std::vector<std::string>& queues) {
    std::map<std::string, QueueUse> uses;
    for (const PgResult& part : placements_.query_each("queue_rates", PgParameters().add(text_array(queues))))
      JobClaimer::add_rates(part, uses);
    for (const PgResult& part : placements_.query_each("budget_uses", JobClaimer::budgets_of_queues(queues)))
      JobClaimer::add_budget_uses(part, false, uses);
    return uses;
  }

  std::map<BranchId, std::string> keys_of_run(const RunId& run) {
    std::map<BranchId, std::string> keys;
    const PgResult rows = query_of(run, "keys_of_run", of_run(run));
    for (int row = 0; row < rows.rows(); ++row) keys[rows.int4(row, 0)] = rows.text(row, 1);
    return keys;
  }

  std::map<std::string, QueueUse> key_uses(const std::string& queue, const std::vector<std::string>& keys) {
    std::map<std::string, QueueUse> uses;
    for (const PgResult& part : placements_.query_each("key_uses", PgParameters().add(queue).add(text_array(keys))))
      JobClaimer::add_key_uses(part, uses);
    for (const PgResult& part : placements_.query_each("budget_uses", JobClaimer::budgets_of_keys(queue, keys)))
      JobClaimer::add_budget_uses(part, true, uses);
    return uses;
  }

  std::vector<KeyUnitUse> budget_uses(const std::string& queue, std::int32_t limit) {
    std::map<std::string, QueueUse> keys;
    // A key's use may lie on several nodes, and each knows only its part of it.
    constexpr std::int32_t of_each_node = 10'000;
    const std::int32_t asked = std::max(limit, placements_.are_distributed() ? of_each_node : 0);
    const PgParameters most = PgParameters().add(queue).add(asked);
    for (const PgResult& part : placements_.query_each_widely("budget_uses_of_keys", most))
      JobClaimer::add_budget_uses(part, true, keys);
    return most_used(keys, limit, database_time());
  }

  std::vector<LimitChangeRow> limit_changes(const std::string& queue, std::int64_t before, std::int32_t limit) {
    const PgResult rows =
        placements_.whole().query("queue_changes", PgParameters().add(queue).add(before).add(std::max(limit, 0)));
    std::vector<LimitChangeRow> changes;
    for (QueueLimits& limits : read_queue_limits(rows)) {
      const int row = static_cast<int>(changes.size());
      changes.push_back({std::move(limits), rows.int8(row, 5), std::string(rows.text(row, 6))});
    }
    return changes;
  }

  void open_session(const SessionRow& session) override {
    PgParameters parameters;
    parameters.add(session.id).add(session.counter).add(session.started_at).add(session.beat_at).add(session.pid);
    add_texts(parameters.add(session.host), session.queues).add(session.only_own);
    add_texts(add_texts(parameters, session.handlers), session.tools).add(session.machine);
    session.alone ? parameters.add(*session.alone) : parameters.add_null(PgType::text);
    session.has_model ? parameters.add(*session.has_model) : parameters.add_null(PgType::boolean);
    add_texts(parameters, session.allows);
    for (const std::optional<std::string>& text : {session.caller, session.declares})
      text ? parameters.add(*text) : parameters.add_null(PgType::text);
    add_texts(parameters, session.begun);
    placements_.whole().query("open_session", parameters);
  }

  void end_stalled(std::int64_t after_ms) override {
    placements_.query_each_widely("end_stalled", PgParameters().add(after_ms));
  }

  void beat(SessionId session) override { placements_.whole().query("beat", PgParameters().add(session)); }
  void set_alone(SessionId session, const std::string& hold) override {
    placements_.whole().query("set_alone", PgParameters().add(session).add(hold));
  }
  void set_begun(SessionId session, const std::vector<std::string>& attempts) override {
    PgParameters parameters;
    placements_.whole().query("set_begun", add_texts(parameters.add(session), attempts));
  }
  void set_home(SessionId session, const RunId& run, bool is_home) override {
    query_of(run, is_home ? "set_home" : "leave_home", of_run(run).add(session));
  }
  void close_session(SessionId session) override {
    placements_.whole().query("close_session", PgParameters().add(session));
    placements_.query_each("leave_homes", PgParameters().add(session));
    placements_.query_each_widely("drop_progress", PgParameters().add(session));
  }

  void put_progress(SessionId session, std::span<const ProgressRow> texts,
                    std::span<const ProgressPlace> ended) override {
    std::map<Shard, std::pair<std::vector<const ProgressRow*>, std::vector<const ProgressPlace*>>> by_shard;
    for (const ProgressRow& row : texts) by_shard[shard_of(row.place.run, shards_)].first.push_back(&row);
    for (const ProgressPlace& place : ended) by_shard[shard_of(place.run, shards_)].second.push_back(&place);
    for (const auto& [shard, rows] : by_shard) put_progress_on(shard, session, rows.first, rows.second);
  }

  std::vector<ProgressRow> progress(const RunId& id) override {
    if (is_replica_) return {};
    const PgResult rows = query_of(id, "progress", of_run(id).add(progress_rows_max));
    rows.expect_columns(progress_columns);
    std::vector<ProgressRow> found;
    for (int row = 0; row < rows.rows(); ++row)
      found.push_back({.place = {id, rows.int4(row, 1), rows.int4(row, 2)},
                       .branch = rows.int4(row, 0),
                       .session = rows.int8(row, 3),
                       .node = std::string(rows.text(row, 6)),
                       .text = std::string(rows.text(row, 7)),
                       .written = rows.int8(row, 5),
                       .at_us = rows.int8(row, 4)});
    return found;
  }

  std::vector<SessionRow> sessions() override { return read_sessions(placements_.whole().query("sessions")); }

  std::vector<HeldJob> held_by(SessionId session, std::int32_t limit, RunShare share) override {
    PgParameters parameters;
    parameters.add(session).add(std::max(limit, 0)).add(share.index).add(share.of);
    return joined(placements_.query_each_widely("held_by", parameters), read_held_jobs, in_no_order, limit);
  }
  HeldScan scan_held(SessionId session, TimeUs now_us, std::int32_t limit) override {
    HeldScan scan;
    scan.is_all = true;
    std::vector<HeldJob> stranded;
    for (const PgResult& part : placements_.query_each_widely(
             "look_at_held", PgParameters().add(session).add(now_us).add(std::max(limit, 0)))) {
      scan.is_all = scan.is_all && part.rows() < limit;
      add_held(part, session, now_us, scan, stranded);
    }
    if (session != 0 && !stranded.empty()) offer_stranded(stranded);
    return scan;
  }
  static void add_held(const PgResult& rows, SessionId session, TimeUs now_us, HeldScan& scan,
                       std::vector<HeldJob>& stranded) {
    const std::vector<HeldJob> jobs = read_held_jobs(rows);
    const int is_unowned = rows.column("is_unowned"), is_stranded = rows.column("is_stranded");
    for (int row = 0; row < rows.rows(); ++row) {
      const HeldJob& job = jobs[static_cast<std::size_t>(row)];
      if (rows.boolean(row, is_stranded)) {
        stranded.push_back(job);
        continue;
      }
      if (job.session == session) scan.own.push_back(job);
      if (job.deadline_us < now_us) scan.overdue.push_back(job);
      if (rows.boolean(row, is_unowned)) scan.unowned.push_back(job);
    }
  }
  std::map<SessionId, std::int64_t> held_counts() override {
    std::map<SessionId, std::int64_t> counts;
    for (const PgResult& rows : placements_.query_each_widely("held_counts")) {
      const int session = rows.column("session"), count = rows.column("count");
      for (int row = 0; row < rows.rows(); ++row) counts[rows.int8(row, session)] += rows.int8(row, count);
    }
    return counts;
  }

  std::vector<RunId> orphans(OrphanMark& mark, std::int32_t limit) override {
    std::vector<RunId> runs;
    for (; mark.shard < shards_; mark = {mark.shard + 1, {}}) {
      const PgResult rows =
          placements_.query(mark.shard, "orphans", PgParameters().add(mark.shard).add(mark.parent).add(limit));
      const int run = rows.column("run_id"), parent = rows.column("open_child_of"),
                is_orphan = rows.column("is_orphan");
      for (int row = 0; row < rows.rows(); ++row) {
        if (rows.boolean(row, is_orphan)) runs.push_back(rows.uuid(row, run));
        mark.parent = std::max(mark.parent, rows.uuid(row, parent));
      }
      limit -= rows.rows();
      if (limit <= 0) return runs;
    }
    mark = {};
    return runs;
  }

  std::vector<LooseEnd> loose_ends(const RunId& after, std::int32_t limit) override {
    const Shard shard = after.is_nil() ? -1 : shard_of(after, shards_);
    const auto read = [](const PgResult& rows) {
      rows.expect_columns(loose_end_columns);
      std::vector<LooseEnd> ends;
      for (int row = 0; row < rows.rows(); ++row) ends.push_back({rows.uuid(row, 0), rows.boolean(row, 1)});
      return ends;
    };
    const auto in_order = [this](const LooseEnd& a, const LooseEnd& b) {
      return std::pair(shard_of(a.run, shards_), a.run) < std::pair(shard_of(b.run, shards_), b.run);
    };
    return joined(placements_.query_each("loose_ends", PgParameters().add(shard).add(after).add(std::max(limit, 0))),
                  read, in_order, limit);
  }
  void tie_ends(std::span<const RunId> runs) override {
    std::map<Shard, PgArray> by_shard;
    for (const RunId& run : runs) by_shard.try_emplace(shard_of(run, shards_), PgType::uuid).first->second.add(run);
    for (auto& [shard, ids] : by_shard)
      placements_.query(shard, "tie_ends", PgParameters().add(shard).add(std::move(ids)));
  }
  void give_up() override {
    placements_.give_up();
    starts_.give_up();
  }

  void notify() override { notifier_.notify(); }
  bool await_notification(std::int64_t timeout_ms) override { return notifier_.await(timeout_ms); }

 private:
  PgParameters of_run(const RunId& id) const { return PgParameters().add(shard_of(id, shards_)).add(id); }
  PgResult query_of(const RunId& id, std::string_view name, const PgParameters& parameters) {
    return placements_.query(shard_of(id, shards_), name, parameters);
  }

  // The limits of a queue that was never set are those of none.
  static QueueLimits lock_limits(PgConnection& connection, const std::string& name) {
    std::vector<QueueLimits> found =
        read_queue_limits(connection.query(statement("lock_limits"), PgParameters().add(name)));
    return found.empty() ? QueueLimits{.name = name} : std::move(found.front());
  }

  static PgParameters limit_parameters(const QueueLimits& limits) {
    PgParameters parameters;
    parameters.add(limits.name).add(limits.revision);
    limits.concurrency ? parameters.add(*limits.concurrency) : parameters.add_null(PgType::int4);
    parameters.add(limits.paused);
    const std::string text = limits_text(limits);
    text.empty() ? parameters.add_null(PgType::text) : parameters.add(text);
    return parameters;
  }

  // In a transaction. A change that is there already, perhaps by an attempt whose answer was lost, is not made twice.
  Result<QueueLimits> put_limits(PgConnection& connection, const LimitChange& change) {
    const std::string& name = change.limits.name;
    const QueueLimits found = lock_limits(connection, name);
    QueueLimits next = change.limits;
    ++next.revision;
    if (found == next) return next;
    if (const Status fits = check_change(found, change); !fits) return fits.error();
    const PgParameters parameters = limit_parameters(next);
    connection.query(statement("put_limits"), parameters);
    connection.query(statement("put_queue_change"), PgParameters(parameters).add(database_time()).add(change.actor));
    if (next.is_counted() && !placements_.are_distributed())
      for (Shard shard = 0; shard < shards_; ++shard) count_held(connection, shard, name);
    return next;
  }

  static void count_held(PgConnection& connection, Shard shard, const std::string& queue) {
    connection.query(statement("permit_queue"), PgParameters().add(shard).add(queue));
  }

  Result<QueueLimits> make_change(const LimitChange& change) {
    return placements_.whole().run_widely([&](PgConnection& connection) -> Result<QueueLimits> {
      if (!placements_.are_distributed()) connection.query(statement("exclude_claims"));
      return put_limits(connection, change);
    });
  }

  // The keys of the queue's waiting jobs, as its limits name them now. Claims find what was keyed before by its old
  // keys until this has come by.
  void find_keys(const std::string& queue) {
    for (Shard shard = 0; shard < shards_; ++shard)
      for (KeyPortion portion; !portion.is_last;)
        portion = read_key_portion(
            placements_.query_widely(shard, "key_jobs", key_parameters(shard, queue, false, portion.after)));
  }

  // In several transactions, as no lock spans the nodes of a cluster. The queue has its new limits, but is paused and
  // has the revision from before, until the claims under way have ended on each node and the jobs that they hold are
  // counted by their new keys; a claim that begins later sees the limits. If the change fails, it gets back what it
  // had.
  Result<QueueLimits> change_in_pause(const LimitChange& change) {
    QueueLimits paused = change.limits;
    paused.paused = true;
    std::optional<QueueLimits> before;
    const Status begun = placements_.whole().run_widely([&](PgConnection& connection) -> Status {
      const QueueLimits found = lock_limits(connection, paused.name);
      if (const Status fits = check_change(found, change); !fits) return fits;
      if (!before) before = found;  // an attempt whose answer was lost may have paused it
      connection.query(statement("put_limits"), limit_parameters(paused));
      return Done{};
    });
    if (!begun) return begun.error();
    try {
      count_all_held(paused.name);
      Result<QueueLimits> changed = make_change(change);
      if (!changed) end_pause(*before, paused);
      return changed;
    } catch (...) {
      end_pause(*before, paused);
      throw;
    }
  }

  // Another change that came meanwhile stays.
  void end_pause(const QueueLimits& before, const QueueLimits& paused) {
    const bool is_back = placements_.whole().run_widely([&](PgConnection& connection) {
      if (lock_limits(connection, paused.name) != paused) return false;
      connection.query(statement("put_limits"), limit_parameters(before));
      return true;
    });
    if (is_back && before.is_counted()) count_all_held(before.name);
  }

  void count_all_held(const std::string& queue) {
    for (Shard shard = 0; shard < shards_; ++shard)
      placements_.run_widely(shard, [&](PgConnection& connection) {
        connection.query(statement("exclude_claims"));
        count_held(connection, shard, queue);
        return Done{};
      });
  }

  void put_progress_on(Shard shard, SessionId session, std::span<const ProgressRow* const> texts,
                       std::span<const ProgressPlace* const> ended) {
    PgArray shards(PgType::int4), run(PgType::uuid), branch(PgType::int4), step(PgType::int4), attempt(PgType::int4),
        written(PgType::int8), node(PgType::text), text(PgType::text);
    for (const ProgressRow* row : texts) {
      shards.add(shard);
      run.add(row->place.run);
      branch.add(row->branch);
      step.add(row->place.step);
      attempt.add(row->place.attempt);
      written.add(row->written);
      node.add(row->node);
      text.add(row->text);
    }
    PgArray ended_shard(PgType::int4), ended_run(PgType::uuid), ended_step(PgType::int4), ended_attempt(PgType::int4);
    for (const ProgressPlace* place : ended) {
      ended_shard.add(shard);
      ended_run.add(place->run);
      ended_step.add(place->step);
      ended_attempt.add(place->attempt);
    }
    PgParameters parameters;
    parameters.add(session).add(std::move(shards)).add(std::move(run)).add(std::move(branch)).add(std::move(step));
    parameters.add(std::move(attempt)).add(std::move(written)).add(std::move(node)).add(std::move(text));
    parameters.add(database_time()).add(std::move(ended_shard)).add(std::move(ended_run));
    placements_.query(shard, "put_progress", parameters.add(std::move(ended_step)).add(std::move(ended_attempt)));
  }

  void release_on(Shard shard, const std::map<std::pair<RunId, BranchId>, Fence>& fences, TimeUs run_at_us) {
    PgArray locked(PgType::uuid);
    FenceArrays arrays;
    std::optional<RunId> last;
    for (const auto& [key, fence] : fences) {
      if (last != key.first) locked.add(key.first);
      last = key.first;
      arrays.add(key.first, fence);
    }
    const PgParameters runs = PgParameters().add(shard).add(std::move(locked));
    const PgParameters parameters = arrays.add_to(PgParameters().add(shard)).add(run_at_us);
    placements_.run(shard, [&](PgConnection& connection) {
      connection.begin_pipeline();
      connection.send(begin_statement());
      connection.send(statement("lock_runs"), runs);
      connection.send(statement("release_jobs"), parameters);
      connection.send(commit_statement());
      connection.sync();
      connection.finish();
    });
  }

  // Lets claims find jobs that are free but not offered: their run's home is gone, or a worker of
  // release 9 or older left them so.
  void offer_stranded(std::span<const HeldJob> jobs) {
    std::map<Shard, std::pair<PgArray, PgArray>> by_shard;
    for (const HeldJob& job : jobs) {
      auto& [runs, branches] =
          by_shard.try_emplace(shard_of(job.run, shards_), PgArray(PgType::uuid), PgArray(PgType::int4)).first->second;
      runs.add(job.run);
      branches.add(job.job.branch);
    }
    for (auto& [shard, rows] : by_shard)
      placements_.query(shard, "offer_stranded",
                        PgParameters().add(shard).add(std::move(rows.first)).add(std::move(rows.second)));
  }

  void add_snapshots(Shard shard, std::span<const HistoryRequest> requests, const std::vector<std::size_t>& places,
                     std::vector<StoredHistory>& histories) {
    PgArray runs(PgType::uuid), versions(PgType::int4);
    std::vector<std::size_t> asked;
    for (const std::size_t at : places) {
      if (!requests[at].fold_version) continue;
      runs.add(requests[at].run);
      versions.add(*requests[at].fold_version);
      asked.push_back(at);
    }
    if (asked.empty()) return;
    const PgResult rows =
        placements_.query(shard, "snapshots", PgParameters().add(shard).add(std::move(runs)).add(std::move(versions)));
    const int place = rows.column("place");
    std::vector<SnapshotRow> snapshots = read_snapshots(rows);
    for (int row = 0; row < rows.rows(); ++row)
      histories[asked[place_of(rows, row, place)]].snapshot = std::move(snapshots[static_cast<std::size_t>(row)]);
  }

  // One round trip for all pieces: the server reads the next piece while this one is unpacked.
  void add_events(Shard shard, std::span<const HistoryRequest> requests, std::span<const std::size_t> places,
                  std::int32_t limit, std::vector<StoredHistory>& histories) {
    std::vector<std::span<const std::size_t>> pieces;
    for (; !places.empty(); places = places.subspan(pieces.back().size()))
      pieces.push_back(places.first(std::min(places.size(), runs_of_a_piece)));
    placements_.run(shard, [&](PgConnection& connection) {
      connection.begin_pipeline();
      for (const auto& piece : pieces) {
        PgArray runs(PgType::uuid), after(PgType::int8);
        for (const std::size_t at : piece) {
          histories[at].events.clear();
          runs.add(requests[at].run);
          after.add(histories[at].snapshot ? histories[at].snapshot->seq : requests[at].after_seq);
        }
        connection.send(statement("events_of_runs"),
                        PgParameters().add(shard).add(std::move(runs)).add(std::move(after)).add(std::max(limit, 0)));
      }
      connection.sync();
      for (const auto& piece : pieces) {
        const PgResult rows = connection.receive();
        rows.expect_columns(event_columns);
        const int place = rows.column("place");
        for (int row = 0; row < rows.rows(); ++row)
          histories[piece[place_of(rows, row, place)]].events.push_back(read_event(rows, row));
      }
      connection.finish();
    });
  }

  // The run's predecessors and itself, and then all successors of one of them.
  std::vector<RunRow> runs_of_lineage(const RunFilter& filter) {
    std::map<RunId, RunRow> found;
    std::vector<RunId> edge;
    for (std::optional<RunId> next = filter.lineage; next && !found.contains(*next) && found.size() < lineage_max;) {
      const std::optional<RunRow> row = run(*next);
      if (!row) break;
      found[row->id] = *row;
      edge.push_back(row->id);
      next = predecessor(*row);
    }
    while (!edge.empty() && found.size() < lineage_max) {
      PgArray ids(PgType::uuid);
      for (const RunId& id : edge) ids.add(id);
      edge.clear();
      const auto limit = static_cast<std::int32_t>(lineage_max);
      for (const PgResult& part :
           placements_.query_each("runs_coming_from", PgParameters().add(std::move(ids)).add(limit)))
        for (RunRow& row : read_runs(part)) {
          if (!found.contains(row.id)) edge.push_back(row.id);
          found.try_emplace(row.id, std::move(row));
        }
    }
    std::vector<RunRow> runs;
    for (auto& [id, row] : found) {
      if (matches(filter, row)) runs.push_back(std::move(row));
    }
    std::sort(runs.begin(), runs.end(), newer);
    if (runs.size() > static_cast<std::size_t>(filter.limit)) runs.resize(static_cast<std::size_t>(filter.limit));
    return runs;
  }

  const std::int32_t shards_;
  const std::string identity_;
  const bool is_replica_;
  const CommitWatch committed_;
  Placements placements_;
  SharedClock clock_;
  Notifier notifier_;
  JobClaimer claimer_;
  LimitBook book_ = limit_book_of(*this);
  StartTable starts_;
  StartBook start_book_ = start_book_of(starts_);
};

}  // namespace

Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options) {
  if (const Result<Pooler> pooler = pooler_of_environment(); !pooler) return pooler.error();
  if (const Status dsns = check_dsns_of_environment(); !dsns) return dsns.error();
  try {
    Administration database(options.dsn, options.application, opening_limit_ms);
    const bool is_replica = database.query("is_replica").boolean(0, 0);
    if (is_replica && options.found_replica == nullptr) return takes_no_writes(options.dsn);
    const Result<SchemaFound> found = find_schema(database);
    if (!found) return found.error();
    if (found->version < newest_schema()) {
      return Error{Code::not_found, "Expected the schema cairn of version " + std::to_string(newest_schema()) +
                                        " in the database, but " +
                                        (found->version == 0 ? "there is none yet: `cairn migrate` creates it."
                                                             : "found version " + std::to_string(found->version) +
                                                                   ": `cairn migrate` moves it forward.")};
    }
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
