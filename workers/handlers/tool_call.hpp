// One call of a tool on behalf of a step: timed, and recorded as a fact whether it succeeds or fails. Used by one
// thread at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>

#include "workers/handlers/handler.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

// Calls once; `read` turns the tool's outputs into the step's result. `call` names the tool and its inputs.
using ReadOutputs = std::function<StepResult(Json)>;
boost::asio::awaitable<StepResult> call_tool(StepInput input, Ports& ports, ToolCall call, ReadOutputs read);

}  // namespace cairn
