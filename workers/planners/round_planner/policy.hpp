// The rules on a round's plan: which sub-goals are proposed to the engine, which are rejected before, and whether
// `done` stands. Preconditions, references, cycles and ids are the engine's to check. Pure functions, safe from any
// thread.
#pragma once

#include <string>
#include <vector>

#include "workers/handlers/handler.hpp"

namespace cairn {

// The planner's view of a round.
struct RoundView {
  const StepInput& input;  // with the plan
  const ToolTable& tools;
  std::int64_t round = 1;
  std::int64_t retries_max = 2;  // of one sub-goal
};

// The sub-goals of a reply as facts: SubGoalOpened, completed by those of the run's data that its tool needs, or
// SubGoalRejected for an unknown tool or a retry that is not due.
struct Proposals {
  std::vector<Fact> facts;
  std::size_t opened = 0;
  Json deliverables = Json::array();  // ids
  Json retries = Json::object();      // {ID: the first sub-goal of its chain of retries}
  std::vector<std::string> reasons;   // one for each rejected here
};
Proposals propose(const RoundView& view, const Json& sub_goals);

// Refuses `invalid`: a synthesis input that names no output of a sub-goal, or none at all.
Status check_synthesis_inputs(const StepInput& input, const Json& synthesis_inputs);

// Refuses `invalid`: deliverables that failed and that no later sub-goal made good.
Status check_deliverables(const StepInput& input, const Json& deliverables);

// {NAME: {"value", "tone"?}}. REQUIRES: check_synthesis_inputs accepts them.
Json resolved_inputs_of(const StepInput& input, const Json& synthesis_inputs);

// The parts that are missing from the answer: failed, skipped or rejected sub-goals that no later one made good, each
// {"id", "worker", "error"}.
Json missing_parts(const StepInput& input, const Json& retries);

// The same for an answer that the planner calls done: a rejected sub-goal is none of them, and a failed one that is no
// deliverable counts only if no deliverable of a later round succeeded.
Json missing_when_done(const StepInput& input, const Json& retries, const Json& deliverables);

}  // namespace cairn
