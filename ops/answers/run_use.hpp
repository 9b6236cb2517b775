// The usage of one run, read from its events. Not thread-safe.
#pragma once

#include "ops/answers/usage_report.hpp"
#include "workers/client.hpp"

namespace cairn {

// Refuses as Client::state.
Result<RunUse> use_of(Client& client, const RunId& run);

}  // namespace cairn
