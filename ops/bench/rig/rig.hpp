// The fixture of the benchmark's cases: a fresh database with the benchmark's graphs, new runs, and waiting for their
// ends. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/bench/rig/server.hpp"
#include "ops/bench/rig/worker_process.hpp"
#include "ops/service/database.hpp"

namespace cairn {

// Opens the database after creating the schema with one shard and the graphs.
Result<Opened> open_bench(const FreshDatabase& database);

// New runs of a graph. Throws std::runtime_error.
std::vector<RunId> start_runs(Client& client, const std::string& graph, std::int64_t count, const Json& input);

std::vector<RunId> start_runs(Client& client, const std::string& graph, const std::vector<Json>& inputs);

// Throws std::runtime_error if the runs stand still.
void wait_for_all(FreshDatabase& database, std::int64_t runs);
inline constexpr std::chrono::milliseconds poll_pause{20};

// Throws std::runtime_error if it is not so within a minute. `what`: a clause, as "all followers to have an event".
void wait_until(const std::string& what, const std::function<bool()>& is_so);

// Before a run is measured alone, so that the machine is idle when it starts.
inline constexpr std::chrono::milliseconds idle_pause{25};

// The time of one new run alone, from the call that starts it until its end is known to be committed.
double time_of_one(Client& client, const WorkerProcesses& workers, const std::string& graph, const Json& input);

// With --hold: waits for a line on stdin before the measurement begins.
void hold_if(bool wanted);

}  // namespace cairn
