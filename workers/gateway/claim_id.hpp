// The id of a claim: one text that names the held step and the hold itself. It is the fencing token of its report, so
// that any process of the API can take the report and none needs to remember the claim. Plain values; pure functions,
// safe from any thread.
#pragma once

#include <string>
#include <string_view>

#include "engine/result.hpp"
#include "storage/queue.hpp"

namespace cairn {

struct ClaimId {
  RunId run;
  Fence fence;
  std::int32_t attempt = 1;
  std::int64_t head = 0;  // of the run when it was claimed: what becomes of the step is written after it
  TimeUs claimed_at = 0;  // the database's clock

  bool operator==(const ClaimId&) const;
};

// RUN.BRANCH.STEP.ATTEMPT.SESSION.EPOCH.HEAD.TIME: letters, digits, '-' and '.', as a URL's path takes them.
std::string to_text(const ClaimId& claim);

// Refuses `invalid`: to_text() never gives such a text.
Result<ClaimId> parse_claim_id(std::string_view text);

ClaimId claim_of(const HeldJob& job, TimeUs claimed_at);

// Sessions of workers that claim over HTTP as they are given to them. Refuses `invalid`.
Result<SessionId> parse_session_id(std::string_view text);

}  // namespace cairn
