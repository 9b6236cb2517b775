#include "ops/http/bulk_route.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "ops/http/bodies/bodies.hpp"
#include "ops/http/covered_runs.hpp"
#include "ops/http/graph_routes.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/service/run_commands.hpp"

namespace cairn {
namespace {

constexpr std::size_t refusals_max = 20;

}  // namespace

RouteReply command_many_runs(RouteCall& call) {
  Result<BulkRequest> bulk = bulk_body(call.request);
  if (!bulk) return bulk.error();
  if (bulk->graph) {
    Result<GraphRef, ApiResponse> graph = brought_graph(call, *bulk->graph);
    if (!graph) return std::move(graph).error();
    bulk->control.graph = *graph;
  }
  const Result<RunFilter> where = filter_meant(call, bulk->where);
  if (!where) return where.error();
  const std::vector<RunRow> rows = covered_runs(call, *where);
  std::vector<RunId> runs;
  for (const RunRow& row : rows) runs.push_back(row.id);
  std::optional<std::int64_t> until_run;
  const auto results = control_runs(call.client, call.store(), runs, bulk->control, fork_from_quota(call, until_run));
  const bool is_any_done = std::any_of(results.begin(), results.end(), [](const auto& one) { return one.ok(); });
  if (until_run && !is_any_done) return quota_response(*call.caller, *until_run);
  std::map<std::string, std::int64_t> sums;
  Json refusals = Json::array();
  std::int64_t refused = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (results[i]) {
      ++sums[results[i]->status];
      continue;
    }
    ++refused;
    if (refusals.size() < refusals_max)
      refusals.push_back({{"run", to_string(runs[i])}, {"message", results[i].error().message}});
  }
  const bool may_be_more = static_cast<std::int64_t>(runs.size()) == where->limit;
  return json_response({{"runs", runs.size()},
                        {"statuses", sums},
                        {"refused", refused},
                        {"refusals", refusals},
                        {"next", may_be_more ? Json(cursor_of(rows.back())) : Json(nullptr)}});
}

}  // namespace cairn
