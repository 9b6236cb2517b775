// The sources of runs for an audit, a page at a time, and the threads that share the pages. A source is called under a
// lock and need not be thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ops/requests/requests.hpp"
#include "storage/proof/run_records.hpp"
#include "storage/store.hpp"

namespace cairn {

// Events read of each run when many runs are read together; a longer run is then read on its own.
inline constexpr std::int32_t first_events_max = 64;

// A run, and the shard on which something of it was found.
struct RunPlace {
  RunId run;
  Shard shard = 0;
};

// The next page of runs; empty at the end.
using RunSource = std::function<std::vector<RunPlace>()>;

RunSource these_runs(std::vector<RunPlace> runs);
RunSource matching_runs(Store& store, const RunFilter& filter);
// The selected runs. Refuses as run_meant and known_filter, and `not_found` for a run that does not exist.
Result<RunSource> selected_runs(Store& store, const RunSelection& selection);
// Every run of which anything is kept, including histories without a run row and rows without events.
RunSource all_runs(RunRecords& records);

// One thread per core, up to a number that leaves connections for other processes.
int audit_threads();

// Gives every page to one of the `threads`; each thread uses its own function made by `begin`. Returns when all are
// done; the first exception stops all threads and is rethrown here.
using UseRuns = std::function<void(const std::vector<RunPlace>&)>;
void for_each_page(const RunSource& source, int threads, const std::function<UseRuns()>& begin);

}  // namespace cairn
