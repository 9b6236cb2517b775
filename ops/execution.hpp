// Runs brought to where only somebody outside can move them on, by a worker in this process or by others.
// Used from one thread.
#pragma once

#include <functional>
#include <vector>

#include "ops/database.hpp"

namespace cairn {

// Only an answer or a signal can move the run (with the runs it called) on: nothing of it is queued or timed, but for
// the expiry of a question.
bool only_questions_left(Client& client, const RunId& run);

// A run that waiting for can end: ended, paused, or with only questions left.
bool is_settled(Client& client, const RunRow& row);

// Asks `settled` again and again until it says yes (true) or SIGINT or SIGTERM comes (false). With `execute` a worker
// in this process executes `runs` and those they call, and no others.
bool execute_until(Opened& opened, const std::vector<RunId>& runs, bool execute, const std::function<bool()>& settled);

}  // namespace cairn
