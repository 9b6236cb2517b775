// The tool calls of a chat message, in the form of chat completions: opened as sub-goals, and their results as messages
// again. Pure functions, safe from any thread.
#pragma once

#include <vector>

#include "workers/handlers/handler.hpp"

namespace cairn {

// The message's "tool_calls"; empty if it has none.
Json calls_of(const Json& message);

// One sub-goal for each call of the message that takes place `place` of its conversation, from 0: "N.M", both counted
// from 1, with the tool of the call's name and its parsed arguments as inputs. Arguments that are no JSON object open
// none. Failure `bad_reply`: the calls are no list, or one has no id or names no function.
Result<std::vector<Fact>, Failure> opened_calls(const Json& message, std::size_t place);

// A message of role `tool` for each call of the conversation's last message, in their order. Its content: the outputs'
// `content` if that is a text, else the outputs as JSON; "Error: " and why if there are none. REQUIRES: opened_calls
// takes the last message.
Json results_of_calls(const Json& messages, const StepInput& input);

}  // namespace cairn
