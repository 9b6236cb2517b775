// The settings of a run of plan_decomposer, checked once when it begins. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

struct DecompositionSettings {
  std::int64_t max_depth = 3;           // tasks at a smaller depth are decomposed; the first ones are at 0
  std::int64_t max_children = 6;        // kept of one reply
  std::int64_t total_node_budget = 50;  // new tasks in a run
  std::int64_t max_llm_calls = 200;     // retries included
  std::int64_t retry_limit = 1;         // retries of a failed call
  std::int64_t expand_depth = 1;        // levels below the given task, when there is one
  std::int64_t at_once = 1;             // tasks of one level that are shown to the model side by side
  std::int64_t outline_bytes_max = 4000;
  bool stop_on_empty = false;                // an empty reply ends the run; else it makes the task a leaf
  bool skip_existing = true;                 // in plan_bfs: tasks that have children are not decomposed again
  std::string stop_scope = "run";            // run or node
  std::string on_write_error = "stop";       // stop or continue
  std::string existing_children = "append";  // in single_node: append or overwrite
  std::string model;                         // "": the worker's
  Json options;                              // more fields of a request, as the endpoint knows them; null: none
};

// `options` over `defaults`, each an object of the settings above, or null. Refuses `invalid`: an unknown setting, or
// one out of its bounds.
Result<DecompositionSettings> read_settings(const Json& options, const Json& defaults);

Json settings_json(const DecompositionSettings& settings);
// REQUIRES: made by settings_json.
DecompositionSettings stored_settings(const Json& settings);

}  // namespace cairn
