#include "workers/ports/ports.hpp"

#include "storage/chain.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {

boost::asio::awaitable<ToolAnswer> Tools::call_http(ToolCall) {
  co_return failure("refused", "Expected a worker that calls URLs, but this one does not.", false);
}

Record tool_called(const ToolCall& call, bool ok, std::int64_t latency_ms) {
  const Json fields = {{"tool", call.tool},
                       {"ok", ok},
                       {"latency_ms", latency_ms},
                       {"inputs_hash", hex(sha256(canonical(call.inputs)))}};
  return {RecordKind::tool_called, canonical(fields)};
}

}  // namespace cairn
