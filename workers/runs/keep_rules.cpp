#include "workers/runs/keep_rules.hpp"

#include <algorithm>

#include "engine/result.hpp"
#include "storage/commit_rules.hpp"

namespace cairn {

KeepRules::KeepRules(bool keeps, std::int64_t default_timeout_ms)
    : keeps_(keeps), default_timeout_ms_(default_timeout_ms) {}

bool KeepRules::may_begin(const Job& job) const { return capacity_.is_accepting && job.run_at_us <= now_; }

// A paced step has no start yet.
bool KeepRules::may_execute(const Job& job, const std::optional<std::string>& keep_in) const {
  if (!may_begin(job)) return false;
  const GoesOn how = goes_on(queues_, job.queue);
  return how == GoesOn::open || (keep_in == job.queue && how == GoesOn::freely);
}

// A timer is never kept: holding one would occupy a slot while it only waits.
std::optional<TimeUs> KeepRules::kept_until(const Job& job, const std::optional<std::string>& keep_in) const {
  const bool is_paced = may_begin(job) && keep_in == job.queue && goes_on(queues_, job.queue) == GoesOn::paced;
  if (!keeps_ || job.queue == timer_queue || !(is_paced || may_execute(job, keep_in))) return std::nullopt;
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

std::vector<std::string> KeepRules::open_queues() const {
  std::vector<std::string> open;
  for (const auto& [queue, how] : queues_)
    if (how == GoesOn::open) open.push_back(queue);
  return open;
}

void KeepRules::released(std::size_t created_held) {
  created_held_ -= static_cast<int>(created_held);
  CHECK(created_held_ >= 0);
}

}  // namespace cairn
