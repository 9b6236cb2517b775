// The result of a decomposition, as data and as a sentence for people. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/json.hpp"
#include "workers/planners/plan_decomposer/tree.hpp"

namespace cairn {

// A task that was not decomposed. `error`: format (of the reply), write, or the failed call's own word.
struct FailedDecomposition {
  std::string id;
  std::string error;
};

struct Decomposition {
  std::string_view mode;  // plan_bfs or single_node
  std::string root;       // the given task; "" for a whole plan
  std::vector<std::string> processed;
  std::vector<PlanNode> created;  // in the order they were created
  std::vector<FailedDecomposition> failed;
  std::string stopped;  // node_budget, depth, empty_plan, empty_children, llm_calls, write_error,
                        // "llm_should_stop: REASON"; "" if it ran to its end
  Json stats;  // {"llm_calls", "elapsed_ms", "nodes_created", "depth_limited", "skipped_nodes", "truncated", ...}
};

// {"plan_id", "mode", "root_node_id", "processed_nodes", "created_tasks", "failed_nodes", "stopped_reason", "stats"}
Json result_json(const PlanTree& plan, const Decomposition& done);

// One sentence: "Plan #8: 10 sub-tasks created; node 15 not processed because the LLM did not answer."
std::string feedback_in_english(const PlanTree& plan, const Decomposition& done);
// The same in Chinese.
std::string feedback_in_chinese(const PlanTree& plan, const Decomposition& done);

}  // namespace cairn
