#include "ops/service/queue_ages.hpp"

#include <algorithm>
#include <utility>

#include "ops/metrics/job_reading.hpp"
#include "storage/clock.hpp"
#include "storage/postgres/connection.hpp"

namespace cairn {

constexpr std::chrono::seconds age_wait_max{1};

namespace {

double as_seconds(TimeUs us) { return static_cast<double>(us) / 1e6; }

JobCounts counts_of(const std::map<std::string, JobCounts>& queues, const std::string& name) {
  const auto found = queues.find(name);
  return found == queues.end() ? JobCounts{} : found->second;
}

}  // namespace

QueueAges::QueueAges(Store& store, std::string dsn)
    : store_(store), dsn_(std::move(dsn)), counter_([this] { count_when_wanted(); }) {}

QueueAges::~QueueAges() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  counter_.join();
}

Json QueueAges::of(const std::string& queue, bool covered) {
  std::unique_lock lock(mutex_);
  if (!is_wanted_ && times_.is_due(Clock::now())) {
    is_wanted_ = true;
    changed_.notify_all();
  }
  changed_.wait_for(lock, age_wait_max, [this] { return !is_wanted_; });
  const bool is_counted = counted_at_ != Clock::time_point{};
  const auto since = is_counted ? Clock::now() - counted_at_ : Clock::duration{};
  JobCounts jobs = covered ? counts_of(counted_.jobs.queues, queue) : JobCounts{};
  const bool has_age = covered && ages_us_.contains(queue);
  if (has_age) jobs.ready = std::max<std::int64_t>(jobs.ready, 1);
  return {{"queue", queue},
          {"oldest_seconds", has_age ? as_seconds(ages_us_.at(queue)) : 0.0},
          {"ready", jobs.ready},
          {"later", jobs.later},
          {"held", jobs.held},
          {"counted", is_counted},
          {"counted_seconds_ago", std::chrono::duration<double>(since).count()},
          {"jobs_counted_seconds_ago",
           counted_.is_whole ? Json(as_seconds(steady_us() - counted_.jobs.began_us)) : Json(nullptr)}};
}

void QueueAges::count_when_wanted() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_wanted_ || closing_; });
    if (closing_) return;
    lock.unlock();
    count();
    lock.lock();
    is_wanted_ = false;
    changed_.notify_all();
  }
}

// Failures of the database end here: an autoscaler that gets no number may take all workers away.
void QueueAges::count() {
  const auto began = Clock::now();
  std::map<std::string, TimeUs> ages_us;
  Counted counted;
  bool is_there = false;
  try {
    const TimeUs now_us = store_.database_time();
    ages_us = store_.jobs().oldest();
    for (auto& [queue, us] : ages_us) us = std::max<TimeUs>(now_us - us, 0);
    counted = counted_jobs(now_us);
    is_there = true;
  } catch (const StoreUnavailable& failure) {
    warning_.say(std::string("The ages of queues are the last known ones; the database is away: ") + failure.what());
  } catch (const PostgresError& failure) {
    warning_.say(std::string("The ages of queues are the last known ones; they cannot be counted: ") + failure.what());
  }
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (!is_there) return times_.fail(now);
  times_.end(began, now);
  ages_us_ = std::move(ages_us);
  counted_ = std::move(counted);
  counted_at_ = now;
}

// A store in memory has few jobs.
QueueAges::Counted QueueAges::counted_jobs(TimeUs now_us) {
  const ReadingTime time{now_us, steady_us()};
  if (!dsn_.empty()) {
    const std::optional<JobTally::Reading>& reading = read_jobs(dsn_, "cairn queue ages", tally_, time);
    return reading ? Counted{*reading, true} : Counted{tally_.read_so_far(), false};
  }
  Counted counted{{{}, time.steady_us}, true};
  for (const QueueRow& row : store_.jobs().queues()) counted.jobs.queues[row.name] = {row.ready, row.later, row.held};
  return counted;
}

}  // namespace cairn
