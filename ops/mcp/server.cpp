#include "ops/mcp/server.hpp"

#include <array>

#include "ops/mcp/graph_tools.hpp"
#include "ops/mcp/open_questions.hpp"
#include "ops/mcp/outcome.hpp"
#include "ops/mcp/resources.hpp"
#include "ops/mcp/tasks.hpp"
#include "ops/mcp/tool_calls.hpp"
#include "workers/ids.hpp"

namespace cairn {
namespace {

constexpr int graphs_ttl_ms = 5'000;
constexpr int fixed_ttl_ms = 3'600'000;

constexpr std::string_view instructions =
    "Cairn executes workflows durably. Tools that do not begin with cairn_ are graphs: a call starts a run, which goes "
    "on whatever becomes of this connection. The tools cairn_* list, show, explain, answer, repair and fork runs; the "
    "resource cairn://run/RUN is a run, and cairn://graph/NAME a graph; a read of any other resource is a run, too.";

struct MethodCall {
  const McpHostRef& host;
  const McpPeer& peer;
  const RpcMessage& message;
};

using MethodReply = Result<Json, RpcError>;

Json cached(const MethodCall& call, Json result, int ttl_ms, const char* scope) {
  if (!call.peer.is_modern) return result;
  result["ttlMs"] = ttl_ms;
  result["cacheScope"] = scope;
  return result;
}

Json capabilities(bool is_modern) {
  Json all = {{"tools", Json::object()}, {"resources", Json::object()}};
  if (is_modern) all["extensions"] = {{"io.modelcontextprotocol/tasks", Json::object()}};
  return all;
}

// --- methods ---------------------------------------------------------------------------------------------------------

MethodReply initialize(const MethodCall& call) {
  const Json& params = call.message.params;
  if (!params.value("protocolVersion", Json()).is_string())
    return bad_params("Expected the client's protocolVersion, but it is not there.");
  if (!params.value("capabilities", Json()).is_object())
    return bad_params("Expected the client's capabilities, but they are not there.");
  return Json{{"protocolVersion", negotiated(params["protocolVersion"])},
              {"capabilities", capabilities(false)},
              {"serverInfo", server_info()},
              {"instructions", instructions}};
}

MethodReply ping(const MethodCall&) { return Json::object(); }

MethodReply discover(const MethodCall& call) {
  return cached(
      call,
      {{"supportedVersions", mcp_revisions()}, {"capabilities", capabilities(true)}, {"instructions", instructions}},
      fixed_ttl_ms, "public");
}

MethodReply show_tools(const MethodCall& call) {
  MethodReply listed = list_tools(*call.host, call.peer, call.message.params);
  if (!listed) return listed;
  return cached(call, *std::move(listed), graphs_ttl_ms, "private");
}

MethodReply show_resources(const MethodCall& call) {
  const Json cursor = call.message.params.value("cursor", Json(""));
  if (!cursor.is_string()) return bad_cursor();
  MethodReply listed = list_resources(*call.host, cursor.get<std::string>());
  if (!listed) return listed;
  return cached(call, *std::move(listed), 0, "private");
}

MethodReply show_templates(const MethodCall& call) {
  const Json cursor = call.message.params.value("cursor", Json(""));
  if (!cursor.is_string()) return bad_cursor();
  MethodReply listed = list_templates(*call.host, cursor.get<std::string>());
  if (!listed) return listed;
  return cached(call, *std::move(listed), graphs_ttl_ms, "private");
}

MethodReply task_get(const MethodCall& call) { return get_task(*call.host, call.peer, call.message.params); }
MethodReply task_update(const MethodCall& call) { return update_task(*call.host, call.peer, call.message.params); }
MethodReply task_cancel(const MethodCall& call) { return cancel_task(*call.host, call.peer, call.message.params); }

enum class Era : std::uint8_t { both, legacy, modern };

struct Method {
  std::string_view name;
  Era era;
  MethodReply (*answer)(const MethodCall&);
};

// Without tools/call and resources/read, which may wait.
constexpr std::array<Method, 9> methods = {{{"initialize", Era::legacy, initialize},
                                            {"ping", Era::legacy, ping},
                                            {"server/discover", Era::modern, discover},
                                            {"tools/list", Era::both, show_tools},
                                            {"resources/list", Era::both, show_resources},
                                            {"resources/templates/list", Era::both, show_templates},
                                            {"tasks/get", Era::modern, task_get},
                                            {"tasks/update", Era::modern, task_update},
                                            {"tasks/cancel", Era::modern, task_cancel}}};

MethodReply answer_of(const MethodCall& call) {
  for (const Method& method : methods) {
    const bool is_known = method.era == Era::both || (method.era == Era::modern) == call.peer.is_modern;
    if (is_known && method.name == call.message.method) return method.answer(call);
  }
  return RpcError{rpc::method_not_found,
                  "Expected a method of this revision, but found " + excerpt(Json(call.message.method), 60) + ".",
                  call.peer.is_modern ? http_status::not_found : 200};
}

// --- messages --------------------------------------------------------------------------------------------------------

McpReply refusal(const Json& id, const RpcError& error) {
  McpReply reply;
  reply.message = error_message(id, error);
  reply.status = error.status;
  return reply;
}

McpReply reply_to(const MethodCall& call, MethodReply answer) {
  if (!answer) return refusal(call.message.id, answer.error());
  McpReply reply;
  reply.message = result_message(call.message.id, dressed(*std::move(answer), call.peer.is_modern));
  return reply;
}

McpReply reply_of(const MethodCall& call, CallReply answer) {
  if (!answer) return refusal(call.message.id, answer.error());
  if (auto* result = std::get_if<Json>(&*answer)) return reply_to(call, std::move(*result));
  McpReply reply;
  reply.call = std::move(std::get<std::unique_ptr<RunCall>>(*answer));
  return reply;
}

McpReply reply_to_request(const MethodCall& call) {
  if (call.message.method == "tools/call") return reply_of(call, call_tool(call.host, call.peer, call.message));
  if (call.message.method == "resources/read") return reply_of(call, read_resource(call.host, call.peer, call.message));
  McpReply reply = reply_to(call, answer_of(call));
  if (call.message.method == "initialize" && reply.status == 200 && reply.message->contains("result"))
    reply.session = new_session(call.message.params["capabilities"]);
  return reply;
}

McpReply accepted() {
  McpReply reply;
  reply.status = http_status::accepted;
  return reply;
}

// Takes what a person has entered in a form; a form that was declined or left, or that the client could not show, is no
// answer.
McpReply reply_to_form(const McpHost& host, const RpcMessage& message) {
  const std::optional<FormPlace> place = form_place(message.id);
  if (!place) return accepted();  // the answer to nothing that was asked
  const ApiResponse shown = host.ask(api_get({"runs", to_string(place->run)}));
  if (const std::string says = refusal_of(shown); !says.empty())
    return refusal(message.id, {rpc::invalid_params, says, http_status::bad_request});
  const Json state = parse_stored(shown.body);
  McpReply reply = accepted();
  if (message.result.is_null()) {
    reply.declined = first_caller(host, state);
    return reply;
  }
  const Json responses = {{place->question, message.result}};
  const Result<Given, RpcError> given = give_answers(host, state, responses, {true, ""});
  if (!given) return refusal(message.id, {given.error().code, given.error().message, http_status::bad_request});
  if (given->is_declined) reply.declined = first_caller(host, state);
  return reply;
}

}  // namespace

McpReply answer_message(const McpHostRef& host, std::string_view text, const McpHeader& header,
                        const std::string& session) {
  const Result<RpcMessage, RpcRefusal> message = parse_message(text);
  if (!message) return refusal(message.error().id, message.error().error);
  if (message->kind == RpcMessage::Kind::response) return reply_to_form(*host, *message);
  if (message->kind == RpcMessage::Kind::notification) {
    McpReply reply = accepted();
    if (message->method == "notifications/cancelled") reply.cancelled = message->params.value("requestId", Json());
    return reply;
  }
  const Result<McpPeer, RpcError> peer = peer_of(*message, header, session);
  if (!peer) return refusal(message->id, peer.error());
  return reply_to_request({host, *peer, *message});
}

void cancel_call(const McpHost& host, const std::string& session, const Json& request_id) {
  if (session.empty()) return;
  const std::string key = session_key(host.caller, session, request_id);
  for (const ExposedGraph& one : exposed_graphs(host)) {
    const RunId run = keyed_run_id(one.graph->name, key);
    const ApiResponse shown = host.ask(api_get({"runs", to_string(run)}));
    if (!refusal_of(shown).empty() || has_ended(parse_stored(shown.body))) continue;
    if (cancel_run(host, run)) return;
  }
}

}  // namespace cairn
