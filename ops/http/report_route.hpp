// GET /report: what `cairn report` says of the runs that a filter and the token's scope cover. Safe from any thread.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

// Each run is read whole, so that more of them are refused (`limit`).
inline constexpr std::int32_t report_runs_max = 5'000;

RouteReply show_report(RouteCall& call);

}  // namespace cairn
