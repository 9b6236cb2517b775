// The baseline of the database without an engine: Cairn's own statements and rows (start, claim, commit with fences,
// finish) driven by a loop over prepared bytes. Blocks until done; not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/store.hpp"

namespace cairn {

// A recorded run: its events, grouped by commit (the start, each step, the last one with the end).
struct CannedRun {
  RunRow row;
  std::vector<std::vector<EventRow>> commits;
  std::int64_t steps() const { return static_cast<std::int64_t>(commits.size()) - 1; }
};

// REQUIRES: a linear run that has ended, or one that has just been started, on branch 1, in `store`.
CannedRun canned_run(Store& store, const RunRow& row);

struct Extent {
  int runs = 0;  // 0: as many as `seconds` allow
  int seconds = 10;
};

struct LimitReport {
  std::int64_t runs = 0;
  std::int64_t steps = 0;
  double seconds = 0;
};

// Two connections, batches of 500 runs: start them, claim them, move each held job from step to step, finish.
// Throws std::runtime_error if the store does not commit what it must.
LimitReport measure_limit(const std::string& dsn, const CannedRun& run, const Extent& extent);

// Only the starts, on one connection.
LimitReport measure_limit_of_starts(const std::string& dsn, const CannedRun& run, const Extent& extent);

// Whole runs one after another on one connection: the time of each in ms.
std::vector<double> measure_limit_alone(const std::string& dsn, const CannedRun& run, int count);

}  // namespace cairn
