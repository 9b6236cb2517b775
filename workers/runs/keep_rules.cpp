#include "workers/runs/keep_rules.hpp"

#include <algorithm>

#include "engine/result.hpp"
#include "storage/commit_rules.hpp"

namespace cairn {

KeepRules::KeepRules(bool keeps, std::int64_t default_timeout_ms)
    : keeps_(keeps), default_timeout_ms_(default_timeout_ms) {}

void KeepRules::set_queues(QueueNames open, QueueNames counted) {
  open_queues_ = std::move(open);
  counted_queues_ = std::move(counted);
}

bool KeepRules::may_execute(const Job& job, const std::optional<std::string>& keep_in) const {
  const bool is_open =
      open_queues_.contains(job.queue) || (keep_in == job.queue && counted_queues_.contains(job.queue));
  return is_open && capacity_.is_accepting && job.run_at_us <= now_;
}

// A timer is never kept: holding one would occupy a slot while it only waits.
std::optional<TimeUs> KeepRules::kept_until(const Job& job, const std::optional<std::string>& keep_in) const {
  if (!keeps_ || job.queue == timer_queue || !may_execute(job, keep_in)) return std::nullopt;
  return deadline_of(job, default_timeout_ms_, now_);
}

std::optional<TimeUs> KeepRules::created_held_until(const Job& job) {
  if (capacity_.free_slots <= created_held_) return std::nullopt;
  const std::optional<TimeUs> deadline = kept_until(job, std::nullopt);
  created_held_ += deadline ? 1 : 0;
  return deadline;
}

std::int32_t KeepRules::refills_of(std::int32_t freed) const {
  return keeps_ && capacity_.is_accepting ? std::clamp(freed, 0, std::max(capacity_.refills, 0)) : 0;
}

void KeepRules::released(std::size_t created_held) {
  created_held_ -= static_cast<int>(created_held);
  CHECK(created_held_ >= 0);
}

}  // namespace cairn
