// What the benchmark's cases share: a fresh database with the graph of no-op steps, worker processes, meters.
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/bench/server.hpp"
#include "ops/child_process.hpp"
#include "ops/database.hpp"

namespace cairn {

inline constexpr int bench_steps = 10;  // of each run of the graph bench_steps, one after another

// The handlers of the benchmark beside the built-in ones.
Result<std::unique_ptr<Catalogue>> bench_catalogue();

// A schema with one shard and the graph.
Result<Opened> open_bench(const std::string& dsn);

// Throws std::runtime_error if a process does not begin, or breaks.
std::vector<ChildProcess> start_workers(const std::string& dsn, int count);
void stop_workers(std::vector<ChildProcess>& workers);

// New runs of the graph. Throws std::runtime_error.
std::vector<RunId> start_runs(Client& client, std::int64_t count);

// Throws std::runtime_error if the runs stand still.
void wait_for_all(Store& store);
std::int64_t jobs_left(Store& store);
inline constexpr std::chrono::milliseconds look_pause{50};  // a look at the queue reads all of it

struct Meter {
  std::chrono::steady_clock::time_point at;
  double client_cpu = 0;
  ServerMeter server;
};
Meter read_meter(BenchServer& server, const std::string& database, const std::vector<ChildProcess>& workers);

struct Spent {
  std::int64_t steps = 0;
  double seconds = 0;
  double client_cpu = 0;
  std::optional<double> server_cpu;
  double wal_bytes = 0;
  double commits = 0;

  double rate() const { return static_cast<double>(steps) / seconds; }
  double each(double total) const { return total / static_cast<double>(steps); }
};
Spent between(const Meter& before, const Meter& after, std::int64_t steps);

double rounded(double value, double parts);  // to 1/parts

}  // namespace cairn
