#include "workers/planners/venture_scope/policy.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "workers/handlers/step_fields.hpp"

namespace cairn {
namespace {

constexpr std::array<const char*, 5> actions = {"search", "ask_user", "reflect", "calculate", "finish"};

bool is_direct(const VentureDecision& decision) {
  return !decision.target.empty() && (decision.action == "search" || decision.action == "ask_user");
}

// One decision on its way through the chain.
struct Passage {
  Venture& venture;
  EnforcedDecision result;

  VentureDecision& decision() { return result.decision; }
  void exhaust(const char* budget) { result.exhausted.emplace_back(budget); }
  void turn_into(const char* action, const char* reason) {
    decision() = decision_for(venture, action, decision().target, reason, "policy");
  }
};

void decompose_required(Passage& pass) {
  const std::string& target = pass.decision().target;
  if (is_direct(pass.decision()) && field_of(pass.venture, target).value("requires_components", false))
    decompose(pass.venture, target);
}

// A derived field is not searched for; its first missing component is. If none does, it only has to be
// calculated.
void redirect_derived(Passage& pass) {
  VentureDecision& decision = pass.decision();
  if (!is_direct(decision) || !pass.venture.recipes.contains(decision.target)) return;
  std::string missing = first_missing_component(pass.venture, decision.target);
  while (!missing.empty() && field_of(pass.venture, missing).value("requires_components", false) &&
         decompose(pass.venture, missing))
    missing = first_missing_component(pass.venture, decision.target);
  const std::string reason = decision.reason;
  if (missing.empty()) {
    decision = decision_for(pass.venture, "calculate", decision.target, reason, "policy");
    return;
  }
  const Json& field = field_of(pass.venture, missing);
  const bool may_stay = decision.action == "search" ? may_search(field) : may_ask(field);
  const std::string action = may_stay ? decision.action : may_search(field) ? "search" : "ask_user";
  decision = decision_for(pass.venture, action, missing, reason, "policy");
}

void redirect_premature_ask(Passage& pass) {
  const VentureDecision& decision = pass.decision();
  const bool is_premature = decision.action == "ask_user" && prefers_search(field_of(pass.venture, decision.target)) &&
                            tried(pass.venture, decision.target, "searched") == 0;
  if (is_premature) pass.turn_into("search", decision.reason.c_str());
}

void keep_search_cap(Passage& pass) {
  if (pass.decision().action != "search" || !is_used_up(pass.venture, "search")) return;
  pass.exhaust("search");
  pass.turn_into(may_ask(field_of(pass.venture, pass.decision().target)) ? "ask_user" : "reflect", "search_cap");
}

void keep_ask_cap(Passage& pass) {
  if (pass.decision().action != "ask_user" || !is_used_up(pass.venture, "ask")) return;
  pass.exhaust("ask");
  pass.turn_into("finish", "ask_cap");
}

void adjust_calculation(Passage& pass) {
  const bool is_calculating = pass.decision().action == "calculate" || pass.decision().action == "finish";
  if (is_calculating && is_calculator_backed(pass.venture) && !has_current_success(pass.venture) &&
      is_used_up(pass.venture, "calc"))
    pass.exhaust("calc");
  pass.decision() = adjusted(pass.venture, pass.decision());
}

struct PolicyRule {
  const char* name;
  void (*apply)(Passage& pass);
};

constexpr std::array<PolicyRule, 6> chain = {{{"requires_components", decompose_required},
                                              {"derived_to_direct", redirect_derived},
                                              {"premature_ask", redirect_premature_ask},
                                              {"search_cap", keep_search_cap},
                                              {"ask_cap", keep_ask_cap},
                                              {"calculation", adjust_calculation}}};

}  // namespace

bool is_venture_action(const std::string& action) {
  return std::find(actions.begin(), actions.end(), action) != actions.end();
}

Json decision_json(const VentureDecision& decision) {
  return {{"action", decision.action},     {"target_path", decision.target}, {"query", decision.query},
          {"question", decision.question}, {"reason", decision.reason},      {"source", decision.source}};
}

VentureDecision decision_of(const Json& json) {
  if (!json.is_object()) return {};
  return {text_of(json, "action"),   text_of(json, "target_path"), text_of(json, "query"),
          text_of(json, "question"), text_of(json, "reason"),      text_of(json, "source")};
}

VentureDecision decision_for(const Venture& venture, const std::string& action, const std::string& path,
                             std::string reason, std::string source) {
  VentureDecision decision{action, path, "", "", std::move(reason), std::move(source)};
  if (action == "search") decision.query = text_of_field(venture, path, "query");
  if (action == "ask_user") decision.question = text_of_field(venture, path, "question");
  return decision;
}

VentureDecision adjusted(const Venture& venture, VentureDecision decision) {
  const bool may_calculate = is_calculator_backed(venture) && !is_used_up(venture, "calc");
  if (decision.action == "finish" && may_calculate && !has_current_success(venture)) decision.action = "calculate";
  if (decision.action == "calculate" && !may_calculate) decision.action = "finish";
  return decision;
}

EnforcedDecision enforced(Venture& venture, VentureDecision decision) {
  Passage pass{venture, {std::move(decision), {}, {}}};
  for (std::size_t place = 0; place < chain.size(); ++place) {
    const VentureDecision before = pass.decision();
    chain[place].apply(pass);
    if (pass.decision() == before) continue;
    pass.decision().source = "policy";
    pass.result.rewrites.push_back({chain[place].name, static_cast<int>(place) + 1, before, pass.decision()});
  }
  return std::move(pass.result);
}

}  // namespace cairn
