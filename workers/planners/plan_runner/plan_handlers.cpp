// Handlers for graphs that own a plan and let another graph decompose it: plan.create makes the plan, plan.read shows
// it, plan.merge applies the child's result. Optimistic concurrency: if the plan's version has changed since, nothing
// is merged.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "workers/planners/plan_decomposer/outline.hpp"
#include "workers/planners/planners.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

// The run's plan as of this step, named as the channel `plan` names it.
PlanTree own_plan(const StepInput& input) {
  PlanTree plan = plan_seen(input);
  const Json shown = input.data.value("plan", Json::object());
  if (!shown.is_object()) return plan;
  plan.plan_id = shown.value("plan_id", Json());
  if (shown.contains("goal") && shown["goal"].is_string()) plan.goal = shown["goal"].get<std::string>();
  return plan;
}

Outcome shown(const char* label, const PlanTree& plan) { return {label, {{"plan", plan_json(plan)}}, {}}; }

// --- plan.create -----------------------------------------------------------------------------------------------------
StepResult create(const StepInput& input) {
  const Json decompose = input.with.value("auto_on_create", Json(true));
  if (!decompose.is_null() && !decompose.is_boolean())
    return invalid_input("Expected auto_on_create to be true or false, but it is " + excerpt(decompose, 60) + ".");
  if (input.plan_version != 0)
    return failure_of({Code::conflict, "Expected a run without a plan, but it has one of version " +
                                           std::to_string(input.plan_version) + "."});
  const Result<OutlinePlan> given = plan_given(input.with);
  if (!given) return failure_of(given.error());
  Outcome outcome = shown(decompose.is_null() || decompose == true ? "decompose" : "created", given->tree);
  outcome.facts = plan_facts(given->tree);
  return outcome;
}

// --- plan.read -------------------------------------------------------------------------------------------------------
StepResult read(const StepInput& input) { return shown("read", own_plan(input)); }

// --- plan.merge ------------------------------------------------------------------------------------------------------
struct Decomposed {
  std::int64_t base_version = 0;
  std::string mode;
  std::vector<std::string> removed;
  std::vector<std::string> leaves;  // given tasks for which there were no sub-tasks
  std::vector<PlanNode> created;
};

PlanNode node_of(const Json& task) {
  PlanNode node{
      task.at("id"),  "", task.at("name"), task.at("instruction"), task.at("dependencies"), task.at("context"),
      task.at("leaf")};
  if (!task.at("parent_id").is_null()) node.parent = task.at("parent_id").get<std::string>();
  return node;
}

Result<Decomposed> read_decomposition(const Json& output) {
  try {
    const Json& result = output.at("result");
    Decomposed read{output.at("base_version"),
                    result.at("mode"),
                    output.at("removed_nodes"),
                    output.value("leaves", std::vector<std::string>{}),
                    {}};
    for (const Json& task : result.at("created_tasks")) read.created.push_back(node_of(task));
    return read;
  } catch (const Json::exception& fault) {
    return Error{Code::invalid,
                 "Expected the output of plan_decomposer as \"decomposition\", but got " + excerpt(output, 100) + "."};
  }
}

Status check_merge(const PlanTree& plan, const Decomposed& brought) {
  const auto conflict = [](const std::string& sentence) { return Error{Code::conflict, sentence}; };
  std::set<std::string> new_ids;
  for (const PlanNode& node : brought.created) {
    if (plan.find(node.parent) == nullptr && !new_ids.contains(node.parent))
      return conflict("Expected the parent of task " + node.id + " to be in the plan, but there is no task " +
                      node.parent + ".");
    if (plan.find(node.id) != nullptr || !new_ids.insert(node.id).second)
      return conflict("Expected task " + node.id + " to be new, but the plan has it.");
  }
  return Done{};
}

Json removal_of(const PlanTree& before, const PlanTree& after, const std::vector<std::string>& removed) {
  Json changes = Json::array();
  for (const std::string& id : removed) changes.push_back({{"op", "remove"}, {"id", id}});
  for (const PlanNode& node : after.nodes()) {
    if (node.dependencies != before.find(node.id)->dependencies)
      changes.push_back({{"op", "update"}, {"id", node.id}, {"after", node.dependencies}});
  }
  return changes;
}

// Marks the leaves among the tasks that the plan has, those among the created ones as they are created.
void mark_leaves(Decomposed& brought, PlanTree& plan, Json& changes) {
  const std::set<std::string_view> leaves(brought.leaves.begin(), brought.leaves.end());
  for (PlanNode& task : brought.created) task.leaf = task.leaf || leaves.contains(task.id);
  for (const std::string& id : brought.leaves) {
    if (plan.find(id) == nullptr) continue;
    plan.make_leaf(id);
    changes.push_back({{"op", "update"}, {"id", id}, {"context", plan_child(*plan.find(id)).context}});
  }
}

// One task_decomposed for each parent, in the order of their first children.
void add_decompositions(const PlanTree& plan, const Decomposed& brought, std::vector<Fact>& facts) {
  std::map<std::string_view, std::int32_t> depths;
  for (const PlanNode* node : plan.below(""))  // parents first
    depths[node->id] = node->parent.empty() ? 0 : depths.at(node->parent) + 1;
  std::map<std::string_view, std::size_t> places;  // of the parents in `decompositions`
  std::vector<TaskDecomposed> decompositions;
  for (const PlanNode& node : brought.created) {
    const auto [place, is_first] = places.try_emplace(node.parent, decompositions.size());
    if (is_first) decompositions.push_back({node.parent, brought.mode, depths.at(node.parent), {}, {}, 0});
    decompositions[place->second].children.push_back(plan_child(node));
  }
  std::move(decompositions.begin(), decompositions.end(), std::back_inserter(facts));
}

StepResult merge(const StepInput& input) {
  Result<Decomposed> brought = read_decomposition(input.with.value("decomposition", Json()));
  if (!brought) return failure_of(brought.error());
  PlanTree plan = own_plan(input);
  if (brought->base_version != plan.version) return shown("conflict", plan);
  PlanTree left = without(plan, {brought->removed.begin(), brought->removed.end()});
  if (Status fits = check_merge(left, *brought); !fits) return failure_of(fits.error());
  Json changes = removal_of(plan, left, brought->removed);
  mark_leaves(*brought, left, changes);
  if (brought->created.empty() && changes.empty()) return shown("merged", plan);
  std::vector<Fact> facts;
  facts.emplace_back(PlanRevised{plan.version + 1, "decomposition", changes});
  add_tasks(left, brought->created);
  left.version = plan.version + 1;
  add_decompositions(left, *brought, facts);
  Outcome outcome = shown("merged", left);
  outcome.facts = std::move(facts);
  return outcome;
}

}  // namespace

void add_plan_handlers(HandlerTable& table) {
  table.add("plan", {{"create", {"decompose", "created"}, {"plan"}, PureHandler(create), reads_the_plan},
                     {"read", {"read"}, {"plan"}, PureHandler(read), reads_the_plan},
                     {"merge", {"merged", "conflict"}, {"plan"}, PureHandler(merge), reads_the_plan}});
}

}  // namespace cairn
