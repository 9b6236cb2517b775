// The runs that match a filter and that the caller's scope covers. Used by one thread.
#pragma once

#include <vector>

#include "ops/http/route_call.hpp"

namespace cairn {

// The query with the runs that it names: by the first letters of their ids only for callers who may see all runs.
// Refuses as run_meant.
Result<RunFilter> filter_meant(const RouteCall& call, const RunQuery& query);
// That of the request's own query. Refuses as filter_query, too.
Result<RunFilter> filter_asked(const RouteCall& call, const ApiRequest& request);

// Newest first, at most the filter's limit.
std::vector<RunRow> covered_runs(const RouteCall& call, const RunFilter& filter);

}  // namespace cairn
