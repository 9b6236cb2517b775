// What the benchmark's cases share: a fresh database with the benchmark's graphs, runs, and waiting for their ends.
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/bench/bench.hpp"
#include "ops/bench/rig/server.hpp"
#include "ops/bench/rig/worker_process.hpp"
#include "ops/database.hpp"

namespace cairn {

// A schema with one shard and the graphs.
Result<Opened> open_bench(const std::string& dsn);

// New runs of a graph. Throws std::runtime_error.
std::vector<RunId> start_runs(Client& client, const std::string& graph, std::int64_t count, const Json& input);

// Throws std::runtime_error if the runs stand still.
void wait_for_all(FreshDatabase& database, std::int64_t runs);
inline constexpr std::chrono::milliseconds look_pause{20};

// Before a run is measured alone, so that the machine is idle when it starts.
inline constexpr std::chrono::milliseconds idle_pause{25};

// One new run alone: how long it takes from the call that starts it until its end is known to be committed.
double time_of_one(Client& client, const WorkerProcesses& workers, const std::string& graph, const Json& input);

// All is prepared: with --hold this waits until somebody says so.
void hold(const BenchOptions& options);

}  // namespace cairn
