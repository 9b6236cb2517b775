#include "ops/service/queue_ages.hpp"

#include <algorithm>

#include "storage/postgres/connection.hpp"

namespace cairn {

constexpr std::chrono::seconds age_wait_max{1};

QueueAges::QueueAges(Store& store) : store_(store), counter_([this] { count_when_wanted(); }) {}

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
  const auto found = rows_.find(queue);
  const QueueRow row = found == rows_.end() || !covered ? QueueRow{} : found->second;
  const TimeUs oldest_us = row.oldest_us ? std::max<TimeUs>(now_us_ - *row.oldest_us, 0) : 0;
  return {{"queue", queue},
          {"oldest_seconds", static_cast<double>(oldest_us) / 1e6},
          {"ready", row.ready},
          {"later", row.later},
          {"held", row.held},
          {"counted", is_counted},
          {"counted_seconds_ago", std::chrono::duration<double>(since).count()}};
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
  std::map<std::string, QueueRow> rows;
  TimeUs now_us = 0;
  try {
    now_us = store_.database_time();
    for (QueueRow& row : store_.jobs().queues()) rows.emplace(row.name, std::move(row));
  } catch (const StoreUnavailable& failure) {
    now_us = 0;
    warning_.say(std::string("The ages of queues are the last known ones; the database is away: ") + failure.what());
  } catch (const PostgresError& failure) {
    now_us = 0;
    warning_.say(std::string("The ages of queues are the last known ones; they cannot be counted: ") + failure.what());
  }
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (now_us == 0) return times_.fail(now);
  times_.end(began, now);
  rows_ = std::move(rows);
  now_us_ = now_us;
  counted_at_ = now;
}

}  // namespace cairn
