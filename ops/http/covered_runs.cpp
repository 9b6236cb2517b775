#include "ops/http/covered_runs.hpp"

#include <algorithm>
#include <tuple>

#include "ops/http/bodies/bodies.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/requests/run_ids.hpp"

namespace cairn {
namespace {

// The filter within the scope: one for each graph of the scope that it may ask for; none if nothing can be found.
std::vector<RunFilter> covered_filters(RunFilter filter, const Scope& scope) {
  for (const auto& [key, value] : scope.tags)
    if (filter.tags.emplace(key, value).first->second != value) return {};
  if (scope.graphs.empty()) return {std::move(filter)};
  if (!filter.graph.empty()) return scope.covers_graph(filter.graph) ? std::vector{filter} : std::vector<RunFilter>();
  std::vector<RunFilter> filters;
  for (const std::string& graph : scope.graphs) {
    filter.graph = graph;
    filters.push_back(filter);
  }
  return filters;
}

void keep_newest(std::vector<RunRow>& rows, std::int32_t limit) {
  const auto is_newer = [](const RunRow& one, const RunRow& other) {
    return std::tie(one.started_at, one.id) > std::tie(other.started_at, other.id);
  };
  std::sort(rows.begin(), rows.end(), is_newer);
  if (rows.size() > static_cast<std::size_t>(limit)) rows.erase(rows.begin() + limit, rows.end());
}

}  // namespace

Result<RunFilter> filter_meant(const RouteCall& call, const RunQuery& query) {
  for (const auto& [key, text] : query.named)
    if (const Result<RunId> run = run_named(call, text); !run) return run.error();
  return meant_filter(call.store(), query);
}

Result<RunFilter> filter_asked(const RouteCall& call, const ApiRequest& request) {
  const Result<RunQuery> query = filter_query(request);
  if (!query) return query.error();
  Result<RunFilter> filter = filter_meant(call, *query);
  if (!filter) return filter;
  if (!call.scope().graphs.empty()) return filter;  // the names of all graphs are not for it
  if (Status known = check_names_known(call.store(), *filter); !known) return known.error();
  return filter;
}

std::vector<RunRow> covered_runs(const RouteCall& call, const RunFilter& filter) {
  std::vector<RunRow> rows;
  for (const RunFilter& part : covered_filters(filter, call.scope())) {
    for_each_page(call.store(), part,
                  [&rows](std::span<const RunRow> page) { rows.insert(rows.end(), page.begin(), page.end()); });
    keep_newest(rows, filter.limit);
  }
  return rows;
}

}  // namespace cairn
