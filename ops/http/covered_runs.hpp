// The runs that match a filter and that the caller's scope covers. Used by one thread.
#pragma once

#include <vector>

#include "ops/http/route_call.hpp"

namespace cairn {

// Newest first, at most the filter's limit.
// The filter of the request's query, in which lineage may be the first letters of an id, for callers who may see all
// runs. Refuses as filter_query and run_meant.
Result<RunFilter> filter_asked(const RouteCall& call, ApiRequest request);

std::vector<RunRow> covered_runs(const RouteCall& call, const RunFilter& filter);

}  // namespace cairn
