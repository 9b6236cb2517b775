// What is kept of a run beside its events: rows that its state implies, so that they can be compared and made anew.
// Snapshots aside, which are the state itself. Pure functions.
#pragma once

#include <vector>

#include "engine/job.hpp"
#include "engine/state.hpp"
#include "storage/store.hpp"

namespace cairn {

struct Projection {
  RunRow run;
  std::vector<Job> jobs;  // in branch order; who holds one is not for the state to say
  std::vector<QuestionRow> questions;
};

// `chain_hash`: of the last event. REQUIRES: an event was folded.
Projection projection_of(const RunState& state, const Hash& chain_hash);

// The run's row; its chain hash is left to whoever knows it.
RunRow run_row(const RunState& state);

// The open questions, by id. An ended run has none, though the state of a failed one remembers them for a retry.
std::vector<QuestionRow> question_rows(const RunState& state);

}  // namespace cairn
