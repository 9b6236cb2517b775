// The worker processes of the benchmark, as whoever started them sees them. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/bench/rig/handlers.hpp"
#include "ops/terminal/child_process.hpp"

namespace cairn {

// So long may nothing move before the benchmark gives up.
inline constexpr std::chrono::seconds stand_still_max{60};

class WorkerProcesses {
 public:
  // `arguments`: of `cairn bench-worker`, beside the database. Throws std::runtime_error if one does not begin.
  WorkerProcesses(const std::string& dsn, int count, const std::vector<std::string>& arguments = {});
  ~WorkerProcesses();  // kills them
  WorkerProcesses(const WorkerProcesses&) = delete;
  WorkerProcesses& operator=(const WorkerProcesses&) = delete;

  // What they told last; some milliseconds old. Steps and ends of all; the latest times of any.
  Executed executed() const;
  // Until they have ended so many runs; returns when the last was known to be. Throws std::runtime_error if none ends
  // for a minute.
  TimeUs wait_for_ended(std::int64_t runs) const;
  double cpu_seconds() const;
  double peak_memory_mb() const;  // of the largest

  // Drains them. Throws std::runtime_error if one breaks.
  void stop();

 private:
  struct One;
  std::vector<std::unique_ptr<One>> workers_;
};

// Peak resident memory of a process so far.
double peak_memory_mb(pid_t pid);

}  // namespace cairn
