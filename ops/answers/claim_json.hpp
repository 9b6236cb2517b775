// Claims and the answers to reports as JSON, for workers over HTTP. Pure functions, safe from any thread.
#pragma once

#include "engine/json.hpp"
#include "workers/gateway/gateway.hpp"

namespace cairn {

// {"claim", "run", "graph", "step", "attempt", "key", "node" and "handler", or "tool" and "sub_goal", "input",
// "deadline_ms", "tags", "data"?, "given"?, "plan"?, "failed"?: {"error", "message"}}
Json claim_json(const RemoteClaim& claim);

// {"claim", "status", "says"?}
Json report_json(const ClaimId& claim, const ReportReply& reply);

}  // namespace cairn
