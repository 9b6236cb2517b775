#include "storage/postgres/claims/known_limits.hpp"

#include <algorithm>
#include <optional>

namespace cairn {
namespace {

// A change of the limits, which may come from another process, is noticed after this.
constexpr TimeUs held_back_max_us = 1'000'000;
constexpr TimeUs retire_every_us = 250'000;

}  // namespace

KnownLimits::Split KnownLimits::split(const ClaimRequest& request) {
  Split queues{request, request, false};
  const std::lock_guard lock(mutex_);
  if (limited_.empty()) {
    queues.limited.queues.clear();
    return queues;
  }
  const auto is_limited = [this](const std::string& queue) { return limited_.contains(queue); };
  std::erase_if(queues.unlimited.queues, is_limited);
  std::erase_if(queues.limited.queues, [&](const std::string& queue) { return !is_limited(queue); });
  queues.limited_first = limited_first_ = !limited_first_;
  return queues;
}

KnownLimits::Kinds KnownLimits::kinds_of(const std::vector<std::string>& queues) {
  Kinds kinds;
  const std::lock_guard lock(mutex_);
  const TimeUs now_us = clock_();
  std::erase_if(held_back_, [&](const auto& entry) { return entry.second <= now_us; });
  for (const std::string& queue : queues) {
    if (!governed_.contains(queue))
      kinds.counted.push_back(queue);
    else if (!held_back_.contains(queue))
      (keyed_.contains(queue) ? kinds.keyed : kinds.governed).push_back(queue);
  }
  return kinds;
}

std::optional<std::int64_t> KnownLimits::revision_of_keyed(const std::string& queue) {
  const std::lock_guard lock(mutex_);
  const auto found = keyed_.find(queue);
  return found == keyed_.end() ? std::nullopt : std::optional(found->second);
}

void KnownLimits::record(const std::vector<std::string>& asked, const std::vector<QueueLimits>& limits) {
  const std::lock_guard lock(mutex_);
  for (const std::string& queue : asked) {
    limited_.erase(queue);
    governed_.erase(queue);
    keyed_.erase(queue);
  }
  for (const QueueLimits& queue : limits) {
    limited_.insert(queue.name);
    if (queue.is_governed()) governed_.insert(queue.name);
    if (queue.has_keys()) keyed_[queue.name] = queue.revision;
  }
}

void KnownLimits::record(const std::vector<std::string>& asked, const ClaimRooms& rooms,
                         const std::vector<HeldJob>& claimed) {
  std::vector<QueueLimits> all;
  std::optional<TimeUs> wake_at;
  for (const auto& [name, limits] : rooms.limits) {
    all.push_back(limits);
    const auto is_of = [&queue = name](const HeldJob& held) { return held.job.queue == queue; };
    const auto taken = std::count_if(claimed.begin(), claimed.end(), is_of);
    const std::optional<TimeUs> until = held_back_until(limits, rooms.left.at(name), taken, rooms.now_us);
    if (!until) continue;
    const TimeUs at_us = clock_() + std::clamp<TimeUs>(*until - rooms.now_us, 0, held_back_max_us);
    wake_at = std::min(wake_at.value_or(at_us), at_us);
    const std::lock_guard lock(mutex_);
    held_back_[name] = at_us;
  }
  record(asked, all);
  if (wake_at && wake_at_) wake_at_(*wake_at);
}

void KnownLimits::wake_after(TimeUs wait_us) {
  if (wake_at_) wake_at_(clock_() + wait_us);
}

bool KnownLimits::is_time_to_retire(const std::vector<std::string>& queues) {
  const std::lock_guard lock(mutex_);
  const TimeUs now_us = clock_();
  const bool is_time = std::any_of(queues.begin(), queues.end(), [&](const std::string& queue) {
    const auto found = retired_at_.find(queue);
    return found == retired_at_.end() || now_us - found->second >= retire_every_us;
  });
  if (is_time)
    for (const std::string& queue : queues) retired_at_[queue] = now_us;
  return is_time;
}

void KnownLimits::limits_changed(const std::string& queue) {
  const std::lock_guard lock(mutex_);
  held_back_.erase(queue);
}

}  // namespace cairn
