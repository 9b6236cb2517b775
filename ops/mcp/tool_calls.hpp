// tools/list and tools/call. Safe from any thread if the host is.
#pragma once

#include "ops/mcp/host.hpp"
#include "ops/mcp/peer.hpp"
#include "ops/mcp/run_call.hpp"

namespace cairn {

Result<Json, RpcError> list_tools(const McpHost& host, const McpPeer& peer, const Json& params);

CallReply call_tool(const McpHostRef& host, const McpPeer& peer, const RpcMessage& message);

}  // namespace cairn
