// tools/list and tools/call. Safe from any thread if the host is.
#pragma once

#include <memory>
#include <variant>

#include "ops/mcp/host.hpp"
#include "ops/mcp/peer.hpp"
#include "ops/mcp/run_call.hpp"

namespace cairn {

Result<Json, RpcError> list_tools(const McpHost& host, const McpPeer& peer, const Json& params);

// A result, or a call that waits for its run.
using ToolAnswer = std::variant<Json, std::unique_ptr<RunCall>>;
using ToolReply = Result<ToolAnswer, RpcError>;
ToolReply call_tool(const McpHostRef& host, const McpPeer& peer, const RpcMessage& message);

// The reply to a refusal of the API: an error of the protocol if the server failed, otherwise a result that
// says it to the model.
ToolReply refused_call(const ApiResponse& response);

}  // namespace cairn
