#include "storage/proof/run_records.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "engine/corrupt_history.hpp"
#include "storage/commit_rules.hpp"
#include "storage/postgres/commit_rows.hpp"
#include "storage/postgres/placements.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

constexpr std::size_t events_at_once = 2'000;
constexpr auto id_columns = std::to_array<std::string_view>({"run_id"});
constexpr auto last_columns = std::to_array<std::string_view>({"seq"});
constexpr auto origin_columns = std::to_array<std::string_view>({"at", "actor", "origin", "file_digest"});
constexpr auto snapshot_columns = std::to_array<std::string_view>({"run_id", "seq"});

const PgStatement& begin_at_one_moment() {
  static const PgStatement begin{"begin_at_one_moment", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
  return begin;
}

// An epoch above any that a lost row of the branch can have had, and below the first one of a row that the next event
// brings.
std::int64_t repaired_epoch(std::int64_t head) {
  constexpr std::int64_t half = std::int64_t{1} << 19;
  thread_local std::mt19937_64 random{std::random_device{}()};
  return first_epoch(head) + half + static_cast<std::int64_t>(random() % (half / 2));
}

void send_reading(PgConnection& connection, Shard shard, std::span<const RunId> runs, std::int32_t fold_version) {
  PgArray ids(PgType::uuid);
  for (const RunId& run : runs) ids.add(run);
  const PgParameters of_runs = PgParameters().add(shard).add(std::move(ids));
  for (const char* name : {"run_records", "jobs_of_runs", "all_questions_of_runs"})
    connection.send(statement(name), of_runs);
  connection.send(statement("snapshots_of_runs"), PgParameters(of_runs).add(fold_version));
}

void read_run_into(RunRecord& record, const PgResult& rows, int row) {
  try {
    record.run = read_run(rows, row);
    record.child_mark_fits = rows.boolean(row, static_cast<int>(run_columns.size()));
  } catch (const CorruptHistory& fault) {
    record.run_readable = Error{Code::corrupt, fault.what()};
  }
}

void read_job_into(RunRecord& record, const PgResult& rows, int row) {
  record.jobs.push_back(read_held_job(rows, row));
  if (rows.boolean(row, static_cast<int>(job_columns.size()))) record.unlisted.insert(record.jobs.back().job.branch);
}

void read_question_into(RunRecord& record, const PgResult& rows, int row) {
  if (!record.questions_readable) return;
  try {
    record.questions.push_back(read_question(rows, row));
  } catch (const CorruptHistory& fault) {
    record.questions.clear();
    record.questions_readable = Error{Code::corrupt, fault.what()};
  }
}

// Collects the records of runs from results with rows of all of them.
class Records {
 public:
  explicit Records(std::span<const RunId> runs) : records_(runs.size()) {
    for (std::size_t at = 0; at < runs.size(); ++at) places_.emplace(runs[at], at);
  }

  // The results of send_reading().
  std::vector<RunRecord> receive(PgConnection& connection) {
    each(connection.receive(), run_columns, read_run_into);
    each(connection.receive(), job_columns, read_job_into);
    each(connection.receive(), question_columns, read_question_into);
    each(connection.receive(), snapshot_columns,
         [](RunRecord& record, const PgResult& rows, int row) { record.snapshots.push_back(rows.int8(row, 1)); });
    return std::move(records_);
  }

 private:
  // Every statement's first column is the run.
  template <class Take>
  void each(const PgResult& rows, std::span<const std::string_view> columns, Take&& take) {
    rows.expect_columns(columns);
    for (int row = 0; row < rows.rows(); ++row) take(records_[places_.at(rows.uuid(row, 0))], rows, row);
  }

  std::vector<RunRecord> records_;
  std::map<RunId, std::size_t> places_;
};

RunRecord receive_record(PgConnection& connection, const RunId& run) {
  return std::move(Records({&run, 1}).receive(connection).front());
}

// The writes of one repair. Lives for one transaction.
class Repairing {
 public:
  Repairing(PgConnection& connection, Shard shard, const Repair& repair)
      : connection_(connection),
        on_shard_(PgParameters().add(shard)),
        of_run_(PgParameters().add(shard).add(repair.run.id)),
        repair_(repair) {}

  void send_run() {
    const RunRow& run = repair_.run;
    PgParameters parameters = of_run_;
    parameters.add(run.waiting).add(run.head).add(run.started_at).add(run.updated_at);
    for (const std::optional<RunId>& id : {run.parent, run.continues})
      id ? parameters.add(*id) : parameters.add_null(PgType::uuid);
    parameters.add(run.chain_hash).add(to_string(run.status)).add(run.graph).add(run.version).add(run.reason);
    parameters.add(canonical(Json(run.tags)));
    if (run.forked_from)
      parameters.add(run.forked_from->run).add(run.forked_from->seq);
    else
      parameters.add_null(PgType::uuid).add_null(PgType::int8);
    connection_.send(statement("restore_run"), parameters);
  }

  // Everything except the run's row.
  void send_rest(std::int32_t fold_version) {
    send_jobs();
    send_questions();
    if (repair_.snapshots.empty()) return;
    PgArray seqs(PgType::int8);
    for (const std::int64_t seq : repair_.snapshots) seqs.add(seq);
    connection_.send(statement("delete_snapshots"), PgParameters(of_run_).add(fold_version).add(std::move(seqs)));
  }

 private:
  void send_jobs() {
    if (!repair_.surplus.empty()) {
      PgArray branches(PgType::int4);
      for (const BranchId branch : repair_.surplus) branches.add(branch);
      connection_.send(statement("delete_jobs"), PgParameters(of_run_).add(std::move(branches)));
    }
    OfferedRows offered;
    for (const Job& job : repair_.jobs) offered.add(repair_.run.id, job, repaired_epoch(repair_.run.head));
    offered.send(connection_, on_shard_);
  }

  void send_questions() {
    connection_.send(statement("delete_questions_of_run"), of_run_);
    AskedRows asked;
    for (const QuestionRow& question : repair_.questions) asked.add(repair_.run.id, question);
    asked.send(connection_, on_shard_);
  }

  PgConnection& connection_;
  const PgParameters on_shard_;
  const PgParameters of_run_;
  const Repair& repair_;
};

void send_events(PgConnection& connection, const PgParameters& of_run, std::span<const EventRow> events) {
  PgArray seq(PgType::int8), at(PgType::int8), commit(PgType::int8), type(PgType::int2), version(PgType::int2),
      step(PgType::int4), chain_hash(PgType::bytes), actor(PgType::text), payload(PgType::text);
  for (const EventRow& event : events) {
    seq.add(event.seq);
    at.add(event.at_us);
    commit.add(event.commit);
    type.add(event.type);
    version.add(event.version);
    step.add(event.step);
    chain_hash.add(event.chain_hash);
    actor.add(event.actor);
    payload.add(event.payload);
  }
  PgParameters parameters = of_run;
  for (PgArray* column : {&seq, &at, &commit, &type, &version, &step, &chain_hash, &actor, &payload})
    parameters.add(std::move(*column));
  connection.send(statement("import_events"), parameters);
}

PgParameters import_parameters(PgParameters of_run, const ImportOrigin& origin) {
  of_run.add(origin.at_us).add(origin.by).add(origin.database).add(origin.file_digest);
  return origin.key ? of_run.add(*origin.key) : of_run.add_null(PgType::bytes);
}

// The row says that this very import brought the run.
bool is_of_import(const PgResult& rows, const ImportOrigin& origin) {
  rows.expect_columns(origin_columns);
  return rows.rows() == 1 && rows.int8(0, 0) == origin.at_us && rows.text(0, 1) == origin.by &&
         rows.hash(0, 3) == origin.file_digest;
}

}  // namespace

struct RunRecords::Parts {
  PgParameters of(const RunId& run) const { return PgParameters().add(shard_of(run, shards)).add(run); }

  // The run's row first, then its jobs, as every writer does.
  void lock(PgConnection& connection, const RunId& run) const {
    PgArray runs(PgType::uuid);
    runs.add(run);
    connection.send(statement("lock_runs"), PgParameters().add(shard_of(run, shards)).add(std::move(runs)));
    connection.send(statement("lock_jobs_of_run"), of(run));
  }

  const std::int32_t shards;
  Placements placements;
};

RunRecords::RunRecords(const std::string& dsn, std::int32_t shards, int connections_max)
    : parts_(new Parts{shards, {{dsn, "cairn audit", true}, connections_max}}) {}
RunRecords::~RunRecords() = default;

std::int32_t RunRecords::shards() const { return parts_->shards; }

std::vector<RunId> RunRecords::ids(Shard shard, const RunId& after, std::int32_t limit) {
  const PgResult rows =
      parts_->placements.query(shard, "recorded_runs", PgParameters().add(shard).add(after).add(limit));
  rows.expect_columns(id_columns);
  std::vector<RunId> ids;
  for (int row = 0; row < rows.rows(); ++row) ids.push_back(rows.uuid(row, 0));
  return ids;
}

RunId RunRecords::last_id(Shard shard) {
  const PgResult rows = parts_->placements.query(shard, "last_recorded_run", PgParameters().add(shard));
  rows.expect_columns(id_columns);
  return rows.rows() == 0 ? RunId{} : rows.uuid(0, 0);
}

std::vector<RunRecord> RunRecords::records(Shard shard, std::span<const RunId> runs, std::int32_t fold_version) {
  return parts_->placements.run(shard, [&](PgConnection& connection) {
    connection.begin_pipeline();
    connection.send(begin_at_one_moment());
    send_reading(connection, shard, runs, fold_version);
    connection.send(commit_statement());
    connection.sync();
    connection.receive();
    std::vector<RunRecord> records = Records(runs).receive(connection);
    connection.finish();
    return records;
  });
}

RunRecord RunRecords::record(const RunId& run, std::int32_t fold_version) {
  return std::move(records(shard_of(run, parts_->shards), {&run, 1}, fold_version).front());
}

bool RunRecords::remove_leftovers(Shard shard, const RunId& run) {
  return parts_->placements.query(shard, "delete_leftovers", PgParameters().add(shard).add(run)).int8(0, 0) > 0;
}

// The run's row comes first, so that another import of the same run waits for it.
bool RunRecords::add(const Repair& rows, std::span<const EventRow> events, const std::map<Hash, std::string>& blobs,
                     const ImportOrigin& origin) {
  const PgParameters of_run = parts_->of(rows.run.id);
  const Shard shard = shard_of(rows.run.id, parts_->shards);
  bool is_in_doubt = false;  // an earlier attempt sent its COMMIT
  return parts_->placements.run(shard, [&](PgConnection& connection) {
    Repairing writing(connection, shard, rows);
    connection.begin_pipeline();
    connection.send(begin_statement());
    writing.send_run();
    connection.send(statement("last_event"), of_run);
    connection.send(statement("imported"), of_run);
    connection.sync();
    for (int sent = 0; sent < 2; ++sent) connection.receive();
    const bool is_new = connection.receive().rows() == 0;
    const bool has_landed = is_of_import(connection.receive(), origin) && is_in_doubt;
    for (std::size_t at = 0; is_new && at < events.size(); at += events_at_once)
      send_events(connection, of_run, events.subspan(at, std::min(events_at_once, events.size() - at)));
    for (const auto& [hash, bytes] : blobs)
      if (is_new) connection.send(statement("put_blob"), PgParameters().add(shard).add(hash).add_bytes(bytes));
    if (is_new) connection.send(statement("put_import"), import_parameters(of_run, origin));
    if (is_new) writing.send_rest(0);
    connection.send(is_new ? commit_statement() : rollback_statement());
    is_in_doubt = is_in_doubt || is_new;
    connection.sync();
    connection.finish();
    return is_new || has_landed;
  });
}

bool RunRecords::repair(const RunId& run, std::int64_t head, std::int32_t fold_version,
                        const std::function<Repair(const RunRecord&)>& plan) {
  const PgParameters of_run = parts_->of(run);
  const Shard shard = shard_of(run, parts_->shards);
  return parts_->placements.run(shard, [&](PgConnection& connection) {
    connection.begin_pipeline();
    connection.send(begin_statement());
    parts_->lock(connection, run);
    connection.send(statement("last_event"), of_run);
    send_reading(connection, shard, {&run, 1}, fold_version);
    connection.sync();
    for (int locked = 0; locked < 3; ++locked) connection.receive();
    const PgResult last = connection.receive();
    last.expect_columns(last_columns);
    const RunRecord record = receive_record(connection, run);
    const bool is_last = last.rows() == 1 && last.int8(0, 0) == head;
    if (is_last) {
      const Repair repair = plan(record);
      Repairing repairing(connection, shard, repair);
      repairing.send_run();
      repairing.send_rest(fold_version);
    }
    connection.send(is_last ? commit_statement() : rollback_statement());
    connection.sync();
    connection.finish();
    return is_last;
  });
}

}  // namespace cairn
