// The servers of a worker's tools file: a thread of their own, on which this process speaks with them, and their tools
// as tools of the worker, named ENTRY.TOOL. Safe from any thread; a tool is called by one thread at a time.
//
// Two more tools come along where there is a server. `mcp.list` gives the definitions of their tools as the functions
// that a model may call: {"tools": ["ENTRY.*", "ENTRY.TOOL"]} -> {"tools": [{"type": "function", ...}], "hash"}.
// `mcp.call` makes a call in parts, for a graph that asks its questions and waits for its task (server.hpp, advance):
// {"tool": "ENTRY.TOOL", "arguments", "previous", "entered"}.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/ports/tools.hpp"
#include "workers/ports/tools_file.hpp"

namespace cairn {

class McpServers {
 public:
  struct Parts;

  // Connects all of them at once and reads their listings. Blocks. Refuses `unavailable`: one that has not listed its
  // tools within `patience_ms`; `invalid`: two tools of one name. Throws std::system_error if there is no thread for
  // it.
  static Result<std::shared_ptr<McpServers>> connect(const std::vector<McpEntry>& entries, const Secrets& secrets,
                                                     std::int64_t patience_ms);
  explicit McpServers(std::shared_ptr<Parts> parts);
  ~McpServers();  // ends their programs

  std::vector<ToolSpec> tools() const;
  // [{"name", "queue", "about", "schema"}] of their tools, as a session declares its work.
  Json declared() const;

 private:
  std::shared_ptr<Parts> parts_;
};

}  // namespace cairn
