#include "workers/planners/plan_and_do/review.hpp"

#include <set>
#include <utility>

namespace cairn {
namespace {

Error refused_edit(std::string sentence) { return {Code::invalid, std::move(sentence)}; }

// The form of a task that a change of the plan is about.
Json change_of(const PlanNode& task, const char* op) {
  return {{"op", op},
          {"id", task.id},
          {"title", task.name},
          {"parent", task.parent},
          {"after", task.dependencies},
          {"context", plan_child(task).context}};
}

Json removals(const PlanTree& plan, const PlanTree& edited) {
  Json changes = Json::array();
  for (const PlanNode& task : plan.nodes()) {
    if (edited.find(task.id) == nullptr) changes.push_back({{"op", "remove"}, {"id", task.id}});
  }
  return changes;
}

}  // namespace

Json review_prompt(const PlanTree& plan, const std::string& fault) {
  Json prompt = {{"plan", plan_json(plan)},
                 {"answer",
                  "\"run\", \"stop\", or {\"plan\": the plan as it shall be: tasks may be changed, moved, added "
                  "under new ids and left out}"}};
  if (!fault.empty()) prompt["fault"] = fault;
  return prompt;
}

Result<Json> edit_of(const PlanTree& plan, const StepInput& input, const Json& edited) {
  const Result<PlanTree> read = read_plan(edited);
  if (!read) return read.error();
  if (edited.contains("version") && read->version != plan.version)
    return refused_edit("Expected an edit of version " + std::to_string(plan.version) +
                        " of the plan, but it is of version " + std::to_string(read->version) + ".");
  if ((edited.contains("goal") && read->goal != plan.goal) ||
      (edited.contains("plan_id") && read->plan_id != plan.plan_id))
    return refused_edit("Expected the goal and the plan_id to stay as they are, but one of them is another.");
  if (read->size() == 0) return refused_edit("Expected the plan to keep a task, but it has none.");
  std::set<std::string> used;
  for (const GoalView& goal : input.plan) used.insert(goal.id);
  Json changes = removals(plan, *read);
  for (const PlanNode& task : read->nodes()) {
    const PlanNode* before = plan.find(task.id);
    if (before == nullptr && used.contains(task.id))
      return refused_edit("Expected a new id for task " + task.id + ", but a task that was removed had it.");
    if (before == nullptr)
      changes.push_back(change_of(task, "add"));
    else if (*before != task)
      changes.push_back(change_of(task, "update"));
  }
  return changes;
}

}  // namespace cairn
