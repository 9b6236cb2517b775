// The parameters of the claim statements and of what goes before them, and what they must give for these. Pure
// functions, safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/postgres/connection.hpp"
#include "storage/postgres/rows.hpp"
#include "storage/queue.hpp"

namespace cairn {

PgArray text_array(const std::vector<std::string>& values);
PgArray id_array(const std::vector<RunId>& ids);

// The runs that the request names, without those to be passed by.
std::vector<RunId> wanted_runs(const ClaimRequest& request);

// The parameters of all five claim statements: first the scope (the shard and what to claim there), then in one order
// the claim's time, its session, and what the deadline is made of. A statement's further parameters follow them.
PgParameters claim_parameters(PgParameters scope, const ClaimRequest& request);

// The parameters that all statements that claim from limited queues have: those of claim_limited, or of
// claim_limited_of_runs if the request names runs.
PgParameters limited_parameters(const ClaimRequest& request);

// All parameters of the statement key_jobs, which looks at the jobs of a queue after this one. `missing`: only those
// without a key get one.
PgParameters key_parameters(Shard shard, const std::string& queue, bool missing, const JobPlace& after);

// All parameters of the statement claim_of_runs. `ordered`: so many free jobs of each run are put in the order of
// claims, the others wait for later ones; null: all. REQUIRES: the request names runs.
PgParameters claim_of_runs_parameters(const ClaimRequest& request, std::optional<std::int64_t> ordered = {});

// CHECKs what a claim statement wrote when it is read again: each hold is the request's session's, by which a claim
// whose COMMIT is in doubt finds its jobs again, and there are no more than the worker has slots for.
void check_claimed(const ClaimRequest& request, const std::vector<HeldJob>& claimed);

}  // namespace cairn
