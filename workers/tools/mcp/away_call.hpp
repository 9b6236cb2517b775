// A call that is made on another thread, of a coroutine that waits for it on its own: the answer and the progress come
// back to that thread, and a wait that ends early ends the call. Safe from the two threads that are part of it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>

#include "workers/ports/ports.hpp"

namespace boost::asio {
class io_context;
}

namespace cairn::mcp {

using MakeCall = std::function<boost::asio::awaitable<ToolAnswer>(ToolCall)>;

// Runs `make` on the thread of `there`. Its exception is passed on. REQUIRES: `there` outlives the call.
boost::asio::awaitable<ToolAnswer> call_away(boost::asio::io_context& there, MakeCall make, ToolCall call);

}  // namespace cairn::mcp
