// The graphs that are tools: how tools/list shows them, and the run that a call starts. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/graph_expose.hpp"
#include "ops/mcp/host.hpp"
#include "ops/mcp/peer.hpp"

namespace cairn {

struct GraphTool {
  Exposed exposed;
  GraphRef graph;
};

// Those of the caller, by the tool's name: none without the roles run and read. If two graphs claim one name, the one
// that comes first by its own name is the tool. A graph whose "expose" cannot be read is left out.
std::vector<GraphTool> graph_tools(const McpHost& host);

Json tool_json(const GraphTool& tool, bool is_modern);

// The key of the run that a call starts; "": each call starts a new run. A key that the client gives itself
// ("cairn/key" in _meta) always counts. Before 2026-07-28 the id of a request is never used twice in a session, so that
// the same message again means the same run. Since then an id may come again, and only a text of 16 bytes or more is
// taken for one that does not.
std::string run_key(const std::string& caller, const McpPeer& peer, const RpcMessage& message);
std::string session_key(const std::string& caller, const std::string& session, const Json& request_id);

// The answer of POST /runs to that call.
ApiResponse start_run(const McpHost& host, const GraphTool& tool, const Json& arguments, const std::string& key);

}  // namespace cairn
