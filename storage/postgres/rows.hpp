// Rows of our statements to values. Throws CorruptHistory for a stored word or JSON that this program never wrote.
// Pure functions.
#pragma once

#include <vector>

#include "storage/commit_rules.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/store.hpp"

namespace cairn {

FoundRun read_found_run(const PgResult& rows, int row);  // place, head, chain_hash, status
RunRow read_run(const PgResult& rows, int row);          // as run.sql
std::vector<RunRow> read_runs(const PgResult& rows);
EventRow read_event(const PgResult& rows, int row);
std::vector<EventRow> read_events(const PgResult& rows);  // as events.sql
HeldJob read_held_job(const PgResult& rows, int row);     // as jobs.sql, without the run's head
std::vector<HeldJob> read_held_jobs(const PgResult& rows);
QuestionRow read_question(const PgResult& rows, int row);
std::vector<QuestionRow> read_questions(const PgResult& rows);         // as questions.sql
std::vector<QueueSettings> read_queue_settings(const PgResult& rows);  // as queue_settings.sql

}  // namespace cairn
