// The benchmark: what this machine can do, beside what its database could do without an engine. Used from
// one thread.
#pragma once

#include <string>
#include <vector>

#include "ops/commands.hpp"

namespace cairn {

std::vector<std::string> bench_cases();

struct BenchOptions {
  std::string name;  // "": all cases
  int runs = 0;      // 0: as many as `seconds` allow, or as the case needs
  int seconds = 10;
  int workers = 2;
};
Exit bench(const Settings& settings, const BenchOptions& options);

struct BenchWorkerOptions {
  int concurrency = 1'000;
};
// One worker process of it: prints a line when it is ready and its report when it was told to stop.
Exit bench_worker(const Settings& settings, const BenchWorkerOptions& options);

}  // namespace cairn
