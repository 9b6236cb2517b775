// The arguments of a call that go along as headers over HTTP, as "x-mcp-header" in a tool's input schema says (revision
// 2026-07-28). Pure functions, safe from any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn::mcp {

// A value of the arguments that goes along as a header: the names that lead to it, and the header.
struct HeaderOfArgument {
  std::vector<std::string> path;
  std::string header;  // Mcp-Param-NAME
};

// Refuses `invalid`: a name that is no token or comes twice, an argument that is no text, integer or flag, one that no
// chain of "properties" leads to.
Result<std::vector<HeaderOfArgument>> headers_in(const Json& schema);

// The headers of the arguments that a call has, with their values as headers have them.
std::vector<std::pair<std::string, std::string>> headers_of(const std::vector<HeaderOfArgument>& headers,
                                                            const Json& arguments);

// A text as the value of a header: as it stands, or as =?base64?...?= if it could not stand there.
std::string header_value(const std::string& text);

}  // namespace cairn::mcp
