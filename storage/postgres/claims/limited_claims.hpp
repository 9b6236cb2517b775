// Claims from limited queues (with a concurrency, paused, or governed), one claim at a time in the whole database. The
// jobs that count are counted by permits; governed queues (with a rate, for one) take a round trip more, in which the
// claim learns what they have left. Queues with keys are claimed from one by one (keyed_claims.hpp). Safe from any
// thread.
#pragma once

#include "storage/postgres/claims/claim_transaction.hpp"
#include "storage/postgres/claims/keyed_claims.hpp"
#include "storage/postgres/claims/known_limits.hpp"
#include "storage/postgres/claims/queue_rotation.hpp"

namespace cairn {

class LimitedClaims {
 public:
  // REQUIRES: all of them outlive it.
  struct Parts {
    Placements& placements;
    KnownLimits& limits;
    QueueRotation& rotation;
  };
  explicit LimitedClaims(const Parts& parts) : parts_(parts), keyed_(parts.placements, parts.limits) {}

  ClaimedBatch claim(const ClaimRequest& request);

 private:
  ClaimedBatch claim_counted(const ClaimRequest& request);
  ClaimedBatch claim_governed(const ClaimRequest& request);
  ClaimedBatch claim_keyed(const ClaimRequest& request);
  ClaimedBatch claim_across(const ClaimRequest& request);

  const Parts parts_;
  KeyedClaims keyed_;
};

}  // namespace cairn
