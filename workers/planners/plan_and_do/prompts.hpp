// The prompt of plan_and_do that chooses the tool for one task, the schema of its reply, and the check of a reply
// against the tools. The rules (rules.hpp) read the same prompt. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/command.hpp"
#include "workers/planners/plan_and_do/work.hpp"

namespace cairn {

inline constexpr const char* binding_schema = "binding";  // the name of its schema

// The tools that may do tasks: {NAME: {"does", "needs", "gives", "inputs"?: JSON Schema}}. `wanted`: a list of names
// and of function schemas as chat completions have them; null: all tools that say what they do. Refuses `not_found`: a
// name that the worker does not have; `invalid`: another form, or a schema that cannot be used.
Result<Json> tools_for_tasks(const ToolTable& table, const Json& wanted);

// A task as its binding reads it, without the rest of the plan: {"task": {"id", "name", "instruction", "path",
// "context"}, "comes_after": [{"id", "name", "call"?, "results"?}]}. A result of more than 2,000 bytes stands in
// results_at_hand. REQUIRES: the task is in the plan.
Json task_to_bind(const Doing& doing, const std::string& task);

// What the bindings of these tasks may refer to besides: {TASK: {"call"?, "outputs"?}} for the tasks that progress
// shows as done, and for those that one of these comes after whose results are too long for each to have them.
Json results_at_hand(const Doing& doing, const std::vector<std::string>& tasks, const Json& progress);

// The same, put together for one binding. Immutable; REQUIRES: all outlive it.
class TaskAtHand {
 public:
  TaskAtHand(const Json& to_bind, const Json& at_hand, const Json& progress)
      : to_bind_(to_bind), at_hand_(at_hand), progress_(progress) {}

  const Json& task() const { return to_bind_.at("task"); }
  const Json& comes_after() const { return to_bind_.at("comes_after"); }
  const Json& progress() const { return progress_; }
  // The results of a task that may be referred to, an object; null for any other.
  Json outputs(const std::string& task) const;
  // A slot of them as it stands in a sub-goal's inputs: a reference, or the value that a person gave.
  Json slot_of(const std::string& task, const std::string& slot) const;

 private:
  const Json* before(const std::string& task) const;

  const Json& to_bind_;
  const Json& at_hand_;
  const Json& progress_;
};

// System and user message. The last one is a JSON object: goal, task (id, name, instruction, path, context),
// comes_after (the results of the tasks it comes after), tools, after a failed attempt last_attempt_failed, and
// progress.
Json binding_messages(const TaskAtHand& at_hand, const std::string& goal, const Json& tools, const std::string& fault);

Json binding_reply_schema();

// The inputs of a reply as a sub-goal takes them, {"from_task", "slot"} replaced by what slot_of gives. Refuses
// `invalid`: a reply for another task, a tool that is not among them, inputs that do not fit its schema or lack what it
// needs, a reference to a result that is not there. REQUIRES: the reply fits its schema and names a tool.
Result<Json> checked_inputs(const TaskAtHand& at_hand, const Json& tools, const Json& reply);

}  // namespace cairn
