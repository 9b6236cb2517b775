// The prompt of plan_and_do that chooses the tool for one task, the schema of its reply, and the check of a reply
// against the tools. The rules (rules.hpp) read the same prompt. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "engine/command.hpp"
#include "workers/planners/plan_and_do/work.hpp"

namespace cairn {

inline constexpr const char* binding_schema = "binding";  // the name of its schema

// The tools that may do tasks: {NAME: {"does", "needs", "gives", "inputs"?: JSON Schema}}. `wanted`: a list of names
// and of function schemas as chat completions have them; null: all tools that say what they do. Refuses `not_found`: a
// name that the worker does not have; `invalid`: another form, or a schema that cannot be used.
Result<Json> tools_for_tasks(const ToolTable& table, const Json& wanted);

// System and user message. The last one is a JSON object: goal, task (id, name, instruction, path, context),
// comes_after (the results of the tasks it comes after), tools, after a failed attempt last_attempt_failed, and
// progress.
Json binding_messages(const Doing& doing, const std::string& task, const Json& tools, const Json& progress,
                      const std::string& fault);

Json binding_reply_schema();

// The inputs of a reply as a sub-goal takes them, {"from_task", "slot"} replaced by what slot_of gives. Refuses
// `invalid`: a reply for another task, a tool that is not among them, inputs that do not fit its schema or lack what it
// needs, a reference to a result that is not there. REQUIRES: the reply fits its schema and names a tool.
Result<Json> checked_inputs(const Doing& doing, const std::string& task, const Json& tools, const Json& reply);

}  // namespace cairn
