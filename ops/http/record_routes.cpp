#include "ops/http/record_routes.hpp"

#include <limits>

#include "ops/audit/blame/blame.hpp"
#include "ops/audit/replay.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "ops/http/graph_routes.hpp"
#include "ops/requests/run_ids.hpp"

namespace cairn {
namespace {

RouteReply replayed(RouteCall& call, const GraphRef& graph, bool handlers) {
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  if (!call.store().run(*run)) return no_such_run(call.name);
  call.client.know_graphs_of(*run);
  const ReplayMeans means(*call.side.opened.catalogue, graph, handlers);
  Replayer replayer(call.store(), call.client.graphs(), means.options());
  ReplayReport report;
  replayer.replay({*run}, [&](const Replayed& done) { report.add(done); });
  return json_response(report.json());
}

// A number of the query; nothing if it is not there.
template <class Number>
Result<std::optional<Number>> asked_number(const ApiRequest& request, std::string_view name) {
  if (query_text(request, name).empty()) return std::optional<Number>();
  const Result<std::int64_t> number = number_query(request, name, {1, std::numeric_limits<Number>::max()});
  if (!number) return number.error();
  return std::optional<Number>(static_cast<Number>(*number));
}

Result<BlameRequest> blame_query(const ApiRequest& request) {
  if (const Status known = only_query(request, {"step", "seq", "limit"}); !known) return known.error();
  const Result<std::optional<StepId>> step = asked_number<StepId>(request, "step");
  if (!step) return step.error();
  const Result<std::optional<std::int64_t>> seq = asked_number<std::int64_t>(request, "seq");
  if (!seq) return seq.error();
  if (*step && *seq) return Error{Code::invalid, "Expected a step or an event to explain, but found both."};
  BlameRequest asked{{*step, *seq}, blame_causes};
  if (query_text(request, "limit").empty()) return asked;
  const Result<std::int64_t> limit = number_query(request, "limit", {1, std::int64_t{Blame::causes_max}});
  if (!limit) return limit.error();
  asked.causes = static_cast<std::size_t>(*limit);
  return asked;
}

}  // namespace

RouteReply replay_run(RouteCall& call) {
  if (const Status known = only_query(call.request, {"handlers"}); !known) return known.error();
  const Result<bool> handlers = query_flag(call.request, "handlers");
  return handlers ? replayed(call, nullptr, *handlers) : handlers.error();
}

RouteReply replay_run_otherwise(RouteCall& call) {
  const Result<ReplayRequest> request = replay_body(call.request);
  if (!request) return request.error();
  GraphRef graph;
  if (request->graph) {
    Result<GraphRef, ApiResponse> brought = brought_graph(call, *request->graph);
    if (!brought) return std::move(brought).error();
    graph = *brought;
  }
  return replayed(call, graph, request->handlers);
}

RouteReply blame_run(RouteCall& call) {
  const Result<BlameRequest> asked = blame_query(call.request);
  if (!asked) return asked.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  if (!call.store().run(*run)) return no_such_run(call.name);
  call.client.know_graphs_of(*run);
  Blamer blamer(call.store(), call.client.graphs(), reads_of(call.side.opened.catalogue->handlers));
  const Result<Json> blame = blamer.blame(*run, *asked);
  if (!blame) return blame.error();
  return json_response(*blame);
}

}  // namespace cairn
