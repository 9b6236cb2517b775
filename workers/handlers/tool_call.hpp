// One call of a tool by a handler: it is on record whatever came of it. Used in the worker's turns, by one thread at a
// time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>

#include "workers/handlers/handler.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

// Calls once, on behalf of the step; `read` makes the outcome of the outputs. `call` names the tool and its inputs.
using ReadOutputs = std::function<StepResult(Json)>;
boost::asio::awaitable<StepResult> call_tool(StepInput input, Ports& ports, ToolCall call, ReadOutputs read);

}  // namespace cairn
