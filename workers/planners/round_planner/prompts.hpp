// The prompts of round_planner: the messages of each model call and the schema of its reply. The rules (rules.hpp) read
// the same prompts. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/command.hpp"
#include "engine/json.hpp"

namespace cairn {

// The asking node; its word is the name of its schema.
enum class RoundRole : std::uint8_t { goal_analysis, round_plan, synthesis };

std::string_view to_string(RoundRole role);

// The chat messages: the role's task, and the task's data as one JSON object, with the reason why the previous reply
// was rejected (`fault`, if any) as "last_attempt_failed".
Json round_prompt(RoundRole role, Json data, const std::string& fault);

// The answers in a list of clarifications, each {"asked", "said"}, as one text.
std::string said_in(const Json& clarifications);

// The JSON Schema of the reply.
Json round_reply_schema(RoundRole role);

// The tools that a planner may use, as its prompt shows them: {NAME: {"does", "needs", "gives"}}. Tools without an
// `about` are left out.
Json worker_registry(const ToolTable& tools);

}  // namespace cairn
