#include "ops/http/metrics.hpp"

#include <algorithm>
#include <map>

#include "ops/answers/sessions.hpp"
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

Samples runs_by_status(const std::string& dsn) {
  Samples samples;
  for (const char* status : {"running", "waiting", "paused", "done", "failed", "aborted"})
    samples[label("status", status)] = 0;
  Administration database(dsn, "cairn metrics", opening_limit_ms);
  const AdminRows rows = database.query("run_counts");
  rows.expect_columns({"status", "waiting", "count"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool waits = rows.text(i, 0) == "running" && rows.boolean(i, 1);
    samples[label("status", waits ? "waiting" : rows.text(i, 0))] += static_cast<double>(rows.number(i, 2));
  }
  return samples;
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
  for (const FeedStanding& standing : feed.consumers()) {
    const std::string name = label("consumer", standing.consumer.name);
    behind[name] = static_cast<double>(standing.behind);
    oldest[name] = standing.oldest ? static_cast<double>(now_us - *standing.oldest) / 1e6 : 0;
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

std::string metrics_text(Store& store, const std::string& dsn, const CountedTables& tables) {
  const TimeUs now_us = store.database_time();
  Samples jobs;
  Samples oldest;
  for (const QueueRow& queue : store.queues()) {
    const std::string name = label("queue", queue.name);
    jobs[name + "," + label("state", "ready")] = static_cast<double>(queue.ready);
    jobs[name + "," + label("state", "later")] = static_cast<double>(queue.later);
    jobs[name + "," + label("state", "held")] = static_cast<double>(queue.held);
    oldest[name] = queue.oldest_us ? static_cast<double>(now_us - *queue.oldest_us) / 1e6 : 0;
  }
  return metric("cairn_runs", "Runs by status.", runs_by_status(dsn)) +
         metric("cairn_jobs", "Jobs by queue and state.", jobs) +
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
    const bool is_fresh = std::chrono::steady_clock::now() < fresh_until_;
    if (!text_.empty() && (is_fresh || !counting.owns_lock())) return text_;
  }
  if (!counting.owns_lock()) counting.lock();
  return counted();
}

// REQUIRES: counting_ is locked.
std::string CachedMetrics::counted() {
  constexpr std::chrono::seconds fresh_least{5};
  constexpr int share = 20;
  const auto began = std::chrono::steady_clock::now();
  std::string text = metrics_text(store_, dsn_, tables_);
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  text_ = text;
  fresh_until_ = now + std::max<std::chrono::steady_clock::duration>(fresh_least, (now - began) * share);
  return text;
}

}  // namespace cairn
