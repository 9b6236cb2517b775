#include "storage/postgres/rows.hpp"

#include "engine/codec.hpp"

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

}  // namespace

FoundRun read_found_run(const PgResult& rows, int row) {
  return {rows.int8(row, 1), rows.hash(row, 2), read_status(rows.text(row, 3))};
}

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

std::vector<RunRow> read_runs(const PgResult& rows) {
  std::vector<RunRow> runs;
  for (int row = 0; row < rows.rows(); ++row) runs.push_back(read_run(rows, row));
  return runs;
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

std::vector<EventRow> read_events(const PgResult& rows) {
  std::vector<EventRow> events;
  events.reserve(static_cast<std::size_t>(rows.rows()));
  for (int row = 0; row < rows.rows(); ++row) events.push_back(read_event(rows, row));
  return events;
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

std::vector<HeldJob> read_held_jobs(const PgResult& rows) {
  std::vector<HeldJob> jobs;
  for (int row = 0; row < rows.rows(); ++row) {
    jobs.push_back(read_held_job(rows, row));
    jobs.back().run_head = rows.int8(row, 11);
  }
  return jobs;
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

std::vector<QuestionRow> read_questions(const PgResult& rows) {
  std::vector<QuestionRow> questions;
  for (int row = 0; row < rows.rows(); ++row) questions.push_back(read_question(rows, row));
  return questions;
}

std::vector<QueueSettings> read_queue_settings(const PgResult& rows) {
  std::vector<QueueSettings> all;
  for (int row = 0; row < rows.rows(); ++row) {
    QueueSettings settings;
    settings.name = rows.text(row, 0);
    if (!rows.is_null(row, 1)) settings.concurrency = rows.int4(row, 1);
    settings.paused = rows.boolean(row, 2);
    all.push_back(std::move(settings));
  }
  return all;
}

}  // namespace cairn
