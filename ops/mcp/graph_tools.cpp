#include "ops/mcp/graph_tools.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>

#include "engine/corrupt_history.hpp"
#include "ops/mcp/outcome.hpp"
#include "storage/digest.hpp"

namespace cairn {
namespace {

constexpr const char* key_field = "cairn/key";
constexpr std::size_t lasting_id_bytes = 16;

std::string hashed(const Json& parts) { return "mcp:" + hex(sha256(canonical(parts))); }

// A tool's arguments are always an object.
Json arguments_schema(const Json& input) {
  Json schema = input.is_object() ? input : Json::object();
  schema["type"] = "object";
  return schema;
}

std::optional<Exposed> readable(const Graph& graph) {
  try {
    return exposed(graph);
  } catch (const CorruptHistory& fault) {
    spdlog::warn("Graph {} is not offered to agents: {}", graph.name, fault.what());
    return std::nullopt;
  }
}

}  // namespace

std::vector<ExposedGraph> exposed_graphs(const McpHost& host) {
  std::vector<ExposedGraph> all;
  if (!host.may(ApiRole::run) || !host.may(ApiRole::read)) return all;
  for (GraphRef& graph : host.graphs())
    if (std::optional<Exposed> one = readable(*graph)) all.push_back({*std::move(one), std::move(graph)});
  return all;
}

std::vector<ExposedGraph> graph_tools(const McpHost& host) {
  using One = const ExposedGraph&;
  std::vector<ExposedGraph> tools = exposed_graphs(host);
  std::erase_if(tools, [](One one) { return one.exposed.tool.empty(); });
  std::stable_sort(tools.begin(), tools.end(),
                   [](One one, One other) { return one.exposed.tool < other.exposed.tool; });
  const auto same = [](One one, One other) { return one.exposed.tool == other.exposed.tool; };
  tools.erase(std::unique(tools.begin(), tools.end(), same), tools.end());
  return tools;
}

Json tool_json(const ExposedGraph& tool, bool is_modern) {
  Json shown = {{"name", tool.exposed.tool},
                {"description", tool.exposed.description},
                {"inputSchema", arguments_schema(tool.graph->input)}};
  Json output = result_schema(*tool.graph, is_modern);
  if (!output.is_null()) shown["outputSchema"] = std::move(output);
  return shown;
}

std::string session_key(const std::string& caller, const std::string& session, const Json& request_id) {
  return hashed({caller, session, request_id});
}

std::string run_key(const std::string& caller, const McpPeer& peer, const RpcMessage& message) {
  const Json given = message.meta().value(key_field, Json());
  if (given.is_string()) return hashed({caller, given, message.params.value("name", "")});
  if (!peer.session.empty()) return session_key(caller, peer.session, message.id);
  const bool lasts = message.id.is_string() && message.id.get_ref<const std::string&>().size() >= lasting_id_bytes;
  return peer.is_modern && lasts ? session_key(caller, "", message.id) : "";
}

ApiResponse start_run(const McpHost& host, const Graph& graph, const Json& input, const GraphStart& start) {
  Json body = {{"graph", graph.name}, {"input", input}};
  if (!start.key.empty()) body["key"] = start.key;
  ApiRequest request = api_post({"runs"}, body);
  if (!start.traceparent.empty()) request.headers.emplace("traceparent", start.traceparent);
  return host.ask(request);
}

}  // namespace cairn
