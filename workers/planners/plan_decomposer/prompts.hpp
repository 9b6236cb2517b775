// The prompt of plan_decomposer about one task, and the schema of its reply. Each prompt is a conversation of its own,
// without anything of another one. The rules (rules.hpp) read the same prompt. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/planners/plan_decomposer/tree.hpp"

namespace cairn {

inline constexpr const char* decomposition_schema = "decomposition";  // the name of its schema

struct DecompositionTask {
  std::string target;
  std::string_view mode;  // plan_bfs or single_node
  std::size_t max_children = 0;
  std::size_t outline_bytes = 0;  // of the plan's outline, at most
  bool ends_on_empty = false;     // a reply without children ends the whole decomposition
};

// System and user message. The last one is a JSON object: target_task (its name, instruction, path, the children it
// has), plan_outline (at most `outline_bytes`), constraints, mode_hint, after a failed attempt last_attempt_failed, and
// where the plan is being carried out its `progress` (null: it is not): verified_state, done, failed.
Json decomposition_messages(const PlanTree& plan, const DecompositionTask& task, const std::string& fault,
                            const Json& progress = nullptr);

// The JSON Schema of a reply; the same for every task.
Json decomposition_reply_schema();

// The conditions that the schema cannot express. Refuses `invalid`: a reply for another task or mode, or a child
// without a name.
Status check_reply(const Json& reply, const DecompositionTask& task);

// An id in a reply, given as a text or as a number.
std::string reply_id(const Json& id);

}  // namespace cairn
