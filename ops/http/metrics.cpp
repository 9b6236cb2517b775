#include "ops/http/metrics.hpp"

#include <algorithm>
#include <map>

#include "ops/answers/sessions.hpp"
#include "ops/metrics/work_counts.hpp"
#include "storage/clock.hpp"
#include "storage/postgres/administration.hpp"

namespace cairn {
namespace {

std::string label(const std::string& name, const std::string& value) {
  std::string text = name + "=\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text + '"';
}

// The samples of one metric, by their labels.
using Samples = std::map<std::string, double>;

std::string metric(const std::string& name, const std::string& says, const Samples& samples) {
  std::string text = "# HELP " + name + " " + says + "\n# TYPE " + name + " gauge\n";
  for (const auto& [labels, value] : samples) text += name + "{" + labels + "} " + Json(value).dump() + "\n";
  return text;
}

RunCounts counts_between(Administration& database, const StartPlace& after, const StartPlace& until) {
  const AdminRows rows = database.query(
      "run_counts", {std::to_string(after.started_at), after.run, std::to_string(until.started_at), until.run});
  rows.expect_columns({"status", "waiting", "count"});
  RunCounts counts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool waits = rows.text(i, 0) == "running" && rows.boolean(i, 1);
    counts[waits ? "waiting" : rows.text(i, 0)] += rows.number(i, 2);
  }
  return counts;
}

std::optional<StartPlace> place_after(Administration& database, const StartPlace& after, std::int64_t rows) {
  const AdminRows found =
      database.query("run_place", {std::to_string(after.started_at), after.run, std::to_string(rows - 1)});
  found.expect_columns({"started_at", "run_id"});
  if (found.size() == 0) return std::nullopt;
  return StartPlace{found.number(0, 0), found.text(0, 1)};
}

// The index is taken whatever the planner knows of the table: a scan of it would read all runs. Some thousand rows are
// counted before other processes have started to help.
std::string run_metrics(const std::string& dsn, RunTally& runs) {
  Administration database(dsn, "cairn metrics", opening_limit_ms);
  database.begin();
  database.execute("set local enable_seqscan = off; set local max_parallel_workers_per_gather = 0");
  const RunReader reader{
      [&](const StartPlace& after, std::int64_t rows) { return place_after(database, after, rows); },
      [&](const StartPlace& after, const StartPlace& until) { return counts_between(database, after, until); }};
  const TimeUs now_us = steady_us();
  const std::optional<RunTally::Reading> reading = runs.read(reader, now_us);
  database.commit();
  if (!reading) return "";
  Samples samples;
  for (const char* status : {"running", "waiting", "paused", "done", "failed", "aborted"})
    samples[label("status", status)] = 0;
  for (const auto& [status, count] : reading->runs) samples[label("status", status)] = static_cast<double>(count);
  return metric("cairn_runs", "Runs by status.", samples) +
         plain_metric("cairn_runs_counted_seconds", "How long ago the part of these was counted that is the oldest.",
                      static_cast<double>(now_us - reading->oldest_us) / 1e6);
}

// The first so many names have labels of their own.
std::string bounded_label(const std::string& name, const std::string& value, std::size_t place) {
  return label(name, place < queue_labels_max ? value : "other");
}

Samples sessions_by_state(Store& store, TimeUs now_us) {
  Samples samples = {{label("state", "alive"), 0}, {label("state", "silent"), 0}};
  for (const SessionRow& session : store.sessions())
    ++samples[label("state", is_silent(session, now_us) ? "silent" : "alive")];
  return samples;
}

// Consumers of the feed: commits that they have not confirmed, and the age of the oldest.
std::string feed_metrics(Feed& feed, TimeUs now_us) {
  Samples behind, oldest;
  std::size_t place = 0;
  for (const FeedStanding& standing : feed.consumers()) {
    const std::string name = bounded_label("consumer", standing.consumer.name, place++);
    behind[name] += static_cast<double>(standing.behind);
    oldest[name] = std::max(oldest[name], standing.oldest ? static_cast<double>(now_us - *standing.oldest) / 1e6 : 0);
  }
  return metric("cairn_feed_behind", "Commits that a consumer of the feed has not confirmed.", behind) +
         metric("cairn_feed_oldest_seconds", "How long the oldest of them has been committed.", oldest);
}

// How long the first schedule has been due that no process has fired.
std::string schedule_metrics(ScheduleTable& schedules) {
  const NextLook next = schedules.next_look();
  const TimeUs late_us = std::max<TimeUs>(next.now_us - next.at_us.value_or(never_us), 0);
  return plain_metric("cairn_schedules_late_seconds", "How long the first schedule that is due has been so.",
                      static_cast<double>(late_us) / 1e6);
}

// The notices of each hook, and how long the oldest has waited.
std::string hook_metrics(HookTable& hooks, TimeUs now_us) {
  Samples notices, oldest;
  for (const HookCounts& counts : hooks.counts()) {
    const std::string name = label("hook", counts.hook);
    notices[name + "," + label("state", "waiting")] = static_cast<double>(counts.waiting);
    notices[name + "," + label("state", "parked")] = static_cast<double>(counts.parked);
    oldest[name] = counts.oldest ? static_cast<double>(now_us - *counts.oldest) / 1e6 : 0;
  }
  return metric("cairn_hook_notices", "Notices of a hook that wait to be sent, or are parked.", notices) +
         metric("cairn_hook_oldest_seconds", "How long the oldest notice of a hook has waited.", oldest);
}

}  // namespace

std::string metrics_text(Store& store, const std::string& dsn, const CountedTables& tables, RunTally& runs) {
  const TimeUs now_us = store.database_time();
  Samples jobs;
  Samples oldest;
  std::size_t place = 0;
  for (const QueueRow& queue : store.queues()) {
    const std::string name = bounded_label("queue", queue.name, place++);
    jobs[name + "," + label("state", "ready")] += static_cast<double>(queue.ready);
    jobs[name + "," + label("state", "later")] += static_cast<double>(queue.later);
    jobs[name + "," + label("state", "held")] += static_cast<double>(queue.held);
    oldest[name] = std::max(oldest[name], queue.oldest_us ? static_cast<double>(now_us - *queue.oldest_us) / 1e6 : 0);
  }
  return run_metrics(dsn, runs) + metric("cairn_jobs", "Jobs by queue and state.", jobs) +
         metric("cairn_oldest_ready_seconds", "How long the oldest ready job of a queue has been due.", oldest) +
         metric("cairn_sessions", "Worker sessions by state.", sessions_by_state(store, now_us)) +
         feed_metrics(tables.feed, now_us) + schedule_metrics(tables.schedules) + hook_metrics(tables.hooks, now_us);
}

std::string plain_metric(const std::string& name, const std::string& says, double value) {
  return "# HELP " + name + " " + says + "\n# TYPE " + name + " gauge\n" + name + " " + Json(value).dump() + "\n";
}

std::string CachedMetrics::text() {
  std::unique_lock counting(counting_, std::try_to_lock);
  {
    const std::lock_guard lock(mutex_);
    const bool is_due = times_.is_due(RareCount::Clock::now());
    if (!text_.empty() && (!is_due || !counting.owns_lock())) return text_;
  }
  if (!counting.owns_lock()) counting.lock();
  return counted();
}

// REQUIRES: counting_ is locked.
std::string CachedMetrics::counted() {
  const auto began = RareCount::Clock::now();
  std::string text = metrics_text(store_, dsn_, tables_, runs_);
  const std::lock_guard lock(mutex_);
  text_ = text;
  times_.end(began, RareCount::Clock::now());
  return text;
}

}  // namespace cairn
