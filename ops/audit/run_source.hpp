// Which runs an audit looks at, a page at a time, and many threads that take them. Sources are used under a lock and
// need not be thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ops/audit/auditor.hpp"
#include "storage/proof/run_records.hpp"
#include "storage/store.hpp"

namespace cairn {

// Events read of each run when many runs are read together; a longer run is then read on its own.
inline constexpr std::int32_t first_events_max = 64;

// The next runs; empty: there are no more.
using RunSource = std::function<std::vector<RunPlace>()>;

RunSource these_runs(std::vector<RunPlace> runs);
RunSource matching_runs(Store& store, const RunFilter& filter);
// Everything of which anything is kept: histories without a run row and rows without events too.
RunSource all_runs(RunRecords& records);

// One for each core, up to a number that leaves connections for others.
int audit_threads();

// Gives every page to one of the `threads`, each of which works with what `begin` makes for it. Returns when all are
// done; the first exception ends it and is thrown here.
using UseRuns = std::function<void(const std::vector<RunPlace>&)>;
void for_each_page(const RunSource& source, int threads, const std::function<UseRuns()>& begin);

}  // namespace cairn
