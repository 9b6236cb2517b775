// Runs and graphs as resources: cairn://run/RUN, cairn://run/RUN/events, cairn://run/RUN/plan, cairn://graph/NAME. Pure
// but for what the host is asked; not thread-safe.
#pragma once

#include <optional>
#include <string>

#include "ops/mcp/host.hpp"
#include "ops/mcp/rpc.hpp"

namespace cairn {

// A page of them: the caller's graphs before the first page of runs, newest first. `cursor`: "" for the first page.
Result<Json, RpcError> list_resources(const McpHost& host, const std::string& cursor);
Json resource_templates();
// {"contents": [...]}. `not_found`: the code of the refusal for what is not there.
Result<Json, RpcError> read_resource(const McpHost& host, const std::string& uri, int not_found);

}  // namespace cairn
