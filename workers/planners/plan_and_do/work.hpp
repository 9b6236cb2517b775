// A plan as it is being done: which of its tasks are done, which can be done next, which are in trouble, and a summary
// for prompts and reports. It is derived from the run's plan and channels alone.
//
// A task without sub-tasks is a leaf. A leaf is done by one call of a tool (a sub-goal "TASK!N" below it, N = 1, 2,
// ...) or by a person, or was done before (its context says {"meta": {"done": true}}); any other task is done when all
// of its sub-tasks are. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "workers/planners/plan_decomposer/tree.hpp"

namespace cairn {

// A leaf that failed, or that no tool fits, and that nothing has been done about since.
struct Trouble {
  std::string task;
  std::string reason;       // one sentence
  bool is_unbound = false;  // no tool fits it; else its call failed
};

class Doing {
 public:
  // Reads the plan and the channels goal, plan_id, by_hand, given_up and unbound.
  explicit Doing(const StepInput& input);

  const PlanTree& plan() const { return plan_; }
  bool is_leaf(const std::string& task) const { return plan_.children(task).empty(); }
  bool is_done(const std::string& task) const { return done_.contains(task); }
  bool is_all_done() const;   // false for an empty plan
  bool is_some_done() const;  // at least one leaf

  // Leaves that are neither done nor in trouble, and all that they come after, they or what they are part of, is done.
  std::vector<const PlanNode*> ready() const;
  std::vector<Trouble> troubles() const;
  void give_up(const std::string& task, std::string reason) { given_up_[task] = std::move(reason); }

  std::int64_t depth(const std::string& task) const { return static_cast<std::int64_t>(plan_.path(task).size()) - 1; }
  // The id of the next call for a leaf.
  std::string new_call(const std::string& task) const;
  // The results of a leaf that is done, an object; null for any other task.
  Json outputs(const std::string& task) const;
  // The sub-goal that brought a done leaf about; "": a person did it.
  std::string call_of(const std::string& task) const;

  // {"verified_state": {TASK: results}, "done": [{"id", "name", "tool"}], "failed": [{"id", "name", "tool"?, "inputs"?,
  // "reason", "attempts"?}], "left_out"?: n}, at most about `bytes_max`: failures first, then the newest results. A
  // result that is too long is {"from_task", "bytes", "slots", "begins"}. Null if nothing is done and nothing failed.
  Json progress(std::size_t bytes_max) const;

  // The leaves as a report lists them: {"id", "name", "status": done|failed|blocked, "tool"?, "inputs"?, "outputs"?,
  // "by"?, "reason"?}.
  Json tasks_json() const;
  std::vector<std::string> failed() const;  // ids of the leaves that were given up

  // The changes that bring the status of the tasks in the run's plan up to date; empty if they are.
  Json status_changes() const;

 private:
  struct Calls {
    std::size_t count = 0;                 // rejected ones included
    const GoalView* last = nullptr;        // that was admitted
    std::optional<std::string> rejection;  // of the last one
  };
  std::optional<std::string> failure_of_call(const std::string& task) const;
  bool is_leaf_done(const std::string& leaf) const;
  bool is_waiting(const PlanNode& leaf) const;
  Json task_json(const PlanNode& leaf) const;
  Json failure_json(const PlanNode& leaf, const std::string& reason) const;
  std::set<std::string> given_up_or_above() const;

  PlanTree plan_;
  std::map<std::string, Calls> calls_;  // by task
  std::set<std::string> done_;
  std::map<std::string, GoalStatus> status_;     // as the run's plan has them
  std::map<std::string, Json> by_hand_;          // results that a person gave
  std::map<std::string, std::string> given_up_;  // reasons
  std::map<std::string, std::string> unbound_;   // reasons
};

// The value, or if its text has more bytes the form of it that progress has.
Json shown_result(const std::string& task, const Json& outputs, std::size_t bytes_max);

}  // namespace cairn
