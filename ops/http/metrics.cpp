#include "ops/http/metrics.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include "ops/answers/sessions.hpp"
#include "ops/metrics/exposition.hpp"
#include "ops/metrics/job_reading.hpp"
#include "ops/metrics/work_counts.hpp"
#include "storage/clock.hpp"
#include "storage/limit_book.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/server/cluster.hpp"
#include "storage/starts/start_book.hpp"

namespace cairn {
namespace {

constexpr std::int64_t starts_counted_max = 10'000;

using Samples = std::map<Gauge::Labels, double>;

double seconds_of(TimeUs us) { return static_cast<double>(us) / 1e6; }

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

struct Tallied {
  std::optional<RunTally::Reading> runs;
  std::optional<JobTally::Reading> jobs;
  std::int64_t database_bytes = 0;
  TimeUs at_us = 0;  // steady
};

// The indexes are taken whatever the planner knows of the tables: a scan would read all rows. Some thousand are counted
// before other processes have started to help.
Tallied tallied(const std::string& dsn, Tallies& tallies, TimeUs now_us) {
  Administration database(dsn, "cairn metrics", opening_limit_ms);
  database.begin();
  database.query("read_by_index");
  const RunReader runs{
      [&](const StartPlace& after, std::int64_t rows) { return place_after(database, after, rows); },
      [&](const StartPlace& after, const StartPlace& until) { return counts_between(database, after, until); }};
  Tallied found;
  found.at_us = steady_us();
  found.runs = tallies.runs.read(runs, found.at_us);
  found.jobs = read_jobs(database, tallies.jobs, {now_us, found.at_us});
  found.database_bytes = database.query("database_bytes").number(0, 0);
  database.commit();
  return found;
}

void add_runs(std::vector<Gauge>& to, const Tallied& found) {
  if (!found.runs) return;
  Samples samples;
  for (const char* status : {"running", "waiting", "paused", "done", "failed", "aborted"})
    samples[{{"status", status}}] = 0;
  for (const auto& [status, count] : found.runs->runs) samples[{{"status", status}}] = static_cast<double>(count);
  to.push_back({"cairn_runs", "Runs by status.", std::move(samples)});
  to.push_back(plain_gauge("cairn_runs_counted_seconds", "Age of the oldest count that cairn_runs contains.",
                           seconds_of(found.at_us - found.runs->oldest_us)));
}

// Where a database of ours is, its disk is; nothing is known of another one's. It asks the disk alone: a full one may
// have stopped the database.
std::string free_space_text(const std::string& dsn) {
  const std::string folder = socket_folder_of(dsn);
  if (folder.empty() || !is_cluster(folder)) return "";
  std::error_code fault;
  const std::filesystem::space_info space = std::filesystem::space(folder, fault);
  if (fault) return "";
  return gauges_text({plain_gauge("cairn_data_free_bytes", "Bytes that are free where the embedded database is.",
                                  static_cast<double>(space.available))});
}

// The first so many names of a list have labels of their own, unless they are long.
std::string bounded_label(const std::string& name, std::size_t place) {
  return place < queue_labels_max && name.size() <= label_bytes_max ? name : std::string(other_label);
}

void raise(double& value, std::optional<TimeUs> since_us, TimeUs now_us) {
  value = std::max(value, since_us ? seconds_of(now_us - *since_us) : 0);
}

void add_jobs(std::vector<Gauge>& to, const Tallied& found) {
  if (!found.jobs) return;
  Samples jobs;
  std::size_t place = 0;
  for (const auto& [queue, counts] : found.jobs->queues) {
    const std::string name = bounded_label(queue, place++);
    jobs[{{"queue", name}, {"state", "ready"}}] += static_cast<double>(counts.ready);
    jobs[{{"queue", name}, {"state", "later"}}] += static_cast<double>(counts.later);
    jobs[{{"queue", name}, {"state", "held"}}] += static_cast<double>(counts.held);
  }
  to.push_back({"cairn_jobs", "Jobs by queue and state.", std::move(jobs)});
  to.push_back(plain_gauge("cairn_jobs_counted_seconds", "Age of the oldest count that cairn_jobs contains.",
                           seconds_of(found.at_us - found.jobs->began_us)));
}

// Zero for a queue whose jobs are all held or not yet due.
void add_oldest(std::vector<Gauge>& to, const Tallied& found, const std::map<std::string, TimeUs>& ready,
                TimeUs now_us) {
  std::map<std::string, std::optional<TimeUs>> since(ready.begin(), ready.end());
  if (found.jobs)
    for (const auto& [queue, counts] : found.jobs->queues) since.try_emplace(queue);
  Samples oldest;
  std::size_t place = 0;
  for (const auto& [queue, since_us] : since)
    raise(oldest[{{"queue", bounded_label(queue, place++)}}], since_us, now_us);
  to.push_back(
      {"cairn_oldest_ready_seconds", "How long the oldest ready job of a queue has been due.", std::move(oldest)});
}

// The part of each budget that is used in its window; more than 1 if steps used more than they reserved.
void add_budgets(std::vector<Gauge>& to, const LimitBook& limits, TimeUs now_us) {
  std::vector<QueueLimits> queues = limits.queue_limits();
  std::erase_if(queues, [](const QueueLimits& queue) { return queue.budgets.empty(); });
  std::vector<std::string> names;
  for (const QueueLimits& queue : queues) names.push_back(queue.name);
  const std::map<std::string, QueueUse> uses =
      names.empty() ? std::map<std::string, QueueUse>() : limits.queue_uses(names);
  Samples used;
  std::size_t place = 0;
  for (const QueueLimits& queue : queues) {
    const std::string name = bounded_label(queue.name, place++);
    const auto use = uses.find(queue.name);
    for (const UnitBudget& budget : queue.budgets) {
      const std::int64_t amount = use == uses.end() ? 0 : used_of(budget, use->second.budgets, now_us);
      double& ratio = used[{
          {"per", std::string(to_string(budget.per))}, {"queue", name}, {"unit", std::string(to_string(budget.unit))}}];
      ratio = std::max(ratio, static_cast<double>(amount) / static_cast<double>(budget.cap));
    }
  }
  to.push_back({"cairn_budget_used_ratio", "The part of a queue's budget that is used.", std::move(used)});
}

void add_sessions(std::vector<Gauge>& to, Store& store, TimeUs now_us) {
  double alive = 0, silent = 0;
  for (const SessionRow& session : store.sessions().all()) ++(is_silent(session, now_us) ? silent : alive);
  to.push_back({"cairn_sessions",
                "Worker sessions by state.",
                {{{{"state", "alive"}}, alive}, {{{"state", "silent"}}, silent}}});
}

// Consumers of the feed: commits that they have not confirmed, and the age of the oldest, or of the last move of a
// place that is still in the history.
void add_feed(std::vector<Gauge>& to, Feed& feed, TimeUs now_us) {
  Samples behind, oldest;
  std::size_t place = 0;
  for (const FeedStanding& standing : feed.consumers()) {
    const Gauge::Labels labels = {{"consumer", bounded_label(standing.consumer.name, place++)}};
    behind[labels] += static_cast<double>(standing.behind);
    raise(oldest[labels], standing.oldest, now_us);
    if (standing.reads_history) raise(oldest[labels], standing.moved_at, now_us);
  }
  to.push_back({"cairn_feed_behind", "Commits that a consumer of the feed has not confirmed.", std::move(behind)});
  to.push_back({"cairn_feed_oldest_seconds", "How long the oldest of them has been committed.", std::move(oldest)});
}

double seconds_late(const NextDue& next) {
  return seconds_of(std::max<TimeUs>(next.now_us - next.at_us.value_or(never_us), 0));
}

// How long the first schedule has been due that no process has fired.
Gauge schedules_late(ScheduleTable& schedules) {
  return plain_gauge("cairn_schedules_late_seconds", "How long the first schedule that is due has been so.",
                     seconds_late(schedules.next_due()));
}

// Starts that wait, and how long the first has been due that no process has looked at.
void add_starts(std::vector<Gauge>& to, const StartBook& starts) {
  to.push_back(plain_gauge("cairn_starts_waiting", "Starts that are no run yet; 10000 stands for more.",
                           static_cast<double>(starts.count(starts_counted_max))));
  to.push_back(plain_gauge("cairn_starts_late_seconds", "How long the first start that is due has been so.",
                           seconds_late(starts.next_due())));
}

// The notices of each hook, and how long the oldest has waited.
void add_hooks(std::vector<Gauge>& to, HookTable& hooks, TimeUs now_us) {
  Samples notices, oldest;
  std::size_t place = 0;
  for (const HookCounts& counts : hooks.counts()) {
    const std::string name = bounded_label(counts.hook, place++);
    notices[{{"hook", name}, {"state", "waiting"}}] += static_cast<double>(counts.waiting);
    notices[{{"hook", name}, {"state", "parked"}}] += static_cast<double>(counts.parked);
    raise(oldest[{{"hook", name}}], counts.oldest, now_us);
  }
  to.push_back({"cairn_hook_notices", "Notices of a hook that wait to be sent, or are parked.", std::move(notices)});
  to.push_back({"cairn_hook_oldest_seconds", "How long the oldest notice of a hook has waited.", std::move(oldest)});
}

}  // namespace

std::string metrics_text(Store& store, const std::string& dsn, const CountedTables& tables, Tallies& tallies) {
  const TimeUs now_us = store.database_time();
  const Tallied found = tallied(dsn, tallies, now_us);
  std::vector<Gauge> gauges;
  add_runs(gauges, found);
  add_jobs(gauges, found);
  add_oldest(gauges, found, store.jobs().oldest(), now_us);
  gauges.push_back(
      plain_gauge("cairn_database_bytes", "Size of the database.", static_cast<double>(found.database_bytes)));
  add_budgets(gauges, store.limits(), now_us);
  add_sessions(gauges, store, now_us);
  add_feed(gauges, tables.feed, now_us);
  gauges.push_back(schedules_late(tables.schedules));
  add_starts(gauges, store.starts());
  add_hooks(gauges, tables.hooks, now_us);
  return gauges_text(gauges);
}

std::string CachedMetrics::text() {
  std::unique_lock counting(counting_, std::try_to_lock);
  {
    const std::lock_guard lock(mutex_);
    const bool is_due = times_.is_due(RareCount::Clock::now());
    if (text_ && (!is_due || !counting.owns_lock())) return *text_;
  }
  if (!counting.owns_lock()) counting.lock();
  return counted();
}

// REQUIRES: counting_ is locked.
std::string CachedMetrics::counted() {
  const auto began = RareCount::Clock::now();
  std::string text;
  bool is_counted = false;
  try {
    text = metrics_text(store_, dsn_, tables_, tallies_);
    is_counted = true;
  } catch (const StoreUnavailable& failure) {
    warning_.say(std::string("The metrics have no gauges; the database is away: ") + failure.what());
  } catch (const PostgresError& failure) {
    if (!failure.is_transient()) throw;
    warning_.say(std::string("The metrics have no gauges; the database is away: ") + failure.what());
  }
  text += free_space_text(dsn_);
  const auto now = RareCount::Clock::now();
  const std::lock_guard lock(mutex_);
  text_ = text;
  is_counted ? times_.end(began, now) : times_.fail(now);
  return text;
}

}  // namespace cairn
