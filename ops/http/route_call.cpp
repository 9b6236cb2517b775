#include "ops/http/route_call.hpp"

#include "ops/answers/bounded_state.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_ids.hpp"
#include "ops/scheduling/waiting_starts.hpp"
#include "storage/commit_rules.hpp"
#include "workers/ids.hpp"

namespace cairn {

GatewayOptions gateway_options(const Store& store) {
  GatewayOptions options;
  options.shards = store.shards();
  options.new_id = new_run_id;
  options.new_session = new_session_id;
  options.draw = [] { return std::uniform_real_distribution<double>(0, 1)(thread_random()); };
  options.new_commit = next_commit_id;
  return options;
}

Status check_run(const RouteCall& call, const RunId& run) {
  if (call.scope().covers_all_runs()) return Done{};
  const std::optional<RunRow> row = call.store().run(run);
  if (row && call.scope().covers(*row)) return Done{};
  const std::optional<FoundStart> start = row ? std::nullopt : start_to_come(call.store(), run);
  if (start && call.scope().covers(run_to_come(*start))) return Done{};
  return no_such_run(to_string(run));
}

Result<RunId> run_named(const RouteCall& call, const std::string& text) {
  // A caller who may not see all runs must not learn of others by the letters they begin with.
  return call.scope().covers_all_runs() ? run_meant(call.store(), text) : run_argument(text);
}

Result<RunId> run_of(const RouteCall& call) {
  Result<RunId> run = run_named(call, call.name);
  if (!run) return run;
  if (const Status covered = check_run(call, *run); !covered) return covered.error();
  return run;
}

namespace {

std::string fewer_runs(const Caller& caller) {
  const Rate& rate = *caller.access.quotas.runs;
  return "Expected at most " + std::to_string(rate.count) + " new runs in " + std::to_string(rate.period_s) +
         " s of token " + caller.token + ", but they have been made.";
}

}  // namespace

Status queues_in_scope(const Scope& scope, const Graph& graph) {
  const std::optional<std::string> queue = queue_outside(scope, graph);
  if (!queue) return Done{};
  return Error{Code::conflict,
               "Expected a graph that works on this token's queues, but " + graph.name + " names " + *queue + "."};
}

Status ForksOfCaller::check(const RunState& origin) {
  if (const Status covered = queues_in_scope(call_.scope(), *origin.graph); !covered) {
    answer_ = forbidden_response(covered.error().message);
    return covered.error();
  }
  const std::optional<std::int64_t> until_run = call_.parts.quotas.take_run(*call_.caller);
  if (!until_run) return Done{};
  answer_ = quota_response(*call_.caller, *until_run);
  return Error{Code::limit, fewer_runs(*call_.caller)};
}

ApiStatus check_scope(const RouteCall& call, const std::string& which) {
  if (call.scope().covers_all_runs()) return Done{};
  return check_any_scope(call, which);
}

ApiStatus check_any_scope(const RouteCall& call, const std::string& which) {
  if (call.scope().covers_all_runs() && call.scope().queues.empty()) return Done{};
  return forbidden_response("Expected a token without a scope " + which + ", but " + call.caller->token + " has one.");
}

Json limits_seen(const RouteCall& call, Json limits) {
  if (!call.scope().covers_all_runs()) limits.erase("weights");
  return limits;
}

ApiResponse quota_response(const Caller& caller, std::int64_t until_run) {
  return later_response(429, until_run, fewer_runs(caller));
}

ApiResponse forbidden_response(const std::string& message) { return error_response(403, "forbidden", message); }

ApiResponse role_refusal(const Caller& caller, ApiRole role) {
  return forbidden_response("Expected a token with the role " + std::string(to_string(role)) + ", but " +
                            (caller.token.empty() ? "there is none" : caller.token + " has it not") + ".");
}

bool accepts(const ApiRequest& request, std::string_view type) { return names_type(request.header("accept"), type); }

RouteReply list_response(const ApiRequest& request, const std::vector<Json>& lines) {
  const bool is_array = !accepts(request, json_lines);
  ApiResponse response{200, is_array ? "[" : "", std::string(is_array ? "application/json" : json_lines)};
  for (const Json& line : lines) {
    if (is_array && response.body.size() > 1) response.body += ",";
    response.body += canonical(line) + (is_array ? "" : "\n");
    if (response.body.size() > answer_bytes_max)
      return Error{Code::limit, "Expected a list of at most " + std::to_string(answer_bytes_max) +
                                    " bytes, but it takes more; ask for fewer with limit."};
  }
  if (is_array) response.body += "]\n";
  return response;
}

}  // namespace cairn
