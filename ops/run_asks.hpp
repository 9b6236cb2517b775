// What is asked of runs, from the options that the command line and the API understand. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "ops/commands.hpp"
#include "workers/client.hpp"

namespace cairn {

// Refuses `not_found`: what it continues is no run's id.
Result<StartRun> start_command(const StartOptions& options);

// Refuses `invalid`: the faults of its graph.
Result<ForkOptions> fork_options(Client& client, const ForkRunOptions& options);

// The one that is named, else the only open one; "" if none or several are. Refuses as Client::state.
Result<std::string> question_meant(Client& client, const RunId& run, const std::string& question);

// The status of each run once the command is carried out, or its refusal.
std::vector<Result<std::string>> words_after(Client& client, Store& store, const std::vector<RunId>& runs,
                                             const Command& command);

}  // namespace cairn
