// The tools of a server, as tools/list gives them: read page by page, checked, and put into the words of a tool of
// Cairn. Pure functions and plain values, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/tools/mcp/parameter_headers.hpp"

namespace cairn::mcp {

inline constexpr std::size_t tools_max = 1'000;                // of one server
inline constexpr std::size_t listed_bytes_max = 4u << 20;      // their definitions together
inline constexpr std::size_t definition_bytes_max = 1u << 17;  // of one tool
inline constexpr int pages_max = 200;

struct ListedTool {
  std::string name;  // the server's own
  std::string about;
  Json input;                      // its JSON Schema
  Json output;                     // null: it does not say
  std::vector<std::string> needs;  // the inputs that must be there
  std::vector<HeaderOfArgument> headers = {};
};

struct Listing {
  std::vector<ListedTool> tools;
  std::vector<std::string> faults = {};  // of definitions that were left out, a sentence each
  std::int64_t ttl_ms = 0;               // 0: the server does not say how long it is right
};

// Adds one page of a listing. A definition that cannot be used (its name, its schemas, its size, headers of its
// arguments) is left out, with a sentence. The cursor of the next page; none: it was the last one. Refuses `invalid`:
// no page; `limit`: more tools or bytes than above.
Result<std::optional<std::string>> add_page(const Json& result, Listing& listing);

// 1 to 128 printable characters of ASCII without spaces.
bool is_tool_name(const std::string& name);

}  // namespace cairn::mcp
