// Readers that turn rows of our statements into values. Each reader of a whole result CHECKs the names of its columns,
// so that a statement whose columns moved ends the process instead of mixing them up. Throws CorruptHistory for a
// stored word or JSON that this program never wrote. Pure functions.
#pragma once

#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "storage/commit_rules.hpp"
#include "storage/limits/queue_limits.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/store.hpp"

namespace cairn {

// The first columns of the statements that return such rows.
extern const std::span<const std::string_view> run_columns;       // as in run.sql
extern const std::span<const std::string_view> event_columns;     // as in events.sql
extern const std::span<const std::string_view> job_columns;       // as in jobs.sql, without the run's head
extern const std::span<const std::string_view> question_columns;  // as in questions.sql

// One row. REQUIRES: the result's first columns are those of its kind.
RunRow read_run(const PgResult& rows, int row);
EventRow read_event(const PgResult& rows, int row);
HeldJob read_held_job(const PgResult& rows, int row);
QuestionRow read_question(const PgResult& rows, int row);

// All rows of a result.
std::vector<RunRow> read_runs(const PgResult& rows);
std::vector<EventRow> read_events(const PgResult& rows);
std::vector<HeldJob> read_held_jobs(const PgResult& rows);  // with the run's head
std::vector<QuestionRow> read_questions(const PgResult& rows);
std::vector<SnapshotRow> read_snapshots(const PgResult& rows);
std::vector<GraphRow> read_graphs(const PgResult& rows);
std::vector<QueueRow> read_queues(const PgResult& rows);
std::vector<QueueLimits> read_queue_limits(const PgResult& rows);
std::vector<SessionRow> read_sessions(const PgResult& rows);

// The jobs that a claim took; then the heads of their runs, with all events of those whose history is short.
std::vector<HeldJob> read_claimed_jobs(const PgResult& rows);          // without the run's head
std::vector<HeldJob> read_claimed_jobs_of_keys(const PgResult& rows);  // from a queue with keys
struct ClaimedHeads {
  std::map<RunId, std::int64_t> heads;
  std::vector<ShortHistory> histories;
};
ClaimedHeads read_claimed_heads(const PgResult& rows);

// The place of a job in its queue, in the order of claims; before all others by default.
struct JobPlace {
  std::int32_t priority = std::numeric_limits<std::int32_t>::min();
  TimeUs run_at_us = std::numeric_limits<TimeUs>::min();
  RunId run = {};
  BranchId branch = std::numeric_limits<BranchId>::min();
};
// The end of a portion of key_jobs.sql.
struct KeyPortion {
  JobPlace after = {};  // where the next portion begins
  bool is_last = false;
  std::int64_t found = 0;  // jobs that were given their keys
};
KeyPortion read_key_portion(const PgResult& rows);

// Rows that answer an array parameter of `sent` elements: each with its place in that array, from 0.
std::size_t place_of(const PgResult& rows, int row, int column, std::size_t sent);
// The rows of lock_runs.sql and run_heads.sql.
std::vector<std::pair<std::size_t, FoundRun>> read_found_runs(const PgResult& rows, std::size_t sent);
// The rows of lock_jobs.sql.
std::vector<std::pair<std::size_t, FoundJob>> read_found_jobs(const PgResult& rows, std::size_t sent);

}  // namespace cairn
