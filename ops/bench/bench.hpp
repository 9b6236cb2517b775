// The benchmark: what this machine can do, beside what its database could do without an engine. Used from
// one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/commands.hpp"

namespace cairn {

// Of the cases, and of their groups: "scale" is all that begin with "scale.".
std::vector<std::string> bench_cases();

struct BenchOptions {
  std::string name;  // "": all cases
  int runs = 0;      // 0: as many as `seconds` allow, or as the case needs
  int seconds = 10;
  int workers = 0;  // processes; 0: what the case is about
  std::vector<std::int64_t> waiting = {10'000, 1'000'000};
  std::int64_t finished = 1'000'000;  // runs
  std::int64_t events = 1'000'000;    // folded, and of the long runs
  int snapshot_seconds = 60;
  int sustained_seconds = 120;
  std::vector<std::string> instances;  // files of workflow instances
  std::string arrivals;                // a file of arrivals
  bool hold = false;                   // wait for a line on stdin when all is prepared
  std::string report;                  // measure nothing: print the results in this file as a document
};
Exit bench(const Settings& settings, const BenchOptions& options);

// The lines of `cairn bench --json` in a file, as Markdown. Refuses `invalid`, `not_found`.
Exit bench_report(const std::string& path);

struct BenchWorkerOptions {
  int concurrency = 1'000;
  int fuse_steps = 32;
  std::string model_url;
};
// One worker process of it: prints a line when it is ready, how far it is, and its report when it was told to stop.
Exit bench_worker(const Settings& settings, const BenchWorkerOptions& options);

}  // namespace cairn
