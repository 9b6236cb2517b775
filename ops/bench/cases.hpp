// The cases of the benchmark, each used from one thread. It measures on databases of its own and tells its line:
// {"value", "unit", "limit", "ratio", ...}. Throws PostgresError, or std::runtime_error if what it started does not
// work.
#pragma once

#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "ops/bench/bench.hpp"
#include "ops/bench/server.hpp"

namespace cairn {

Result<Json> measure_steps(const std::string& dsn, BenchServer& server, const BenchOptions& options);

// Of one run alone on an idle machine.
Result<Json> measure_latency(const std::string& dsn, BenchServer& server, const BenchOptions& options);

}  // namespace cairn
