// Routes that work on a run's record: GET and POST /runs/RUN/replay, which decide it again, as `cairn replay --json`
// reports it, and GET /runs/RUN/blame, the outcomes on which its end, one of its steps or one of its events depends, as
// `cairn blame RUN --json` has them. Nothing is written and nothing outside is called. Each function is safe from any
// thread, with a call of its own.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

RouteReply replay_run(RouteCall& call);
// With the graph of the body in place of the run's own; 403 for one that the caller may not bring, 400 for a fault.
RouteReply replay_run_otherwise(RouteCall& call);
RouteReply blame_run(RouteCall& call);

}  // namespace cairn
