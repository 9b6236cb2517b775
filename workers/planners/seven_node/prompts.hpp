// The prompts of seven_node: one for each node that asks, built alike, and the schemas of the replies. The rules
// (rules.hpp) read the same prompts. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>

#include "engine/json.hpp"
#include "workers/handlers/handler.hpp"

namespace cairn {

// The asking node; its word is the name of its schema.
enum class SevenNodeRole : std::uint8_t { guardrail, intent_parser, query_planner, reflector, response_generator };

std::string_view to_string(SevenNodeRole role);

// The system context every prompt begins with; written by the orchestrator.
std::string system_context(std::string_view repository);

// Turns of a conversation, [{"question", "answer"}], in one paragraph of at most `summary_bytes_max` bytes that begins
// with `older`, the summary of earlier turns. The oldest are dropped first.
inline constexpr std::size_t summary_bytes_max = 2000;
std::string summarise(const std::string& older, const Json& turns);

// The chat messages: context, the role's task and the conversation's summary as the one system message, the last turns,
// and as the last message the task's data as one JSON object, with a failed attempt's message as "last_attempt_failed".
// `context` is the channel {"system", "summary", "turns"}.
Json prompt_messages(SevenNodeRole role, const Json& context, Json data, const std::string& fault);

// The JSON Schema of a tool's inputs, from its entry in the query planner's table: {"about", "inputs": SCHEMA}. An
// entry may also be a text, the description of a tool whose only input is "path".
Json tool_inputs(const Json& tool);

// The JSON Schema of the reply. `tools`: those that the query planner may use, by name, see tool_inputs.
Json reply_schema(SevenNodeRole role, const Json& tools);

}  // namespace cairn
