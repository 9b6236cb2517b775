// The graphs that are offered: how tools/list shows those that are tools, and the run that a call or a read of a
// resource starts. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/graph_expose.hpp"
#include "ops/mcp/host.hpp"
#include "ops/mcp/peer.hpp"

namespace cairn {

struct ExposedGraph {
  Exposed exposed;
  GraphRef graph;
};

// Those of the caller, by the graph's name: none without the roles run and read. A graph whose "expose" cannot be read
// is left out.
std::vector<ExposedGraph> exposed_graphs(const McpHost& host);

// The tools among them, by the tool's name. If two graphs claim one name, the one that comes first by its own name is
// the tool.
std::vector<ExposedGraph> graph_tools(const McpHost& host);

Json tool_json(const ExposedGraph& tool, bool is_modern);

// The key of the run that a call starts; "": each call starts a new run. A key that the client gives itself
// ("cairn/key" in _meta) always counts. Before 2026-07-28 the id of a request is never used twice in a session, so that
// the same message again means the same run. Since then an id may come again, and only a text of 16 bytes or more is
// taken for one that does not.
std::string run_key(const std::string& caller, const McpPeer& peer, const RpcMessage& message);
std::string session_key(const std::string& caller, const std::string& session, const Json& request_id);

// The texts that a call gives its run next to the input; "": none.
struct GraphStart {
  std::string key;
  std::string traceparent;
};

// The answer of POST /runs to that call.
ApiResponse start_run(const McpHost& host, const Graph& graph, const Json& input, const GraphStart& start);

}  // namespace cairn
