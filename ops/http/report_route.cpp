#include "ops/http/report_route.hpp"

#include "ops/answers/run_use.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "ops/http/covered_runs.hpp"

namespace cairn {

RouteReply show_report(RouteCall& call) {
  for (const std::string_view page : {"limit", "after"})
    if (!query_text(call.request, page).empty())
      return Error{Code::invalid, "Expected a report on all runs that match, but found " + std::string(page) + "."};
  Result<RunFilter> filter = filter_asked(call, call.request);
  if (!filter) return filter.error();
  filter->limit = report_runs_max + 1;
  const std::vector<RunRow> rows = covered_runs(call, *filter);
  if (rows.size() > static_cast<std::size_t>(report_runs_max))
    return Error{Code::limit, "Expected at most " + std::to_string(report_runs_max) +
                                  " runs for a report, but more match; since and until make them fewer."};
  UseReport report;
  for (const RunRow& row : rows) {
    const Result<RunUse> use = use_of(call.client, row.id);
    if (!use && use.error().code == Code::not_found) continue;  // archived or erased meanwhile
    if (!use) return use.error();
    report.add(*use);
  }
  return json_response(report.json());
}

}  // namespace cairn
