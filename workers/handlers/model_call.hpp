// One call of the model by a handler: it is on record whatever came of it. Used in the worker's turns, by one thread
// at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>

#include "workers/handlers/handler.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

// The JSON Schema of an object with these properties, all of them required, and no others: what a strict endpoint
// takes.
Json object_schema(Json properties);

// The fact of a call, ok or failed alike: node, what was asked of which model, what came and what it cost.
Record model_called(const ModelRequest& request, const ModelAnswer& answer);

// Asks once; `read` makes the outcome, or the failure, of a reply. The call's fact comes first.
using ReadReply = std::function<StepResult(const ModelReply&)>;
boost::asio::awaitable<StepResult> ask_model(ModelRequest request, Ports& ports, ReadReply read);

// As ask_model; an outcome counts the call in the channels model_calls, tokens_in, tokens_out and cost.
boost::asio::awaitable<StepResult> ask_model_counted(ModelRequest request, Ports& ports, ReadReply read);

// The data of a prompt: the JSON object that is its last message; an empty object if that is none.
Json prompt_data(const ModelRequest& request);

// Whose words they are, for a decision's `source`: "rule" (the rule book's) or "model".
const char* source_of(const ModelReply& reply);

}  // namespace cairn
