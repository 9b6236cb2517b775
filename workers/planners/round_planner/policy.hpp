// What becomes of a round's plan: which of its sub-goals are proposed to the engine, which are rejected before, and
// whether `done` may stand. The engine itself checks preconditions, references, cycles and ids. Pure functions, safe
// from any thread.
#pragma once

#include <string>
#include <vector>

#include "workers/handlers/handler.hpp"

namespace cairn {

// What the planner may go by.
struct RoundView {
  const StepInput& input;  // with the plan
  const ToolTable& tools;
  std::int64_t round = 1;
  std::int64_t retries_max = 2;  // of one sub-goal
};

// The sub-goals of a reply as facts: SubGoalOpened with what its tool needs of the run's data filled in, or
// SubGoalRejected for a tool that is none of the registry's or a retry that is not due.
struct Proposals {
  std::vector<Fact> facts;
  std::size_t opened = 0;
  Json deliverables = Json::array();  // ids
  Json retries = Json::object();      // {ID: the sub-goal that it tries again in the end}
  std::vector<std::string> reasons;   // of those rejected here
};
Proposals propose(const RoundView& view, const Json& sub_goals);

// Refuses `invalid`: a synthesis input that names no output of a sub-goal, or none at all.
Status check_synthesis_inputs(const StepInput& input, const Json& synthesis_inputs);

// Refuses `invalid`: deliverables that failed and that no later sub-goal made good.
Status check_deliverables(const StepInput& input, const Json& deliverables);

// {NAME: {"value", "tone"?}}. REQUIRES: check_synthesis_inputs accepts them.
Json resolved_inputs_of(const StepInput& input, const Json& synthesis_inputs);

// What was wanted and did not come about: failed, skipped or rejected sub-goals that no later one made good, each
// {"id", "worker", "error"}.
Json missing_parts(const StepInput& input, const Json& retries);

}  // namespace cairn
