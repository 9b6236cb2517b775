// GET /runs/RUN/blame: the outcomes on which the run's end, one of its steps or one of its events depends, as
// `cairn blame RUN --json` has them. Nothing is written, nothing is run again. Safe from any thread, with a call of its
// own.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

RouteReply blame_run(RouteCall& call);

}  // namespace cairn
