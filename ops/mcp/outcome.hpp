// The outcome of a run in the words of the protocol: the result of a tool's call, of a read of a resource, and a task.
// Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "ops/mcp/forms.hpp"
#include "ops/mcp/peer.hpp"

namespace cairn {

// The schema of a tool's structured results, of a graph's "output": before 2026-07-28 only one of objects. Null: none.
Json result_schema(const Graph& graph, bool is_modern);

// {"content": [text], "isError"}.
Json text_result(const std::string& text, bool is_error = false);
// The same with the value itself where the revision allows it.
Json value_result(const Json& value, bool is_modern);

// The result of a run that has ended; `state` is what GET /runs/RUN answers. Done: its output as text and as structured
// content, or, if it is {"content": [...]} of blocks of the protocol and the graph has no output schema, these.
// Otherwise: an error with the cause.
Json ended_result(const Json& state, const Graph* graph, bool is_modern);

// The result of a call that does not wait any longer: how to go on with the run. An error only where the tool has a
// result schema, since clients refuse any other result without a value.
Json unfinished_result(const std::string& text, bool has_schema);

// A read of a resource that a graph is.
struct ResourceRead {
  std::string uri;
  std::string mime_type;  // "": as the output is
};

// The result of such a run that has ended. Done: its output as contents, which is {"text"}, {"blob"} in base64, or any
// other JSON as a text. Refuses with the cause if it is not done, and a blob that is no base64.
Result<Json, RpcError> ended_read(const Json& state, const ResourceRead& read, bool is_modern);

// {"contents": [...]} of one resource.
Json read_result(Json contents, bool is_modern);

struct TaskFacts {
  Json state;        // GET /runs/RUN
  Json questions;    // open_questions() of it
  std::string says;  // why it is where it is
  Asking asking;
};
// {"taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs", "statusMessage"?, and "result" or
// "inputRequests"}. A question that the client cannot show leaves the task `working`, with the question in its message.
Json task_json(const TaskFacts& facts, const Graph* graph);

// {KEY: {"method": "elicitation/create", "params"}} of those of open_questions() that the client can show.
Json input_requests(const Json& questions, const Asking& asking);

bool has_ended(const Json& state);

// With what every result has since 2026-07-28: "resultType" ("complete" where it says none) and the server's name.
Json dressed(Json result, bool is_modern);
Json server_info();

}  // namespace cairn
