// `cairn export --otlp`: the traces of ended runs, sent to a collector. Used from one thread.
#pragma once

#include <set>
#include <vector>

#include "ops/requests/requests.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/exit_code.hpp"
#include "ops/traces/otlp_client.hpp"

namespace cairn {

// Runs that are under way are left out, and so are those that cannot be read, which is a finding. Refuses as
// otlp_endpoint and send_with_patience.
Exit export_traces(const Settings& settings, Opened& opened, const std::vector<RunRow>& named, const RunFilter& where,
                   const std::set<RunId>& except, const TraceExportOptions& options);

}  // namespace cairn
