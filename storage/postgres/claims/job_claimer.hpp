// Claims: the dequeue of the job queue. A claim takes due jobs for a session with `for update skip locked` and gives it
// a hold on each: a lease, whose fencing token is the job's epoch. Safe from any thread.
//
// Unlimited queues are claimed from first in one transaction (unlimited_claims.hpp), limited ones in another
// (limited_claims.hpp), and the two take turns at being first. Each finds out by itself which of its queues are limited
// (known_limits.hpp): a claim that took a limited queue for an unlimited one claims nothing, and is made again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "storage/postgres/claims/known_limits.hpp"
#include "storage/postgres/claims/limited_claims.hpp"
#include "storage/postgres/claims/queue_rotation.hpp"
#include "storage/postgres/claims/unlimited_claims.hpp"

namespace cairn {

class JobClaimer {
 public:
  // `many`: marks are used once this many jobs were claimed (scan_marks.hpp).
  JobClaimer(Placements& placements, NotifiedJobs& notified, std::int64_t many = 1'000)
      : unlimited_({placements, notified, limits_, rotation_}, many), limited_({placements, limits_, rotation_}) {}

  // As KnownLimits says.
  void on_held_back(std::function<void(TimeUs)> wake_at) { limits_.on_held_back(std::move(wake_at)); }
  void limits_changed(const std::string& queue) { limits_.limits_changed(queue); }

  // Contract: Store::claim.
  ClaimedBatch claim(const ClaimRequest& request);

 private:
  KnownLimits limits_;
  QueueRotation rotation_;
  UnlimitedClaims unlimited_;
  LimitedClaims limited_;
};

}  // namespace cairn
