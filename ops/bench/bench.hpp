// The benchmark: what this machine can do, compared with what its database could do without an engine; and its
// commands. Used from one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/requests/requests.hpp"
#include "ops/terminal/exit_code.hpp"

namespace cairn {

struct CommandLine;

// The names of the cases and of their groups: "scale" is all cases that begin with "scale.".
std::vector<std::string> bench_cases();

struct BenchOptions {
  std::string name;  // "": all cases
  int runs = 0;      // 0: as many as `seconds` allow, or as the case needs
  int seconds = 10;
  int workers = 0;  // processes; 0: as many as the case is about
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

// The commands `bench`, and the hidden ones that it starts: `bench-worker`, a worker process that prints a line when it
// is ready, its progress, and its report when it has stopped; `bench-model`, a model's endpoint on a free port of this
// machine, which prints {"port"} and answers every request the same after some time.
void add_bench(CommandLine& line);
void add_bench_worker(CommandLine& line);
void add_bench_model(CommandLine& line);

}  // namespace cairn
