#include "ops/mcp/tool_calls.hpp"

#include <algorithm>

#include "ops/mcp/forms.hpp"
#include "ops/mcp/graph_tools.hpp"
#include "ops/mcp/operator_tools.hpp"
#include "ops/mcp/outcome.hpp"
#include "ops/mcp/tasks.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn {
namespace {

constexpr std::size_t tools_of_a_page = 200;

Json refused_result(const std::string& sentence) { return text_result(sentence, true); }

ToolReply call_operator(const McpHost& host, const OperatorTool& tool, const Json& arguments, bool is_modern) {
  if (const Status fits = check_value(input_schema(tool), arguments); !fits)
    return ToolAnswer(refused_result(fits.error().message));
  const ApiResponse response = host.ask(tool.request(arguments));
  if (!refusal_of(response).empty()) return refused_call(response);
  return ToolAnswer(value_result(answer_value(tool, response), is_modern));
}

ToolReply wait_for(const McpHostRef& host, const RpcMessage& message, RunCallOrder order) {
  const Json token = message.meta().value("progressToken", Json());
  if (token.is_string() || token.is_number_integer()) order.progress_token = token;
  return ToolAnswer(std::make_unique<RunCall>(host, std::move(order)));
}

ToolReply begin(const McpHostRef& host, const McpPeer& peer, const RpcMessage& message, const GraphTool& tool,
                const Json& arguments) {
  const std::string key = run_key(host->caller, peer, message);
  const ApiResponse started = start_run(*host, tool, arguments, key);
  if (!refusal_of(started).empty()) return refused_call(started);
  const std::string run = parse_stored(started.body).at("run");
  if (peer.has_tasks) {
    Result<Json, RpcError> task = created_task(*host, run);
    if (!task) return std::move(task).error();
    return ToolAnswer(*std::move(task));
  }
  return wait_for(host, message, {message.id, peer, *parse_run_id(run), tool.graph, nullptr, !key.empty()});
}

// The same call once more, with what a person has entered (requestState is the run's id). The run's own scope and roles
// decide whether this caller may go on with it.
ToolReply go_on(const McpHostRef& host, const McpPeer& peer, const RpcMessage& message, const GraphTool& tool) {
  const Json state_text = message.params["requestState"];
  const std::optional<RunId> run =
      state_text.is_string() ? parse_run_id(state_text.get_ref<const std::string&>()) : std::nullopt;
  if (!run) return bad_params("Expected the requestState of an answer to this call, but it is none.");
  const ApiResponse shown = host->ask(api_get({"runs", to_string(*run)}));
  if (!refusal_of(shown).empty()) return refused_call(shown);
  const Json state = parse_stored(shown.body);
  if (state.value("graph", "") != tool.graph->name)
    return bad_params("Expected the requestState of a call of tool " + tool.exposed.tool + ", but it is another's.");
  const Json responses = message.params.value("inputResponses", Json::object());
  const Result<bool, RpcError> all = give_answers(*host, state, responses);
  if (!all) return all.error();
  if (!*all)
    return ToolAnswer(unfinished_result("A question of run " + to_string(*run) +
                                            " was declined and stays open: cairn_answer answers it, and cairn_cancel "
                                            "ends the run.",
                                        !result_schema(*tool.graph, true).is_null()));
  return wait_for(host, message, {message.id, peer, *run, tool.graph, nullptr, true});
}

}  // namespace

ToolReply refused_call(const ApiResponse& response) {
  const std::string says = refusal_of(response);
  if (response.status >= http_status::failures_begin) return RpcError{rpc::internal_error, says, response.status};
  return ToolAnswer(refused_result(says));
}

Result<Json, RpcError> list_tools(const McpHost& host, const McpPeer& peer, const Json& params) {
  const Json after = params.value("cursor", Json(""));
  if (!after.is_string()) return bad_params("Expected the cursor that a page before gave, but it is none.");
  std::vector<std::pair<std::string, Json>> all;
  for (const OperatorTool& tool : operator_tools())
    if (host.may(tool.role)) all.emplace_back(tool.name, tool_json(tool));
  for (const GraphTool& tool : graph_tools(host)) all.emplace_back(tool.exposed.tool, tool_json(tool, peer.is_modern));
  std::sort(all.begin(), all.end(), [](const auto& one, const auto& other) { return one.first < other.first; });
  std::erase_if(all, [&](const auto& tool) { return tool.first <= after.get_ref<const std::string&>(); });
  Json result = {{"tools", Json::array()}};
  for (auto& [name, tool] : all) {
    if (result["tools"].size() == tools_of_a_page) {
      result["nextCursor"] = result["tools"].back()["name"];
      break;
    }
    result["tools"].push_back(std::move(tool));
  }
  return result;
}

ToolReply call_tool(const McpHostRef& host, const McpPeer& peer, const RpcMessage& message) {
  const Json name = message.params.value("name", Json());
  if (!name.is_string()) return bad_params("Expected the name of a tool, but found " + excerpt(name, 60) + ".");
  const Json arguments = message.params.value("arguments", Json::object());
  if (!arguments.is_object())
    return bad_params("Expected the arguments to be an object, but found " + excerpt(arguments, 60) + ".");
  const auto& text = name.get_ref<const std::string&>();
  if (const OperatorTool* tool = operator_tool(text); tool != nullptr && host->may(tool->role))
    return call_operator(*host, *tool, arguments, peer.is_modern);
  const std::vector<GraphTool> tools = graph_tools(*host);
  const auto tool =
      std::find_if(tools.begin(), tools.end(), [&](const GraphTool& one) { return one.exposed.tool == text; });
  if (tool == tools.end())
    return bad_params("Expected the name of a tool that tools/list shows, but found " + excerpt(name, 60) + ".");
  if (peer.is_modern && message.params.contains("requestState")) return go_on(host, peer, message, *tool);
  return begin(host, peer, message, *tool, arguments);
}

}  // namespace cairn
