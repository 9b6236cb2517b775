#include "ops/http/replay_route.hpp"

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

}  // namespace cairn
