// One call of a tool on behalf of a step: timed, and recorded as a fact whether it succeeds or fails. Used by one
// thread at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>

#include "workers/handlers/handler.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

// Calls once; `read` turns the tool's outputs into the step's result. `call` names the tool and its inputs; the step's
// part of it is filled in. `input` outlives the call: it lies in the coroutine that waits.
using ReadOutputs = std::function<StepResult(Json)>;
boost::asio::awaitable<StepResult> call_tool(const StepInput& input, Ports& ports, ToolCall call, ReadOutputs read);

}  // namespace cairn
