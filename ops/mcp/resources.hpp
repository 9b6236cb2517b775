// Runs and graphs as resources (cairn://run/RUN, cairn://run/RUN/events, cairn://run/RUN/plan, cairn://graph/NAME), and
// those that graphs are themselves, by their "expose". Pure but for what the host is asked; not thread-safe.
#pragma once

#include <optional>
#include <string>

#include "ops/mcp/host.hpp"
#include "ops/mcp/peer.hpp"
#include "ops/mcp/run_call.hpp"

namespace cairn {

// A page of them: the caller's graphs, and what they are, before the first page of runs, newest first. `cursor`: "" for
// the first page.
Result<Json, RpcError> list_resources(const McpHost& host, const std::string& cursor);
// A page: Cairn's own before the first page of graphs, by their names. `cursor`: "" for the first page.
Result<Json, RpcError> list_templates(const McpHost& host, const std::string& cursor);
// {"contents": [...]}, or the call of a graph whose run gives them. Refuses what is not there: resource_not_found,
// since 2026-07-28 invalid_params.
CallReply read_resource(const McpHostRef& host, const McpPeer& peer, const RpcMessage& message);

}  // namespace cairn
