// A stream of runs of one graph through worker processes, as fast as they go. Not thread-safe.
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

// Measures from the first start to the end of the last run. The database has no other runs.
// Throws std::runtime_error if a run does not become done.
TrafficReport measure_traffic(BenchServer& server, FreshDatabase& database, Opened& opened, const Traffic& traffic);

// Executes one run to its end; it is the newest of the database. Throws as measure_traffic.
RunRow one_run(BenchServer& server, FreshDatabase& database, Opened& opened);

// Measures steady traffic for `extent.seconds`, after five seconds in which a worker scans the held jobs once; the
// database may hold other runs. The workers are drained afterwards.
TrafficReport measure_flow(BenchServer& server, FreshDatabase& database, Opened& opened, const Traffic& traffic);

}  // namespace cairn
