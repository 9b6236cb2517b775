#include "ops/mcp/graph_calls.hpp"

#include <algorithm>

#include "ops/mcp/open_questions.hpp"
#include "ops/mcp/tasks.hpp"

namespace cairn {
namespace {

CallReply refused(const GraphCall& call, const ApiResponse& response) {
  const bool is_of_uri = response.status == http_status::bad_request || response.status == http_status::not_found;
  if (!call.read || response.status >= http_status::failures_begin) return refused_call(response);
  return is_of_uri ? bad_params(refusal_of(response)) : RpcError{rpc::internal_error, refusal_of(response)};
}

CallReply wait_for(const McpHostRef& host, const RpcMessage& message, RunCallOrder order) {
  const Json token = message.meta().value("progressToken", Json());
  if (token.is_string() || token.is_number_integer()) order.progress_token = token;
  return CallAnswer(std::make_unique<RunCall>(host, std::move(order)));
}

CallReply begin(const McpHostRef& host, const McpPeer& peer, const RpcMessage& message, const GraphCall& call) {
  const std::string key = run_key(host->caller, peer, message);
  const ApiResponse started = start_run(*host, *call.graph, call.input, {key, peer.traceparent});
  if (!refusal_of(started).empty()) return refused(call, started);
  const std::string run = parse_stored(started.body).at("run");
  if (peer.has_tasks && !call.read) {
    Result<Json, RpcError> task = created_task(*host, run);
    if (!task) return std::move(task).error();
    return CallAnswer(*std::move(task));
  }
  return wait_for(host, message, {message.id, peer, *parse_run_id(run), call.graph, nullptr, !key.empty(), call.read});
}

// The graph's run is that of this call. A read has no other input than its URI gives: the contents of another one would
// be given under it.
bool is_run_of(const GraphCall& call, const Json& state) {
  if (state.value("graph", "") != call.graph->name) return false;
  if (!call.read) return true;
  const Json input = state.value("input", Json::object());
  return std::ranges::all_of(call.input.items(), [&input](const auto& entry) {
    return input.is_object() && input.contains(entry.key()) && input[entry.key()] == entry.value();
  });
}

// The same call once more, with what a person has entered (requestState is the run's id). The run's own scope and roles
// decide whether this caller may go on with it.
CallReply go_on(const McpHostRef& host, const McpPeer& peer, const RpcMessage& message, const GraphCall& call) {
  const Json state_text = message.params["requestState"];
  const std::optional<RunId> run =
      state_text.is_string() ? parse_run_id(state_text.get_ref<const std::string&>()) : std::nullopt;
  if (!run) return bad_params("Expected the requestState of an answer to this call, but it is none.");
  const ApiResponse shown = host->ask(api_get({"runs", to_string(*run)}));
  if (!refusal_of(shown).empty()) return refused(call, shown);
  const Json state = parse_stored(shown.body);
  if (!is_run_of(call, state))
    return bad_params("Expected the requestState of a call of " + call.what + ", but it is another's.");
  const Json responses = message.params.value("inputResponses", Json::object());
  Result<Given, RpcError> given = give_answers(*host, state, responses, asking_of(*host, peer));
  if (!given) return given.error();
  if (!given->is_declined)
    return wait_for(host, message,
                    {message.id, peer, *run, call.graph, nullptr, true, call.read, std::move(given->opened)});
  const std::string says = "A question of run " + to_string(*run) +
                           " was declined and stays open: cairn_answer answers it, and cairn_cancel ends the run.";
  if (call.read) return RpcError{rpc::internal_error, says};
  return CallAnswer(unfinished_result(says, !result_schema(*call.graph, true).is_null()));
}

}  // namespace

CallReply call_graph(const McpHostRef& host, const McpPeer& peer, const RpcMessage& message, const GraphCall& call) {
  const bool goes_on = peer.is_modern && message.params.contains("requestState");
  return goes_on ? go_on(host, peer, message, call) : begin(host, peer, message, call);
}

CallReply refused_call(const ApiResponse& response) {
  const std::string says = refusal_of(response);
  if (response.status >= http_status::failures_begin) return RpcError{rpc::internal_error, says, response.status};
  return CallAnswer(text_result(says, true));
}

}  // namespace cairn
