// The prompts of page_agent: the request of each model call and the schema of its reply. The rules (rules.hpp) read the
// same prompts. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workers/handlers/handler.hpp"
#include "workers/handlers/model_call.hpp"

namespace cairn::page_agent {

// The asking node.
enum class Role : std::uint8_t {
  context_analysis,
  planning,
  decompose_plan,
  step_refinement,
  action_generation,
  verification,
  replanning,
  correction,
  extraction
};

inline constexpr std::string_view schema_prefix = "page_agent_";

// The first sentence of planning and step_refinement after an action that succeeded without completing the task.
inline constexpr std::string_view plan_the_rest =
    "Previous action succeeded; the full user goal is not yet achieved. Create or adjust the plan for the remaining "
    "steps.";
inline constexpr std::string_view next_step =
    "Previous action succeeded; the full user goal is not yet achieved. Continue with the next step.";

// That sentence for a role; "" unless `verification`, the last verdict, has action_succeeded true and task_completed
// false.
std::string_view continuation(Role role, const Json& verification);

// The executed actions as a prompt shows them, from `first` on: the last `window` in full, the earlier ones as "N
// earlier steps completed.".
struct Recent {
  std::string summary;
  Json actions = Json::array();
};
Recent recent_actions(const Json& actions, std::size_t first, std::size_t window);

// The verbs that this run's page can take (workers/tools/page/action.hpp): a client's are those that it names in the
// channel `client_actions`, by default click and setValue; a browser's are all. setSecret only with `secrets`.
std::vector<std::string> verbs_for(const StepInput& input);

// A setting of the node; `otherwise` if it has none of that type.
Json setting(const StepInput& input, const char* name, Json otherwise);

// The request of one call. Its last message begins with the sentence of `continuation` and the summary, if there are
// any, and holds the data as one JSON object in its last line. A page's DOM is cut to the part that matters to the rest
// of the data, at most `dom_bytes_max` (workers/tools/page/relevance.hpp).
inline constexpr std::size_t dom_bytes_max = 24 * 1024;
ModelRequest request_of(const StepInput& input, Role role, Json data, const std::string& summary = "");

// The data of such a message; null if it holds none.
Json data_of_prompt(const Json& messages);

}  // namespace cairn::page_agent
