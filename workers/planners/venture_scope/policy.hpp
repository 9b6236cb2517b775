// The policy on decisions: hard rules in a fixed order that are applied before anything is done, each rewrite on
// record. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "workers/planners/venture_scope/fields.hpp"

namespace cairn {

// A PlannerDecision; `source` is model, rule, fallback or policy.
struct VentureDecision {
  std::string action;  // search, ask_user, reflect, calculate or finish
  std::string target;  // a field's path; "" none
  std::string query;
  std::string question;
  std::string reason;
  std::string source;
  bool operator==(const VentureDecision&) const = default;
};

bool is_venture_action(const std::string& action);
Json decision_json(const VentureDecision& decision);
VentureDecision decision_of(const Json& json);

// A decision to search for a field or to ask for it, whatever its sources and preference.
VentureDecision decision_for(const Venture& venture, const std::string& action, const std::string& path,
                             std::string reason, std::string source);

// The calculation adjustment: finishing without a current success of the calculator becomes calculating while its cap
// allows it, and calculating beyond the cap or without a calculator becomes finishing. Idempotent.
VentureDecision adjusted(const Venture& venture, VentureDecision decision);

struct DecisionRewrite {
  std::string rule;
  int order = 0;  // of the rule in the chain, from 1
  VentureDecision from;
  VentureDecision to;
};

struct EnforcedDecision {
  VentureDecision decision;
  std::vector<DecisionRewrite> rewrites;
  std::vector<std::string> exhausted;  // budgets that forced a rewrite
};

// The chain: requires_components, derived_to_direct, premature_ask, search_cap, ask_cap, calculation. The first may add
// a decomposition to `venture`.
EnforcedDecision enforced(Venture& venture, VentureDecision decision);

}  // namespace cairn
