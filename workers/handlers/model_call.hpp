// One call of the model by a handler, on record as the fact `model_called` whatever the answer is, and what planners
// share for reading prompts and replies. Used by the worker's serial executor, one thread at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>

#include "workers/handlers/handler.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

// The JSON Schema of an object with exactly these properties, all required, as strict structured output demands it.
Json object_schema(Json properties);

// A request of the step, still without messages: its node, the most of the step's time, idempotency key, and `model`
// and `options` of the node's settings. After a bad reply the key is another one, as the same would bring the same
// reply from an endpoint that remembers keys. A second request in the same attempt has only the time that the first
// left.
ModelRequest request_for(const StepInput& input);

// Makes the text that the model writes the step's progress while it streams: that text member of the reply, which is a
// JSON object, or the reply itself. REQUIRES: the ports outlive the call.
void show_progress(ModelRequest& request, Ports& ports, const std::string& member = "");

// The fact of a call, succeeded or failed: node, request, model, reply, tokens and cost.
Record model_called(const ModelRequest& request, const ModelAnswer& answer);

// Asks once; `read` makes the step's result of a reply. The call's fact comes before any other.
using ReadReply = std::function<StepResult(const ModelReply&)>;
boost::asio::awaitable<StepResult> ask_model(ModelRequest request, Ports& ports, ReadReply read);

// As ask_model; an outcome also counts the call in the channels model_calls, tokens_in, tokens_out and cost.
boost::asio::awaitable<StepResult> ask_model_counted(ModelRequest request, Ports& ports, ReadReply read);

// The data of a prompt: the JSON object that is its last message; an empty object if that is none.
Json prompt_data(const ModelRequest& request);

// A decision's `source`: "rule" for a reply of the rule book, else "model".
const char* source_of(const ModelReply& reply);

}  // namespace cairn
