// The comparison of a run's stored rows with the projection of its events, and the repair of those that differ.
// Pure functions, safe from any thread.
#pragma once

#include <vector>

#include "ops/audit/finding.hpp"
#include "storage/proof/run_records.hpp"
#include "workers/runs/projection.hpp"

namespace cairn {

// Findings of kind `run`, at the wanted head: one for each column that differs.
std::vector<Finding> run_findings(const RunRow& wanted, const RunRow& found);

// The findings of all rows; of the run's row only if it exists. `now_us`: a released job may be offered a little later
// than the projection says.
std::vector<Finding> projection_findings(const Projection& wanted, const RunRecord& found, TimeUs now_us);

// Rows that do not differ are left alone: a held job stays held.
Repair repair_of(const Projection& wanted, const RunRecord& found, TimeUs now_us);

}  // namespace cairn
