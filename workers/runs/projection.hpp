// The projection of a run: the rows that its state implies besides its events, so that they can be compared and
// rebuilt. Snapshots are left out, as they are the state itself. Pure functions.
#pragma once

#include <vector>

#include "engine/job.hpp"
#include "engine/state.hpp"
#include "storage/store.hpp"

namespace cairn {

struct Projection {
  RunRow run;
  std::vector<Job> jobs;  // in branch order; the state does not know their holders
  std::vector<QuestionRow> questions;
};

// `chain_hash`: of the last event. REQUIRES: an event was folded.
Projection projection_of(const RunState& state, const Hash& chain_hash);

// The run's row, without its chain hash.
RunRow run_row(const RunState& state);

// The open questions, by id. An ended run has none, though the state of a failed one remembers them for a retry.
std::vector<QuestionRow> question_rows(const RunState& state);

}  // namespace cairn
