// Limits of queues that bind nothing any more, as a task of the process: forgets rates and uses of budgets, also of
// keys that name someone, and turns of keys without jobs. A pass every ten minutes, a page of rows at a time.
#pragma once

#include "ops/service/due_thread.hpp"

namespace cairn {

DueTask spent_limits(Opened& opened);

}  // namespace cairn
