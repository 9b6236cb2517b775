#include "ops/http/bulk_route.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "ops/http/bodies/bodies.hpp"
#include "ops/http/covered_runs.hpp"
#include "ops/http/graph_routes.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/service/run_commands.hpp"

namespace cairn {
namespace {

constexpr std::size_t refusals_max = 1'000;
constexpr std::size_t refusals_bytes_max = 1'000'000;

// Adds up what became of each run; the refusals are listed within their bounds, and those beyond them are counted.
class BulkOutcome {
 public:
  void add(const RunId& run, const Result<Controlled>& done) {
    if (done) {
      ++statuses_[done->status];
      return;
    }
    ++refused_;
    const std::string& message = done.error().message;
    bytes_ += message.size();
    if (refusals_.size() < refusals_max && bytes_ <= refusals_bytes_max)
      refusals_.push_back({{"run", to_string(run)}, {"message", message}});
  }

  Json json() const {
    return {{"statuses", statuses_},
            {"refused", refused_},
            {"refusals", refusals_},
            {"refused_more", refused_ - refusals_.size()}};
  }

 private:
  std::map<std::string, std::int64_t> statuses_;
  Json refusals_ = Json::array();
  std::size_t refused_ = 0;
  std::size_t bytes_ = 0;
};

Json listed(const std::vector<RunId>& runs) {
  Json ids = Json::array();
  for (const RunId& run : runs) ids.push_back(to_string(run));
  return ids;
}

// Those of the named runs that match, looked for from the newest of them to the oldest.
std::vector<RunRow> only_these(const RouteCall& call, RunFilter filter, const std::set<RunId>& only) {
  std::set<TimeUs> starts;
  for (const RunId& run : only)
    if (const std::optional<RunRow> row = call.store().run(run)) starts.insert(row->started_at);
  std::vector<RunRow> found;
  if (starts.empty()) return found;
  filter.since = std::max(filter.since.value_or(*starts.begin()), *starts.begin());
  filter.until = std::min(filter.until.value_or(*starts.rbegin() + 1), *starts.rbegin() + 1);
  for (bool goes_on = true; goes_on;) {
    const std::vector<RunRow> rows = covered_runs(call, filter);
    for (const RunRow& row : rows)
      if (only.contains(row.id)) found.push_back(row);
    goes_on = rows.size() == static_cast<std::size_t>(filter.limit) && found.size() < only.size();
    if (goes_on) filter.after = {rows.back().started_at, rows.back().id};
  }
  return found;
}

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
  const bool is_named = !bulk->only.empty();
  const std::vector<RunRow> rows = is_named ? only_these(call, *where, bulk->only) : covered_runs(call, *where);
  std::vector<RunId> runs;
  for (const RunRow& row : rows) runs.push_back(row.id);
  ForksOfCaller forks(call);
  const auto results = control_runs(call.client, call.store(), runs, bulk->control, forks.may_fork());
  const bool is_any_done = std::any_of(results.begin(), results.end(), [](const auto& one) { return one.ok(); });
  const bool is_quota = !forks.answer() && forks.answer().error().status == 429;
  if (is_quota && !is_any_done) return std::move(forks.answer()).error();
  BulkOutcome outcome;
  for (std::size_t i = 0; i < runs.size(); ++i) outcome.add(runs[i], results[i]);
  const bool may_be_more = !is_named && static_cast<std::int64_t>(runs.size()) == where->limit;
  Json answer = outcome.json();
  if (bulk->lists) answer["listed"] = listed(runs);
  answer["runs"] = runs.size();
  answer["next"] = may_be_more ? Json(cursor_of(rows.back())) : Json(nullptr);
  return json_response(answer);
}

}  // namespace cairn
