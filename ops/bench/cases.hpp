// The cases of the benchmark, each used from one thread. A case measures on databases of its own and returns its line
// of results: {"value", "unit", "limit", "ratio", ...}. It throws PostgresError, or std::runtime_error if a process
// that it started fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "ops/bench/rig/server.hpp"

namespace cairn {

struct BenchOptions {
  std::string name;  // "": all cases
  int runs = 0;      // 0: as many as `seconds` allow, or as the case needs
  int seconds = 10;
  int workers = 0;  // processes; 0: as many as the case is about
  std::vector<std::int64_t> waiting = {10'000, 1'000'000};
  std::int64_t finished = 1'000'000;  // runs
  std::int64_t events = 1'000'000;    // folded, and of the long runs
  std::vector<std::int64_t> width = {3'000, 9'000};
  int snapshot_seconds = 60;
  int sustained_seconds = 120;
  int soak_seconds = 60;
  int idle = 1'000;                    // workers over HTTP that wait
  int followers = 2'000;               // of runs, over HTTP
  std::vector<std::string> instances;  // files of workflow instances
  std::string arrivals;                // a file of arrivals
  bool hold = false;                   // wait for a line on stdin when all is prepared
  std::string report;                  // measure nothing: print the results in this file as a document
};

// Durable steps with 1, 2 and 4 worker processes; the value is the best of them.
Result<Json> measure_steps(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// Durable steps of a queue whose limit does not bind, in turns with none.
Result<Json> measure_queue_limits(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// The most that rates and concurrencies of a queue and of its keys let through while workers are killed.
Result<Json> measure_exactness(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// How long steps of 10,000 keys wait of which one floods, compared with the same without it.
Result<Json> measure_queue_keys(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// Pure steps, fused. Throws if they leave another history than the same steps one by one.
Result<Json> measure_pure(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// The latency of one run alone on an idle machine.
Result<Json> measure_latency(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// Fan-out and join of one run alone, 100 and 10,000 wide.
Result<Json> measure_fan_out(const std::string& dsn, BenchServer& server, const BenchOptions& options);

Result<Json> measure_start(const std::string& dsn, BenchServer& server, const BenchOptions& options);
Result<Json> measure_fold(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// Steady traffic compared with the same on empty tables: with jobs waiting, with finished runs in the tables, with an
// old snapshot held open; for long, with vacuum and checkpoints; a run of very many events compared with new ones; very
// many runs in one worker.
Result<Json> measure_waiting(const std::string& dsn, BenchServer& server, const BenchOptions& options);
Result<Json> measure_finished(const std::string& dsn, BenchServer& server, const BenchOptions& options);
Result<Json> measure_old_snapshot(const std::string& dsn, BenchServer& server, const BenchOptions& options);
Result<Json> measure_sustained(const std::string& dsn, BenchServer& server, const BenchOptions& options);
Result<Json> measure_long_run(const std::string& dsn, BenchServer& server, const BenchOptions& options);
// A loop whose steps each add 1 KB to a list, in turns with one whose steps replace as much.
Result<Json> measure_appends(const std::string& dsn, BenchServer& server, const BenchOptions& options);
Result<Json> measure_in_flight(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// Claims, commits, lists of runs and states as of a moment with very many runs in the tables and with a hundredth.
Result<Json> measure_growth(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// A schema of the first release with runs in it, migrated while programs of that release write.
Result<Json> measure_migrate(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// Steps of a shard on its node of a Citus cluster, in turns with those of a plain database; left out without Citus.
Result<Json> measure_cluster(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// The cost of idle and busy sessions to the server, as their number grows.
Result<Json> measure_pools(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// How late runs of 10,000 schedules start.
Result<Json> measure_schedules(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// All that a worker held when it was killed, taken over by others.
Result<Json> measure_takeover(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// One run of very many sub-goals that take 20 to 80 ms, on 1, 2, 4 and 8 processes with as many slots together.
Result<Json> measure_wide(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// Steps of workers over HTTP, alone and next to idle ones.
Result<Json> measure_claims(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// Followers, small reads and starts of one `cairn serve`, all at once.
Result<Json> measure_http(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// Samples of what lasting processes and the database hold in a steady load, with schedules and workers that are killed.
Result<Json> measure_soak(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// Events that a consumer of the feed gets, and its cost for those who commit.
Result<Json> measure_feed(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// verify, replay and export of everything that is kept; as-of reads of one long run.
Result<Json> measure_audit(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// Thousands of steps that wait for a model.
Result<Json> measure_model_load(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// The files that the options name: workflows as plans, alone on an idle machine; arrivals at 50 times their pace.
Result<Json> measure_instances(const std::string& dsn, BenchServer& server, const BenchOptions& options);
Result<Json> measure_arrivals(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// The planner whose own handlers cost most.
Result<Json> measure_planners(const std::string& dsn, BenchServer& server, const BenchOptions& options);

}  // namespace cairn
