#include "engine/outcome_check.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/bounds.hpp"
#include "engine/decide.hpp"
#include "engine/expectations.hpp"

namespace cairn {
namespace {

bool touches_reduced(const Graph& graph, const Json& patch) {
  return std::any_of(graph.channels.begin(), graph.channels.end(), [&](const auto& channel) {
    return channel.second != Reducer::last && patch.contains(channel.first);
  });
}

// An item's label is not routed; its branch ends with it, and so would what it planned.
Status check_item(const Outcome& outcome) {
  if (outcome.label == "error" || outcome.label == "exhausted")
    return refusal(Code::invalid,
                   "Expected an item to leave by a label of its handler, but it left by " + outcome.label + ".");
  const auto is_record = [](const Fact& fact) { return std::holds_alternative<Record>(fact); };
  if (std::all_of(outcome.facts.begin(), outcome.facts.end(), is_record)) return Done{};
  return refusal(Code::invalid, "Expected an item of a map to leave records alone, but its handler planned.");
}

// A revision is made for the plan as it was read (optimistic concurrency): after another revision it would change a
// plan that it never saw.
Status check_revisions(const RunState& state, const std::vector<Fact>& facts) {
  std::int64_t version = state.plan_version;
  for (const Fact& fact : facts) {
    if (const auto* created = std::get_if<PlanCreated>(&fact)) version = created->version;
    const auto* revised = std::get_if<PlanRevised>(&fact);
    if (revised == nullptr) continue;
    if (revised->version != version + 1)
      return refusal(Code::invalid, "Expected version " + std::to_string(version + 1) +
                                        " of the plan, but the handler left version " +
                                        std::to_string(revised->version) + ".");
    version = revised->version;
  }
  return Done{};
}

// A handler may report a budget of the graph as used up only when the counts say so.
Status check_budgets(const RunState& state, const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    const auto* exhausted = std::get_if<BudgetExhausted>(&fact);
    if (exhausted == nullptr) continue;
    const auto use = state.budgets.find(exhausted->name);
    if (use != state.budgets.end() && use->second.used < use->second.cap)
      return refusal(Code::invalid, "Expected budget " + exhausted->name + " to be used up, but " +
                                        std::to_string(use->second.used) + " of " + std::to_string(use->second.cap) +
                                        " are used.");
  }
  return Done{};
}

}  // namespace

Status check_reuse(const RunState& state, const Step& step, const CompleteStep& complete) {
  if (complete.cached_from == 0) return Done{};
  const Outcome& outcome = complete.outcome;
  const bool may = step.goal < 0 && state.node(step).cache && outcome.facts.empty();
  const CachedOutcome* recorded = may ? find_cached(state, step.branch, outcome.cache_key) : nullptr;
  if (recorded != nullptr && recorded->step == complete.cached_from && recorded->label == outcome.label &&
      parse_stored(recorded->patch) == outcome.patch)
    return Done{};
  return refusal(Code::conflict, "Expected step " + std::to_string(step.id) + " of " + name_of(state) +
                                     " to use an outcome recorded for it, but step " +
                                     std::to_string(complete.cached_from) + " recorded no such one.");
}

Status check_outcome(const RunState& state, const Step& step, const Outcome& outcome) {
  if (outcome.facts.size() > facts_max)
    return refusal(Code::limit, "Expected at most " + std::to_string(facts_max) + " facts, but found " +
                                    std::to_string(outcome.facts.size()) + ".");
  if (!outcome.patch.is_object())
    return refusal(Code::invalid, "Expected an object, but the handler left " + excerpt(outcome.patch, 60) + ".");
  if (Status fits = check_value(outcome.patch, "what the handler left"); !fits) return fits;
  if (Status fits = check_facts(outcome.facts); !fits) return fits;
  if (step.goal >= 0) return Done{};
  if (step.item >= 0) return check_item(outcome);
  if (Status fits = check_revisions(state, outcome.facts); !fits) return fits;
  if (Status fits = check_budgets(state, outcome.facts); !fits) return fits;
  const Node& node = state.node(step);
  if (outcome.label == "error" || outcome.label == "exhausted" || node.on.find(outcome.label) == node.on.end())
    return refusal(Code::invalid, "Expected node " + node.name +
                                      " to leave by one of its labels, but the handler left by " +
                                      recordable(outcome.label, name_bytes_max) + ".");
  // Composing channels costs time; a patch of plain channels always fits.
  if (!touches_reduced(*state.graph, outcome.patch)) return Done{};
  // Only whether a sum fits depends on the value before. To read the others would cost as much as they hold, each time.
  Json before = Json::object();
  for (const auto& [channel, value] : outcome.patch.items())
    if (state.graph->reducer(channel) == Reducer::sum) before[channel] = read_channel(state, step.branch, channel);
  return check_patch(before, outcome.patch, *state.graph);
}

}  // namespace cairn
