// The tool calls of a chat message, in the form of chat completions: calls become sub-goals, and the sub-goals' results
// become messages. Pure functions, safe from any thread.
#pragma once

#include <vector>

#include "workers/handlers/handler.hpp"

namespace cairn {

// The message's "tool_calls"; empty if it has none.
Json calls_of(const Json& message);

// One sub-goal for each call of a message at position `place`, from 0, of its conversation. Its id is "N.M", message
// and call counted from 1; its tool is the function's name, its inputs the parsed arguments. Arguments that are no JSON
// object open none. A call of a function that is not among the schemas `offered` is a rejected sub-goal; null offers
// every tool of the worker. Fails with `bad_reply`: calls that are no list, a call without an id or without a
// function's name.
Result<std::vector<Fact>, Failure> opened_calls(const Json& message, std::size_t place, const Json& offered);

// A message of role `tool` for each call of the conversation's last message, in their order. Its content is the
// outputs' `content` if that is a text, else the outputs as JSON; "Error: " and the reason if there are none. REQUIRES:
// opened_calls accepts the last message.
Json results_of_calls(const Json& messages, const StepInput& input);

}  // namespace cairn
