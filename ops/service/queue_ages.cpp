#include "ops/service/queue_ages.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>

#include "storage/postgres/connection.hpp"

namespace cairn {

Json QueueAges::of(const std::string& queue, bool covered) {
  if (const std::unique_lock counting(counting_, std::try_to_lock); counting.owns_lock()) count();
  const std::lock_guard lock(mutex_);
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

// Failures of the database end here: an autoscaler that gets no number may take all workers away.
// REQUIRES: counting_ is locked.
void QueueAges::count() {
  constexpr std::chrono::seconds fresh_least{5};
  constexpr int share = 20;
  const auto began = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (began < fresh_until_) return;
  }
  std::map<std::string, QueueRow> rows;
  TimeUs now_us = 0;
  try {
    now_us = store_.database_time();
    for (QueueRow& row : store_.queues()) rows.emplace(row.name, std::move(row));
  } catch (const StoreUnavailable& failure) {
    spdlog::warn("The ages of queues are the last known ones; the database is away: {}", failure.what());
  } catch (const PostgresError& failure) {
    spdlog::warn("The ages of queues are the last known ones; they cannot be counted: {}", failure.what());
  }
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  fresh_until_ = now + std::max<Clock::duration>(fresh_least, (now - began) * share);
  if (now_us == 0) return;
  rows_ = std::move(rows);
  now_us_ = now_us;
  counted_at_ = now;
}

}  // namespace cairn
