// Claims from queues without limits: the one job that a notification names, jobs of named runs, or a scan of the index
// of due jobs from the place that the marks give (scan_marks.hpp). Safe from any thread.
#pragma once

#include <cstdint>

#include "storage/postgres/claims/claim_transaction.hpp"
#include "storage/postgres/claims/known_limits.hpp"
#include "storage/postgres/claims/queue_rotation.hpp"
#include "storage/postgres/claims/scan_marks.hpp"
#include "storage/postgres/notifier.hpp"

namespace cairn {

class UnlimitedClaims {
 public:
  // REQUIRES: all of them outlive it.
  struct Parts {
    Placements& placements;
    NotifiedJobs& notified;
    KnownLimits& limits;
    QueueRotation& rotation;
  };
  // `many`: see ScanMarks.
  UnlimitedClaims(const Parts& parts, std::int64_t many) : parts_(parts), marks_(many) {}

  ClaimAttempt claim(const ClaimRequest& request);

 private:
  ClaimAttempt claim_notified(const ClaimRequest& request, const NotifiedJob& job);
  ClaimAttempt claim_of_runs(const ClaimRequest& request);
  ClaimAttempt scan(const ClaimRequest& request, ScanFrom from);
  ClaimAttempt execute(const ClaimRequest& request, const ClaimStatement& claim);

  const Parts parts_;
  ScanMarks marks_;
};

}  // namespace cairn
