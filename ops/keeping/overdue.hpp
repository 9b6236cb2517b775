// Graphs whose policy ("keep") nothing carries out. Safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "ops/keeping/keep_policies.hpp"
#include "storage/proof/run_archive.hpp"

namespace cairn {

// Those that have runs which could have been archived `longer_us` ago: ended, with all that they called, and referred
// to by no open run. Looks at the oldest few. Throws StoreUnavailable.
std::vector<std::string> overdue_graphs(Store& store, RunArchive& archive, const std::vector<KeepPolicy>& policies,
                                        std::int64_t longer_us);

}  // namespace cairn
