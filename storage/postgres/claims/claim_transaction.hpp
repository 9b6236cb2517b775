// The transaction of a claim, and what all claims have in common: each row is claimed for the session that asks, the
// heads of the claimed runs come with the jobs, and an answer to COMMIT that was lost leaves no job held by a worker
// that does not know of it. Safe from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/postgres/placements.hpp"
#include "storage/queue.hpp"

namespace cairn {

// Nothing when a queue that was taken for unlimited turned out to be limited: the claim must be made again.
using ClaimAttempt = std::optional<ClaimedBatch>;

struct ClaimStatement {
  std::string_view name;
  PgParameters parameters;
};

// A transaction on the node of the request's shard in which `claim` finds jobs and makes them ours, or finds that it
// must not (nothing). `claim` is called after BEGIN was sent into a pipeline, and may be called again after a failure.
ClaimAttempt claim_in_transaction(Placements& placements, const ClaimRequest& request,
                                  const std::function<ClaimAttempt(PgConnection&)>& claim);

// The jobs that one statement claims, in a transaction that has no other; `read` reads its rows. REQUIRES: what the
// statement needs to know of limits is in its parameters.
using ReadClaimed = std::vector<HeldJob> (&)(const PgResult& rows);
ClaimedBatch claim_by(Placements& placements, const ClaimRequest& request, const ClaimStatement& claim,
                      ReadClaimed read);

// In a cluster: begins a transaction that only holds the lock of queues' rows, while others take jobs or starts.
void begin_lock(PgConnection& connection);

// Adds a batch to another one.
void append(ClaimedBatch& to, ClaimedBatch&& more);

}  // namespace cairn
