// The routes for workers that claim over HTTP: /claims and /blobs. Safe from any thread.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

// POST /claims: reports and more claims in one; answered when all reports are committed and there are claims, or
// nothing comes within the time.
RouteReply ask_for_claims(RouteCall& call);
// POST /claims/heartbeat: {"cancel", "stale"} of the claims that the worker has.
RouteReply hear_claims(RouteCall& call);
// POST /claims/CLAIM/complete, /fail and /release: one report by itself.
RouteReply complete_claim(RouteCall& call);
RouteReply fail_claim(RouteCall& call);
RouteReply release_claim(RouteCall& call);

// GET /blobs/HASH?claim=CLAIM: a large value of the claim's shard. PUT: keeps one, and answers what stands for it.
RouteReply show_blob(RouteCall& call);
RouteReply keep_blob(RouteCall& call);

}  // namespace cairn
