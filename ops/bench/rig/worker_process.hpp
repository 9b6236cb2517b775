// The worker processes of the benchmark, seen from the process that started them. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/bench/rig/handlers.hpp"
#include "ops/bench/rig/server.hpp"
#include "ops/terminal/child_process.hpp"

namespace cairn {

// The time without progress after which the benchmark gives up.
inline constexpr std::chrono::seconds stand_still_max{60};

class WorkerProcesses {
 public:
  // `arguments`: of `cairn bench-worker`, in addition to the database. Throws std::runtime_error if one does not start.
  WorkerProcesses(const FreshDatabase& database, int count, const std::vector<std::string>& arguments = {});
  ~WorkerProcesses();  // ends them
  WorkerProcesses(const WorkerProcesses&) = delete;
  WorkerProcesses& operator=(const WorkerProcesses&) = delete;

  // Their latest reports, some milliseconds old: the sums of steps and ends, the latest times.
  Executed executed() const;
  // Waits until they have ended this many runs; returns the time of the last end. Throws std::runtime_error after a
  // minute without an end.
  TimeUs wait_for_ended(std::int64_t runs) const;
  std::vector<pid_t> pids() const;
  double cpu_seconds() const;
  double peak_memory_mb() const;  // of the largest

  void kill();  // at once (SIGKILL): what they hold stays theirs
  // Drains them. Throws std::runtime_error if one breaks.
  void stop();

 private:
  struct One;
  std::vector<std::unique_ptr<One>> workers_;
};

// Peak resident memory of a process so far.
double peak_memory_mb(pid_t pid);

}  // namespace cairn
