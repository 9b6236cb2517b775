// GET and POST /runs/RUN/replay: the run decided again from its record, as `cairn replay --json` reports it. Nothing is
// written and nothing outside is called. Each function is safe from any thread, with a call of its own.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

RouteReply replay_run(RouteCall& call);
// With the graph of the body in place of the run's own; 403 for one that the caller may not bring, 400 for a fault.
RouteReply replay_run_otherwise(RouteCall& call);

}  // namespace cairn
