// Runs of one graph through worker processes, as fast as they go. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "ops/bench/rig/limit.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"

namespace cairn {

struct Traffic {
  std::string graph = "bench_steps";
  int steps_of_run = 10;
  int workers = 2;
  Extent extent;
  std::vector<std::string> worker_arguments = {};
  Json input = Json::object();
};

struct TrafficReport {
  Spent spent;
  std::int64_t runs = 0;
  std::vector<double> rates;  // steps/s of every ten seconds
  Json tables;                // FreshDatabase::tables
};

// Start, claim and finish included: from the first start to the end of the last run. The database has no other runs.
// Throws std::runtime_error if a run does not become done.
TrafficReport measure_traffic(BenchServer& server, FreshDatabase& database, Opened& opened, const Traffic& traffic);

// One run of it, executed to its end: the newest of the database. Throws as measure_traffic.
RunRow one_run(BenchServer& server, FreshDatabase& database, Opened& opened);

// The same stream of runs while it flows, without its end, for `extent.seconds` after five to begin with, in which a
// worker looks once at all that is held; the database may hold others. The workers are drained afterwards.
TrafficReport measure_flow(BenchServer& server, FreshDatabase& database, Opened& opened, const Traffic& traffic);

}  // namespace cairn
