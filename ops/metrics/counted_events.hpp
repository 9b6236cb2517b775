// The counting of a committed entry's events: attempts of steps with their time, runs that start and end, sub-goals,
// calls of models and tools. Events are read as they are stored. Safe from any thread.
#pragma once

#include "ops/metrics/work_counts.hpp"
#include "storage/entry.hpp"

namespace cairn {

// An event that cannot be read is left out.
void count_events(WorkCounts& counts, const Entry& entry);

// The few fields of a `step_succeeded` that are counted.
struct SucceededStep {
  std::string_view node;  // inside the payload
  TimeUs started_at = 0;
  bool is_reused = false;
};
// Reads them without decoding the rest: a patch may be large. Nothing: the payload is not written as this program
// writes it, or the name has characters that JSON escapes.
std::optional<SucceededStep> read_succeeded(std::string_view payload);

}  // namespace cairn
