// Starts that have waited (engine/start_policy.hpp), as a task of the process: begins the runs whose time has come,
// forgets refused ones after a week, and looks once a minute for keys that a clock which was ahead has left. It sleeps
// until the first key is due, at most a second.
#pragma once

#include "ops/service/due_thread.hpp"

namespace cairn {

DueTask due_starts(Opened& opened);

}  // namespace cairn
