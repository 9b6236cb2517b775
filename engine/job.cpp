#include "engine/job.hpp"

#include "engine/state.hpp"

namespace cairn {
namespace {

Job job_for(const RunState& state, const Step& step, std::string queue, TimeUs run_at) {
  const Node& node = state.node(step);
  return {.branch = step.branch,
          .step = step.id,
          .attempt = step.attempt,
          .queue = std::move(queue),
          .priority = state.options.priority,
          .run_at_us = state.status == RunStatus::paused ? never_us : run_at,
          .timeout_ms = node.timeout_ms};
}

std::optional<Job> job_of_run(const RunState& state) {
  const std::optional<TimeUs> due = due_of_run(state);
  if (!due) return std::nullopt;
  return Job{.branch = whole_run,
             .step = 0,
             .attempt = 1,
             .queue = std::string(timer_queue),
             .priority = state.options.priority,
             .run_at_us = state.status == RunStatus::paused ? never_us : *due,
             .timeout_ms = 0};
}

}  // namespace

std::optional<Job> job_of(const RunState& state, BranchId branch) {
  if (is_ended(state.status)) return std::nullopt;
  if (branch == whole_run) return job_of_run(state);
  const auto found = state.branches.find(branch);
  if (found == state.branches.end() || found->second.step == 0) return std::nullopt;
  const Step& step = state.steps.at(found->second.step);
  if (step.goal >= 0) return job_for(state, step, goal_of(state, step).queue, step.run_at);
  if (const auto* work = work_of(state, step)) return job_for(state, step, work->queue, step.run_at);
  if (step.due) return job_for(state, step, std::string(timer_queue), *step.due);
  return std::nullopt;
}

std::vector<Job> jobs_of(const RunState& state) {
  std::vector<Job> jobs;
  if (auto job = job_of(state, whole_run)) jobs.push_back(*std::move(job));
  for (const auto& [id, branch] : state.branches)
    if (auto job = job_of(state, id)) jobs.push_back(*std::move(job));
  return jobs;
}

}  // namespace cairn
