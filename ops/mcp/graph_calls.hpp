// Calls of graphs that are offered: of a graph's tool, or a read of its resource. Each is a run, which is durable
// before the answer. Safe from any thread if the host is.
#pragma once

#include <optional>

#include "ops/mcp/graph_tools.hpp"
#include "ops/mcp/run_call.hpp"

namespace cairn {

struct GraphCall {
  GraphRef graph;
  std::string what;  // "tool NAME" or "resource URI", for sentences
  Json input;
  std::optional<ResourceRead> read = std::nullopt;  // nothing: a tool's call
};

// Starts the run, or goes on with the one that the message's requestState names.
CallReply call_graph(const McpHostRef& host, const McpPeer& peer, const RpcMessage& message, const GraphCall& call);

// The reply to a refusal of the API: an error of the protocol if the server failed, otherwise a result that
// says it to the model.
CallReply refused_call(const ApiResponse& response);

}  // namespace cairn
