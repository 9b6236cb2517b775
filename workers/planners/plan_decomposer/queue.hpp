// The queue of tasks that a run is to break down, as plan_decomposer keeps it in the run's channels: what is asked for
// (`job`), which tasks are let in, and a step's walk along it. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workers/handlers/handler.hpp"
#include "workers/planners/plan_decomposer/settings.hpp"
#include "workers/planners/plan_decomposer/tree.hpp"

namespace cairn::decomposing {

// The number in the channel; 0: there is none.
std::int64_t count(const StepInput& input, const char* name);

// The tasks that a run is to decompose, and its settings, as `load` left them in the channel `job`.
struct Assignment {
  DecompositionSettings settings;
  std::string mode;
  std::string root;          // the given task; "": the whole plan
  bool makes_leaves = true;  // of tasks without sub-tasks; runs that began before there was this do not

  bool is_single() const { return !root.empty(); }
  std::int64_t depth_limit() const;
  bool has_run_scope() const { return settings.stop_scope == "run"; }
};
Json assignment_json(const Assignment& assignment);
Assignment assignment_of(const StepInput& input);

// The run's plan with its id and goal.
PlanTree named_plan(const StepInput& input);

struct Target {
  std::string id;
  std::int64_t depth = 0;
};
Target target_of(const Json& entry);

// Admission to the queue of tasks; tasks that are not to be decomposed are turned away.
struct Entrance {
  const Assignment& assignment;
  Json queue = Json::array();
  std::int64_t depth_limited = 0;

  void let_in(const PlanNode& node, std::int64_t depth, bool has_children);
  void leave(Json& patch);
};

// The queue as a step walks through it: what was there, and what joins it on the way. REQUIRES: plan and assignment
// outlive it.
class Walk {
 public:
  Walk(const StepInput& input, const PlanTree& plan, const Assignment& assignment);

  // The next task to decompose; those that have children already are passed by, and their children join the queue.
  std::optional<Target> to_expand(Outcome& outcome);
  // More tasks of the same depth, right after the last one, at most so many.
  std::vector<Target> more_of_its_level(const Target& first, std::int64_t most, Outcome& outcome);
  bool is_at_end() const { return first_ + taken_ >= queue_.size() + entrance_.queue.size(); }
  void leave(Json& patch);

 private:
  std::optional<Target> ahead() const;
  std::optional<std::int64_t> depth_ahead() const;
  std::optional<Target> take();
  void pass_by(const Target& target, const std::vector<const PlanNode*>& children, Outcome& outcome);

  const PlanTree& plan_;
  const Assignment& assignment_;
  const Json queue_;
  const std::size_t first_;
  std::size_t taken_ = 0;
  std::vector<std::string> skipped_;
  Entrance entrance_;
};

}  // namespace cairn::decomposing
