// Waiting for runs until only an answer or a signal can move them on, while a worker in this process or others execute
// them. Used from one thread.
#pragma once

#include <functional>
#include <vector>

#include "ops/service/database.hpp"

namespace cairn {

// Only an answer or a signal can move the run (and the runs it called) on: it has no queued job and no timer except the
// expiry of a question.
bool only_questions_left(Client& client, const RunId& run);

// Waiting for the run is over: it has ended, is paused, or has only questions left.
bool is_settled(Client& client, const RunRow& row);

// Polls `settled` until it is true (returns true) or SIGINT or SIGTERM arrives (false). With `execute`, a worker in
// this process executes `runs` and the runs they call, and no others.
bool wait_until(Opened& opened, const std::vector<RunId>& runs, bool execute, const std::function<bool()>& settled);

}  // namespace cairn
