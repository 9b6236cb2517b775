// What the benchmark's cases share: a fresh database with the benchmark's graphs, runs, and waiting for their ends.
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/bench/bench.hpp"
#include "ops/bench/server.hpp"
#include "ops/database.hpp"
#include "storage/postgres_connection.hpp"

namespace cairn {

// A schema with one shard and the graphs.
Result<Opened> open_bench(const std::string& dsn);

// New runs of a graph. Throws std::runtime_error.
std::vector<RunId> start_runs(Client& client, const std::string& graph, std::int64_t count, const Json& input);

// Throws std::runtime_error if the runs stand still.
void wait_for_all(FreshDatabase& database, std::int64_t runs);
inline constexpr std::chrono::milliseconds look_pause{20};

// The end of each run at the moment of its commit, told by the database itself.
class Ends {
 public:
  explicit Ends(FreshDatabase& database);
  // Throws std::runtime_error if no run ends for a minute.
  void wait_for_one();

 private:
  PgConnection connection_;
};

// All is prepared: with --hold this waits until somebody says so.
void hold(const BenchOptions& options);

}  // namespace cairn
