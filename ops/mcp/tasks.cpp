#include "ops/mcp/tasks.hpp"

#include "ops/mcp/forms.hpp"
#include "ops/mcp/open_questions.hpp"
#include "ops/mcp/outcome.hpp"

namespace cairn {
namespace {

RpcError refused(const ApiResponse& response) {
  const bool has_failed = response.status >= http_status::failures_begin;
  return {has_failed ? rpc::internal_error : rpc::invalid_params, refusal_of(response),
          has_failed ? response.status : 200};
}

Result<Json, RpcError> state_of(const McpHost& host, const std::string& run) {
  const ApiResponse shown = host.ask(api_get({"runs", run}));
  if (!refusal_of(shown).empty()) return refused(shown);
  return parse_stored(shown.body);
}

// The full id alone: the letters it begins with would be one run today and another tomorrow.
Result<std::string, RpcError> task_id(const McpPeer& peer, const Json& params) {
  if (!peer.has_tasks)
    return RpcError{
        rpc::missing_capability,
        "Expected a client with the extension io.modelcontextprotocol/tasks, but this one does not name it.",
        http_status::bad_request,
        {{"requiredCapabilities", {{"extensions", {{"io.modelcontextprotocol/tasks", Json::object()}}}}}}};
  const Json id = params.value("taskId", Json());
  if (!id.is_string() || !parse_run_id(id.get_ref<const std::string&>()))
    return bad_params("Expected the taskId of a task, but found " + excerpt(id, 60) + ".");
  return id.get<std::string>();
}

// The first reason that `cairn explain` would print; "": none.
std::string explained(const McpHost& host, const std::string& run) {
  const ApiResponse answer = host.ask(api_get({"runs", run, "explain"}));
  if (!refusal_of(answer).empty()) return "";
  const Json reasons = parse_stored(answer.body).value("reasons", Json::array());
  return reasons.empty() ? "" : reasons.front().value("says", "");
}

GraphRef graph_named(const McpHost& host, const std::string& name) {
  for (const GraphRef& graph : host.graphs())
    if (graph->name == name) return graph;
  return nullptr;
}

}  // namespace

Result<Json, RpcError> created_task(const McpHost& host, const std::string& run) {
  Result<Json, RpcError> state = state_of(host, run);
  if (!state) return state;
  Json task = task_json({*std::move(state), Json::array(), "", {}}, nullptr);
  task.erase("result");
  task["resultType"] = "task";
  return task;
}

Result<Json, RpcError> get_task(const McpHost& host, const McpPeer& peer, const Json& params) {
  const Result<std::string, RpcError> id = task_id(peer, params);
  if (!id) return id.error();
  Result<Json, RpcError> state = state_of(host, *id);
  if (!state) return state;
  const bool is_over = has_ended(*state);
  Json questions = is_over ? Json::array() : open_questions(host, *state);
  const std::string says = is_over ? "" : explained(host, *id);
  const GraphRef graph = graph_named(host, state->value("graph", ""));
  return task_json({*std::move(state), std::move(questions), says, asking_of(host, peer)}, graph.get());
}

Result<Json, RpcError> update_task(const McpHost& host, const McpPeer& peer, const Json& params) {
  const Result<std::string, RpcError> id = task_id(peer, params);
  if (!id) return id.error();
  const Json responses = params.value("inputResponses", Json());
  if (!responses.is_object())
    return bad_params("Expected inputResponses to be an object, but found " + excerpt(responses, 60) + ".");
  const Result<Json, RpcError> state = state_of(host, *id);
  if (!state) return state.error();
  const Result<Given, RpcError> given = give_answers(host, *state, responses, asking_of(host, peer));
  if (!given) return given.error();
  return Json::object();
}

Result<Json, RpcError> cancel_task(const McpHost& host, const McpPeer& peer, const Json& params) {
  const Result<std::string, RpcError> id = task_id(peer, params);
  if (!id) return id.error();
  const ApiResponse done = host.ask(api_post({"runs", *id, "cancel"}, {{"reason", "The client cancelled the task."}}));
  if (!refusal_of(done).empty() && done.status != http_status::conflict) return refused(done);
  return Json::object();
}

Result<Given, RpcError> give_answers(const McpHost& host, const Json& state, const Json& responses,
                                     const Asking& asking) {
  Given all;
  if (!responses.is_object() || responses.empty()) return all;
  for (const Json& question : open_questions(host, state)) {
    const std::string key = question.value("key", "");
    if (!responses.contains(key)) continue;
    if (is_page_opened(question, asking, responses[key])) {
      all.opened.insert(key);
      continue;
    }
    const Result<std::optional<Json>> value = entered(question, responses[key]);
    if (!value) return bad_params(value.error().message);
    if (!*value) {
      all.is_declined = true;
      continue;
    }
    const ApiResponse given = host.ask(api_post({"runs", question.value("run", ""), "answers"},
                                                {{"question", question.value("id", "")}, {"value", **value}}));
    if (!refusal_of(given).empty() && given.status != http_status::conflict) return refused(given);
  }
  return all;
}

}  // namespace cairn
