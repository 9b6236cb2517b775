#include "workers/rule_book.hpp"

#include "workers/handlers/model_extract.hpp"
#include "workers/planners/page_agent/rules.hpp"
#include "workers/planners/plan_and_do/rules.hpp"
#include "workers/planners/plan_decomposer/rules.hpp"
#include "workers/planners/round_planner/rules.hpp"
#include "workers/planners/seven_node/rules.hpp"
#include "workers/planners/venture_scope/rules.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

// A planner's rules, and whether a prompt is theirs to answer.
struct PlannerRules {
  bool (*know)(const ModelRequest& request);
  ModelAnswer (*answer)(const ModelRequest& request);
};

constexpr PlannerRules rules_of_planners[] = {
    {is_extract_prompt, answer_extract_prompt}, {is_seven_node_prompt, answer_seven_node_prompt},
    {is_venture_prompt, answer_venture_prompt}, {is_decomposition_prompt, answer_decomposition_prompt},
    {is_binding_prompt, answer_binding_prompt}, {is_page_prompt, answer_page_prompt},
    {is_round_prompt, answer_round_prompt}};

}  // namespace

ModelAnswer answer_by_rules(const ModelRequest& request) {
  for (const PlannerRules& rules : rules_of_planners)
    if (rules.know(request)) return rules.answer(request);
  return failure("refused",
                 "Expected a language model to answer node " + request.node +
                     ", but none is configured and the rule book does not know such prompts.",
                 false);
}

}  // namespace cairn
