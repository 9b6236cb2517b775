// Requests of the command line and the API turned into commands of the engine, and commands carried out.
// Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "ops/requests/requests.hpp"
#include "workers/client.hpp"

namespace cairn {

// Refuses `not_found`: `continues` is no run's id.
Result<StartRun> start_command(const StartRequest& request);

// Refuses `invalid`: the faults of its graph.
Result<ForkOptions> fork_options(Client& client, const ForkRequest& request);

// `question` if it is given, else the only open one; "" if none or several are open. Refuses as Client::state.
Result<std::string> question_meant(Client& client, const RunId& run, const std::string& question);

// Carries the command out on each run; the status of each afterwards, or the refusal.
std::vector<Result<std::string>> statuses_after(Client& client, Store& store, const std::vector<RunId>& runs,
                                                const Command& command);

}  // namespace cairn
