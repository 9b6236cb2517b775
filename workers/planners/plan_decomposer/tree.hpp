// A plan as a tree of tasks: read by the decomposer, shown to a model, handed back. Structure alone: a task has neither
// a priority nor a status; the run's events record its progress. Not thread-safe.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/event.hpp"
#include "engine/result.hpp"
#include "workers/handlers/handler.hpp"

namespace cairn {

struct PlanNode {
  std::string id;
  std::string parent;  // "" for a root
  std::string name;
  std::string instruction = {};
  std::vector<std::string> dependencies = {};  // ids of the tasks that must end before this one begins
  Json context = nullptr;                      // {"combined", "sections", "meta"}
  bool leaf = false;                           // not to be decomposed
  bool operator==(const PlanNode&) const = default;
};

class PlanTree {
 public:
  Json plan_id = nullptr;
  std::int64_t version = 1;
  std::string goal;

  // REQUIRES: the id is new, and its parent, if it has one, is in the tree.
  void add(PlanNode node);
  // Marks an id as used, so that it is never given to another task.
  void retire(const std::string& id) { used_.insert(id); }
  void set_dependencies(const std::string& id, std::vector<std::string> dependencies);
  void make_leaf(const std::string& id);

  void drop_unknown_dependencies();
  void clear();  // removes all tasks; their ids stay used

  std::size_t size() const { return nodes_.size(); }
  const PlanNode* find(std::string_view id) const;                   // null if there is none
  const std::vector<PlanNode>& nodes() const { return nodes_; }      // in the order they were added
  std::vector<const PlanNode*> children(std::string_view id) const;  // "": the roots; siblings in their order
  std::vector<const PlanNode*> below(std::string_view id) const;  // the whole subtree without its root, level by level
  std::vector<const PlanNode*> path(std::string_view id) const;   // from the root to the task itself
  std::size_t position(const PlanNode& node) const;               // among its siblings

  // The ids of the next `count` children of a task.
  std::vector<std::string> new_ids(const std::string& parent, std::size_t count) const;

  // Whether the tasks have a topological order: a task begins after its parent has begun and its dependencies have
  // ended, and ends after its children have.
  bool is_ordered() const;

 private:
  std::vector<PlanNode> nodes_;
  std::map<std::string, std::size_t, std::less<>> by_id_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_parent_;
  std::set<std::string> used_;
};

// A dependency that was left out of a plan.
struct DroppedDependency {
  std::string task;
  std::string dependency;
  std::string rule;  // unknown_dependency, cyclic_dependency (the tasks could not be done any more), dependencies_max
  bool operator==(const DroppedDependency&) const = default;
};

inline constexpr std::size_t plan_tasks_max = 10'000;  // in a plan that is given
// Refuses `limit`: more than plan_tasks_max.
Status check_task_count(std::size_t tasks);

// Adds the tasks in their order, and returns the dependencies that were left out. The tasks may depend on one another.
// That costs about as much as there are tasks and dependencies, and more only for those that run in circles together.
// REQUIRES: as for add.
std::vector<DroppedDependency> add_tasks(PlanTree& plan, std::vector<PlanNode> tasks);

// The plan without these tasks and all below them, and without dependencies on them; their ids stay used.
PlanTree without(const PlanTree& plan, const std::set<std::string>& ids);

// The plan as its JSON form has it:
//   {"plan_id"?, "version"?, "goal"?, "roots": [ID], "nodes": {ID: {"name", "parent_id"?, "position"?, "instruction"?,
//    "dependencies"?: [ID], "context"?, "leaf"?}}}
// An id is a text or a whole number, which becomes a text. Refuses `invalid`: an unknown field, a root, parent or
// dependency that is no task, a parent below itself, cyclic dependencies; `limit`: more than 10,000 tasks.
Result<PlanTree> read_plan(const Json& plan);
Json plan_json(const PlanTree& plan);

// {"id", "parent_id", "position", "name", "instruction", "dependencies", "context", "leaf"}
Json node_json(const PlanTree& plan, const PlanNode& node);

// The run's plan as a step that reads it sees it: its structure, without removed tasks and without sub-goals that have
// a tool. The caller fills in plan id and goal.
PlanTree plan_seen(const StepInput& input);

// The task as the run's plan keeps it.
PlanChild plan_child(const PlanNode& node);

// The facts that record the plan: its creation, and the children of each task that has some (mode "given").
std::vector<Fact> plan_facts(const PlanTree& plan);

}  // namespace cairn
