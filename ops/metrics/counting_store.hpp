// A store that counts what passes through it and leaves everything else to another one. Counting takes no lock and
// changes no answer; a failure is counted and thrown on. Safe from any thread.
#pragma once

#include <memory>

#include "ops/metrics/work_counts.hpp"
#include "storage/store.hpp"

namespace cairn {

// `counts` is shared with those who show it.
std::unique_ptr<Store> make_counting_store(std::unique_ptr<Store> store, std::shared_ptr<WorkCounts> counts);

}  // namespace cairn
