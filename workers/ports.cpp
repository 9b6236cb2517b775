#include "workers/ports.hpp"

namespace cairn {
Record tool_called(const ToolCall& call, bool ok, std::int64_t latency_ms) {
  const Json fields = {{"tool", call.tool}, {"ok", ok}, {"latency_ms", latency_ms}};
  return {RecordKind::tool_called, canonical(fields)};
}

}  // namespace cairn
