// Metrics in Prometheus' text format. Safe from any thread.
#pragma once

#include <string>

#include "storage/store.hpp"

namespace cairn {

// Counts every run and every job. Throws PostgresError and StoreUnavailable.
std::string metrics_text(Store& store, const std::string& dsn);

}  // namespace cairn
