// The rows that are kept of a run, held against what its events imply, and what it takes to put them right.
// Pure functions.
#pragma once

#include <vector>

#include "ops/audit/finding.hpp"
#include "storage/proof/run_records.hpp"
#include "workers/session/projection.hpp"

namespace cairn {

// Kind `run`, at the wanted head: one for each column that differs.
std::vector<Finding> run_findings(const RunRow& wanted, const RunRow& found);

// All of them; those of the run's row only if there is one. `now_us`: a job that was given back may be offered later
// than its run asked for, but not for long.
std::vector<Finding> projection_findings(const Projection& wanted, const RunRecord& found, TimeUs now_us);

// Rows that are as wanted are left alone: a held job stays held.
Repair repair_of(const Projection& wanted, const RunRecord& found, TimeUs now_us);

}  // namespace cairn
