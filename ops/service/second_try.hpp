// Another try of a run: in place where a failed step is open, else as a fork from before the step that failed, or from
// before any node or event. A history only grows, so what has ended goes on as a run of its own, with its lineage and
// its tags. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/store.hpp"
#include "workers/client.hpp"

namespace cairn {

struct SecondTry {
  RunId run;                                   // that goes on
  std::optional<std::int64_t> forked_at = {};  // after this event of the origin; nothing: in place
};

// Asked with the origin before each fork of it; its refusal stands in place of the fork. Empty: all may be made.
using MayFork = std::function<Status(const RunState& origin)>;

struct SecondTryOptions {
  std::string reason = {};  // for the record: in the event of the run that goes on
  bool is_dry = false;      // decide, and write nothing
  MayFork may_fork = {};
};

// Each refuses `conflict`: a run that has not failed, that failed without a failed step, by a used-up budget, that
// another run called (its caller is to be tried again), or that was tried again already (the sentence names that run);
// as Client::command and Client::fork.
std::vector<Result<SecondTry>> try_again(Client& client, Store& store, const std::vector<RunId>& runs,
                                         const SecondTryOptions& options);

// `to`: an event's number, or the name of a node, whose last visit begins again. A run that has not ended is cancelled
// when its fork has begun. Refuses `invalid`: no such node, it was not left yet, or the reason is too long.
Result<SecondTry> reset_run(Client& client, Store& store, const RunId& run, const std::string& to,
                            const SecondTryOptions& options);

}  // namespace cairn
