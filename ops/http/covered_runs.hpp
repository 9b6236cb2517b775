// The runs that match a filter and that the caller's scope covers. Used by one thread.
#pragma once

#include <vector>

#include "ops/http/route_call.hpp"

namespace cairn {

// Newest first, at most the filter's limit.
std::vector<RunRow> covered_runs(const RouteCall& call, const RunFilter& filter);

}  // namespace cairn
