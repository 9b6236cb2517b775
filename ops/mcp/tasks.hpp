// Runs as tasks of the Tasks extension: tasks/get, tasks/update, tasks/cancel. A task's id is its run's, and the run's
// scope and the caller's roles hold. Safe from any thread if the host is.
#pragma once

#include <set>
#include <string>

#include "ops/mcp/forms.hpp"
#include "ops/mcp/host.hpp"
#include "ops/mcp/peer.hpp"

namespace cairn {

// The answer to tools/call: {"resultType": "task", "taskId", ...}. The run is durable by then.
Result<Json, RpcError> created_task(const McpHost& host, const std::string& run);

Result<Json, RpcError> get_task(const McpHost& host, const McpPeer& peer, const Json& params);
// Answers to what is not open (any more) are ignored.
Result<Json, RpcError> update_task(const McpHost& host, const McpPeer& peer, const Json& params);
// A task that has ended stays as it is.
Result<Json, RpcError> cancel_task(const McpHost& host, const McpPeer& peer, const Json& params);

struct Given {
  bool is_declined = false;      // one was
  std::set<std::string> opened;  // keys of the questions whose pages were opened
};
// Gives a client's inputResponses as answers to open_questions() of a run, by their keys. Refuses what does not fit a
// question.
Result<Given, RpcError> give_answers(const McpHost& host, const Json& state, const Json& responses,
                                     const Asking& asking);

}  // namespace cairn
