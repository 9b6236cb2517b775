// Requests of the command line and the API turned into commands of the engine, and commands carried out.
// Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/requests/requests.hpp"
#include "ops/service/second_try.hpp"
#include "workers/client.hpp"

namespace cairn {

// Refuses `not_found`: `continues` is no run's id.
Result<StartRun> start_command(const StartRequest& request);

// Refuses `invalid`: the faults of its graph.
Result<ForkOptions> fork_options(Client& client, const ForkRequest& request);

// `question` if it is given, else the only open one; "" if none or several are open. Refuses as Client::state.
Result<std::string> question_meant(Client& client, const RunId& run, const std::string& question);

// The status word of a run after a command, or as it would be; "forked" for one that goes on as another run,
// "withdrawn" for one whose start waited and was given up.
struct Controlled {
  std::string status;
  bool is_ending = false;  // it cleans up before it ends
  std::optional<SecondTry> fork = {};
};

// Carries the command out on each run, in few commits; a refusal of one stops no other. In order. The graph of a move
// is stored if a run can move to it, as a version that is not current. REQUIRES: a move has one.
std::vector<Result<Controlled>> control_runs(Client& client, Store& store, const std::vector<RunId>& runs,
                                             const ControlRequest& request, const MayFork& may_fork = {});

}  // namespace cairn
