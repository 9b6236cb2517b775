#include "ops/mcp/tool_calls.hpp"

#include <algorithm>

#include "ops/mcp/graph_calls.hpp"
#include "ops/mcp/operator_tools.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn {
namespace {

constexpr std::size_t tools_of_a_page = 200;

Json refused_result(const std::string& sentence) { return text_result(sentence, true); }

CallReply call_operator(const McpHost& host, const OperatorTool& tool, const Json& arguments, bool is_modern) {
  if (const Status fits = check_value(input_schema(tool), arguments); !fits)
    return CallAnswer(refused_result(fits.error().message));
  const ApiResponse response = host.ask(tool.request(arguments));
  if (!refusal_of(response).empty()) return refused_call(response);
  return CallAnswer(value_result(answer_value(tool, response), is_modern));
}

}  // namespace

Result<Json, RpcError> list_tools(const McpHost& host, const McpPeer& peer, const Json& params) {
  const Json after = params.value("cursor", Json(""));
  if (!after.is_string()) return bad_cursor();
  std::vector<std::pair<std::string, Json>> all;
  for (const OperatorTool& tool : operator_tools())
    if (host.may(tool.role)) all.emplace_back(tool.name, tool_json(tool));
  for (const ExposedGraph& tool : graph_tools(host))
    all.emplace_back(tool.exposed.tool, tool_json(tool, peer.is_modern));
  std::sort(all.begin(), all.end(), [](const auto& one, const auto& other) { return one.first < other.first; });
  const auto& last = after.get_ref<const std::string&>();
  const auto is_last = [&](const auto& tool) { return tool.first == last; };
  if (!last.empty() && std::none_of(all.begin(), all.end(), is_last)) return bad_cursor();
  std::erase_if(all, [&](const auto& tool) { return tool.first <= last; });
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

CallReply call_tool(const McpHostRef& host, const McpPeer& peer, const RpcMessage& message) {
  const Json name = message.params.value("name", Json());
  if (!name.is_string()) return bad_params("Expected the name of a tool, but found " + excerpt(name, 60) + ".");
  const Json arguments = message.params.value("arguments", Json::object());
  if (!arguments.is_object())
    return bad_params("Expected the arguments to be an object, but found " + excerpt(arguments, 60) + ".");
  const auto& text = name.get_ref<const std::string&>();
  if (const OperatorTool* tool = operator_tool(text); tool != nullptr && host->may(tool->role))
    return call_operator(*host, *tool, arguments, peer.is_modern);
  const std::vector<ExposedGraph> tools = graph_tools(*host);
  const auto tool =
      std::find_if(tools.begin(), tools.end(), [&](const ExposedGraph& one) { return one.exposed.tool == text; });
  if (tool == tools.end())
    return bad_params("Expected the name of a tool that tools/list shows, but found " + excerpt(name, 60) + ".");
  return call_graph(host, peer, message, {tool->graph, "tool " + text, arguments});
}

}  // namespace cairn
