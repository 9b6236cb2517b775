// What the nodes of round_planner say to the model, and what they expect back. The rule book reads the same prompts.
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/command.hpp"
#include "engine/json.hpp"

namespace cairn {

// Which node asks; also the name of its schema.
enum class RoundRole : std::uint8_t { goal_analysis, round_plan, synthesis };

std::string_view to_string(RoundRole role);

// The chat messages: the role's task; why the reply before was not taken, if it was not; and as the last message the
// task's data as one JSON object.
Json round_prompt(RoundRole role, const Json& data, const std::string& fault);

// The JSON Schema of the reply.
Json round_reply_schema(RoundRole role);

// The tools that a planner may use, as its prompt shows them: {NAME: {"does", "needs", "gives"}}. Those that say
// nothing about themselves are not among them.
Json worker_registry(const ToolTable& tools);

// Values of more than `bytes_max` bytes are cut to their beginning.
Json cut_values(Json object, std::size_t bytes_max);

}  // namespace cairn
