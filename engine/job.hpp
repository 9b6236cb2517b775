// The job of a branch: its entry in the queue, derived from the folded state alone, so that the queue can always be
// rebuilt. Plain values and pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/id.hpp"

namespace cairn {

inline constexpr std::string_view timer_queue = "cairn.timer";

struct Job {
  BranchId branch = 0;
  StepId step = 0;
  std::int32_t attempt = 1;
  std::string queue;
  std::int32_t priority = 0;
  TimeUs run_at_us = 0;         // not before; `never_us` while the run is paused
  std::int64_t timeout_ms = 0;  // for one attempt; 0: the worker's default
  bool operator==(const Job&) const = default;
};

struct RunState;

// The job of one branch, or none (a forked branch, an open map, a call, an untimed wait or ask, an ended run); of
// `whole_run` the one that ends it when its time is over.
std::optional<Job> job_of(const RunState& state, BranchId branch);

// The jobs of all branches, in branch order: for rebuild and for tests.
std::vector<Job> jobs_of(const RunState& state);

}  // namespace cairn
