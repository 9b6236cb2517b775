// A server's result of tools/call as the outputs of a tool of Cairn, a JSON object: its structuredContent, or
// {"text": ...} if it has only texts, or {"content": [...]} with texts, resources, and images and sounds as base64.
// Pure functions, safe from any thread.
#pragma once

#include <string>

#include "workers/ports/ports.hpp"
#include "workers/tools/mcp/listing.hpp"
#include "workers/tools/mcp/messages.hpp"

namespace cairn::mcp {

// A structuredContent that is no object stands as {"value": ...}. Fails: `error`, the server says isError, with its
// text; `bad_output`, the result is of another form, or misses the output schema of the tool.
ToolAnswer outputs_of(const std::string& tool, const Json& result, const Json& output_schema);

// The failed attempt that an error of the protocol means. Wrong requests are not tried again.
Failure failure_of_error(const std::string& tool, const Reply& reply);

// "fetching (3 of 10)", from the parameters of notifications/progress.
std::string progress_text(const Json& params);

}  // namespace cairn::mcp
