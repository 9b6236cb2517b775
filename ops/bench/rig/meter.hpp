// The meter of a measurement: time, processor time, WAL, commits spent. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/bench/rig/server.hpp"
#include "ops/bench/rig/worker_process.hpp"

namespace cairn {

struct Meter {
  std::chrono::steady_clock::time_point at;
  double client_cpu = 0;
  ServerMeter server;
};
// `workers`: may be null.
Meter read_meter(BenchServer& server, const std::string& database, const WorkerProcesses* workers);

struct Spent {
  std::int64_t steps = 0;
  double seconds = 0;
  double client_cpu = 0;
  std::optional<double> server_cpu;
  double wal_bytes = 0;
  double commits = 0;  // 0: not known
  double worker_memory_mb = 0;

  double rate() const { return static_cast<double>(steps) / seconds; }
  double each(double total) const { return total / static_cast<double>(steps); }
};
Spent between(const Meter& before, const Meter& after, std::int64_t steps);
// The sum of two measurements with another one between them, because a machine's speed may change from one minute to
// the next. `after` alone if `before` is empty.
Spent both(const Spent& before, const Spent& after);

// Per step: processor time of the clients (workers and the process that starts runs), of the server, WAL, commits.
Json per_step(const Spent& spent);

double rounded(double value, double parts);                 // to 1/parts
double quantile(std::vector<double> values, double share);  // REQUIRES: one value at least
double ms_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to);

// {"p50_ms", "p99_ms"} of times in ms.
Json quantiles(const std::vector<double>& times_ms);

}  // namespace cairn
