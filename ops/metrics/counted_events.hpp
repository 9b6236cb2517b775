// The counting of a committed entry's events: attempts of steps with their time, runs that start and end, sub-goals,
// calls of models and tools. Events are read as they are stored. Safe from any thread.
#pragma once

#include "ops/metrics/work_counts.hpp"
#include "storage/entry.hpp"

namespace cairn {

// An event that cannot be read is left out.
void count_events(WorkCounts& counts, const Entry& entry);

}  // namespace cairn
