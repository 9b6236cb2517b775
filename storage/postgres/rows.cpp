#include "storage/postgres/rows.hpp"

#include <array>

#include "engine/corrupt_history.hpp"
#include "storage/ground/packed_text.hpp"

namespace cairn {
namespace {

RunStatus read_status(std::string_view word) {
  const auto status = parse_run_status(word);
  if (!status) throw CorruptHistory("Expected the status of a run, but found " + std::string(word) + ".");
  return *status;
}

std::optional<RunId> read_optional_id(const PgResult& rows, int row, int column) {
  if (rows.is_null(row, column)) return std::nullopt;
  return rows.uuid(row, column);
}

Tags read_tags(std::string_view text) {
  if (text == "{}") return {};
  Tags tags;
  const Json stored = parse_stored(text);
  for (const auto& [key, value] : stored.items()) {
    if (!value.is_string())
      throw CorruptHistory("Expected the tags of a run to be texts, but found " + key + " is not.");
    tags[key] = value.get<std::string>();
  }
  return tags;
}

constexpr auto run_names = std::to_array<std::string_view>({"run_id", "graph", "version", "status", "waiting", "head",
                                                            "chain_hash", "parent", "continues", "started_at",
                                                            "updated_at", "reason", "tags", "origin", "origin_seq"});
constexpr auto listed_run_names = [] {
  std::array<std::string_view, run_names.size() + 1> names{};
  std::copy(run_names.begin(), run_names.end(), names.begin());
  names.back() = "cause";
  return names;
}();
constexpr auto event_names = std::to_array<std::string_view>(
    {"seq", "at", "type", "version", "step", "actor", "payload", "commit", "chain_hash"});
constexpr auto job_names = std::to_array<std::string_view>(
    {"run_id", "branch", "step", "attempt", "queue", "priority", "run_at", "timeout_ms", "", "epoch", "deadline"});
constexpr auto question_names = std::to_array<std::string_view>(
    {"run_id", "id", "step", "kind", "prompt", "schema", "fallback", "expires_at", "asked_at"});
constexpr auto session_names = std::to_array<std::string_view>(
    {"session", "host", "pid", "queues", "counter", "started_at", "beat_at", "only_own", "handlers", "tools", "machine",
     "alone", "has_model", "allows", "caller", "declares", "begun"});

// All rows by one reader of a row, after the check of their columns.
template <class Row>
std::vector<Row> read_all(const PgResult& rows, std::span<const std::string_view> columns,
                          Row (*read)(const PgResult&, int)) {
  rows.expect_columns(columns);
  std::vector<Row> all;
  all.reserve(static_cast<std::size_t>(rows.rows()));
  for (int row = 0; row < rows.rows(); ++row) all.push_back(read(rows, row));
  return all;
}

SessionRow read_session(const PgResult& rows, int row) {
  SessionRow session;
  session.id = rows.int8(row, 0);
  session.host = rows.text(row, 1);
  session.pid = rows.int8(row, 2);
  session.queues = rows.texts(row, 3);
  session.counter = rows.int8(row, 4);
  session.started_at = rows.int8(row, 5);
  session.beat_at = rows.int8(row, 6);
  session.only_own = rows.boolean(row, 7);
  if (!rows.is_null(row, 8)) session.handlers = rows.texts(row, 8);
  if (!rows.is_null(row, 9)) session.tools = rows.texts(row, 9);
  session.machine = rows.text(row, 10);
  if (!rows.is_null(row, 11)) session.alone = rows.text(row, 11);
  if (!rows.is_null(row, 12)) session.has_model = rows.boolean(row, 12);
  if (!rows.is_null(row, 13)) session.allows = rows.texts(row, 13);
  if (!rows.is_null(row, 14)) session.caller = rows.text(row, 14);
  if (!rows.is_null(row, 15)) session.declares = rows.text(row, 15);
  if (!rows.is_null(row, 16)) session.begun = rows.texts(row, 16);
  return session;
}

RunRow read_listed_run(const PgResult& rows, int row) {
  RunRow run = read_run(rows, row);
  const auto cause = static_cast<int>(run_names.size());
  if (!rows.is_null(row, cause)) run.cause = read_cause(parse_stored(rows.text(row, cause)));
  return run;
}

}  // namespace

const std::span<const std::string_view> run_columns = run_names;
const std::span<const std::string_view> event_columns = event_names;
const std::span<const std::string_view> job_columns = job_names;
const std::span<const std::string_view> question_columns = question_names;

RunRow read_run(const PgResult& rows, int row) {
  RunRow run;
  run.id = rows.uuid(row, 0);
  run.graph = rows.text(row, 1);
  run.version = rows.text(row, 2);
  run.status = read_status(rows.text(row, 3));
  run.waiting = rows.boolean(row, 4);
  run.head = rows.int8(row, 5);
  run.chain_hash = rows.hash(row, 6);
  run.parent = read_optional_id(rows, row, 7);
  run.continues = read_optional_id(rows, row, 8);
  run.started_at = rows.int8(row, 9);
  run.updated_at = rows.int8(row, 10);
  run.reason = rows.text(row, 11);
  run.tags = read_tags(rows.text(row, 12));
  if (!rows.is_null(row, 13)) run.forked_from = ForkPoint{rows.uuid(row, 13), rows.int8(row, 14)};
  return run;
}

EventRow read_event(const PgResult& rows, int row) {
  EventRow event;
  event.seq = rows.int8(row, 0);
  event.at_us = rows.int8(row, 1);
  event.type = rows.int2(row, 2);
  event.version = rows.int2(row, 3);
  event.step = rows.int4(row, 4);
  event.actor = rows.text(row, 5);
  event.payload = rows.text(row, 6);
  event.commit = rows.int8(row, 7);
  event.chain_hash = rows.hash(row, 8);
  return event;
}

HeldJob read_held_job(const PgResult& rows, int row) {
  HeldJob held;
  held.run = rows.uuid(row, 0);
  held.job.branch = rows.int4(row, 1);
  held.job.step = rows.int4(row, 2);
  held.job.attempt = rows.int4(row, 3);
  held.job.queue = rows.text(row, 4);
  held.job.priority = rows.int4(row, 5);
  held.job.run_at_us = rows.int8(row, 6);
  held.job.timeout_ms = rows.int8(row, 7);
  held.session = rows.int8(row, 8);
  held.epoch = rows.int8(row, 9);
  held.deadline_us = rows.int8(row, 10);
  return held;
}

QuestionRow read_question(const PgResult& rows, int row) {
  QuestionRow question;
  question.run = rows.uuid(row, 0);
  question.id = rows.text(row, 1);
  question.step = rows.int4(row, 2);
  question.kind = rows.text(row, 3);
  question.prompt = parse_stored(rows.text(row, 4));
  question.schema = parse_stored(rows.text(row, 5));
  if (!rows.is_null(row, 6)) question.fallback = parse_stored(rows.text(row, 6));
  if (!rows.is_null(row, 7)) question.expires_at = rows.int8(row, 7);
  question.asked_at = rows.int8(row, 8);
  return question;
}

std::vector<RunRow> read_runs(const PgResult& rows) { return read_all(rows, listed_run_names, read_listed_run); }
std::vector<EventRow> read_events(const PgResult& rows) { return read_all(rows, event_columns, read_event); }
std::vector<QuestionRow> read_questions(const PgResult& rows) {
  return read_all(rows, question_columns, read_question);
}
std::vector<SessionRow> read_sessions(const PgResult& rows) { return read_all(rows, session_names, read_session); }
std::vector<HeldJob> read_claimed_jobs(const PgResult& rows) { return read_all(rows, job_columns, read_held_job); }

std::vector<HeldJob> read_claimed_jobs_of_keys(const PgResult& rows) {
  std::vector<HeldJob> jobs = read_claimed_jobs(rows);
  const int key = rows.column("limit_key");
  for (int row = 0; row < rows.rows(); ++row) jobs[static_cast<std::size_t>(row)].key = rows.text(row, key);
  return jobs;
}

std::vector<HeldJob> read_held_jobs(const PgResult& rows) {
  std::vector<HeldJob> jobs = read_claimed_jobs(rows);
  const int head = rows.column("head");
  for (int row = 0; row < rows.rows(); ++row) jobs[static_cast<std::size_t>(row)].run_head = rows.int8(row, head);
  return jobs;
}

ClaimedHeads read_claimed_heads(const PgResult& rows) {
  rows.expect_columns(event_columns);
  const int run_column = rows.column("run_id");
  const int head_column = rows.column("head");
  ClaimedHeads read;
  for (int row = 0; row < rows.rows(); ++row) {
    const RunId run = rows.uuid(row, run_column);
    const bool is_first = read.heads.emplace(run, rows.int8(row, head_column)).second;
    if (rows.is_null(row, 0)) continue;  // no event: the history is not short
    if (is_first) read.histories.push_back({run, {}});
    CHECK(read.histories.back().run == run);  // a run's rows stand together
    read.histories.back().events.push_back(read_event(rows, row));
  }
  return read;
}

std::vector<SnapshotRow> read_snapshots(const PgResult& rows) {
  const int seq = rows.column("seq"), fold_version = rows.column("fold_version");
  const int chain_hash = rows.column("chain_hash"), state = rows.column("state");
  std::vector<SnapshotRow> snapshots;
  for (int row = 0; row < rows.rows(); ++row)
    snapshots.push_back({rows.int8(row, seq), rows.int4(row, fold_version), rows.hash(row, chain_hash),
                         unpacked_text(rows.text(row, state))});
  return snapshots;
}

std::vector<GraphRow> read_graphs(const PgResult& rows) {
  const int name = rows.column("name"), version = rows.column("version");
  const int text = rows.column("text"), current = rows.column("current");
  const int actor = rows.column("actor"), at = rows.column("at");
  std::vector<GraphRow> graphs;
  for (int row = 0; row < rows.rows(); ++row)
    graphs.push_back({std::string(rows.text(row, name)), std::string(rows.text(row, version)),
                      std::string(rows.text(row, text)), rows.boolean(row, current), std::string(rows.text(row, actor)),
                      rows.int8(row, at)});
  return graphs;
}

std::vector<QueueRow> read_queues(const PgResult& rows) {
  static constexpr auto names = std::to_array<std::string_view>({"queue", "count", "count", "count", "min"});
  rows.expect_columns(names);
  std::vector<QueueRow> queues;
  for (int row = 0; row < rows.rows(); ++row) {
    QueueRow queue{std::string(rows.text(row, 0)), rows.int8(row, 1), rows.int8(row, 2), rows.int8(row, 3), {}};
    if (!rows.is_null(row, 4)) queue.oldest_us = rows.int8(row, 4);
    queues.push_back(std::move(queue));
  }
  return queues;
}

std::vector<QueueLimits> read_queue_limits(const PgResult& rows) {
  static constexpr auto names =
      std::to_array<std::string_view>({"name", "revision", "concurrency", "paused", "limits"});
  rows.expect_columns(names);
  std::vector<QueueLimits> all;
  for (int row = 0; row < rows.rows(); ++row) {
    QueueLimits limits{.name = std::string(rows.text(row, 0)), .revision = rows.int8(row, 1)};
    if (!rows.is_null(row, 2)) limits.concurrency = rows.int4(row, 2);
    limits.paused = rows.boolean(row, 3);
    if (!rows.is_null(row, 4)) read_limits_text(rows.text(row, 4), limits);
    all.push_back(std::move(limits));
  }
  return all;
}

KeyPortion read_key_portion(const PgResult& rows) {
  static constexpr auto names =
      std::to_array<std::string_view>({"priority", "run_at", "run_id", "branch", "is_last", "found"});
  rows.expect_columns(names);
  if (rows.rows() == 0) return {.is_last = true};
  const JobPlace last{rows.int4(0, 0), rows.int8(0, 1), rows.uuid(0, 2), rows.int4(0, 3)};
  return {.after = last, .is_last = rows.boolean(0, 4), .found = rows.int8(0, 5)};
}

std::size_t place_of(const PgResult& rows, int row, int column, std::size_t sent) {
  const std::int64_t place = rows.int8(row, column);             // WITH ORDINALITY counts from 1
  CHECK(place >= 1 && static_cast<std::size_t>(place) <= sent);  // it was counted in the array that we wrote
  return static_cast<std::size_t>(place - 1);
}

std::vector<std::pair<std::size_t, FoundRun>> read_found_runs(const PgResult& rows, std::size_t sent) {
  static constexpr auto names = std::to_array<std::string_view>({"place", "head", "chain_hash", "status"});
  rows.expect_columns(names);
  std::vector<std::pair<std::size_t, FoundRun>> found;
  for (int row = 0; row < rows.rows(); ++row)
    found.push_back(
        {place_of(rows, row, 0, sent), {rows.int8(row, 1), rows.hash(row, 2), read_status(rows.text(row, 3))}});
  return found;
}

std::vector<std::pair<std::size_t, FoundJob>> read_found_jobs(const PgResult& rows, std::size_t sent) {
  static constexpr auto names = std::to_array<std::string_view>({"place", "", "epoch", "step", "deadline"});
  rows.expect_columns(names);
  std::vector<std::pair<std::size_t, FoundJob>> found;
  for (int row = 0; row < rows.rows(); ++row)
    found.push_back(
        {place_of(rows, row, 0, sent), {rows.int8(row, 1), rows.int8(row, 2), rows.int4(row, 3), rows.int8(row, 4)}});
  return found;
}

}  // namespace cairn
