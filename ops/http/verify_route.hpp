// GET /runs/RUN/verify: the check of one run's record. Safe from any thread.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

// {"run", "events", "sound", "findings"}: the chain of hashes, that each event can follow, large values, the origin of
// a fork and the derived rows. Signatures are compared by `cairn verify` alone, which knows the trusted keys.
RouteReply verify_run(RouteCall& call);

}  // namespace cairn
