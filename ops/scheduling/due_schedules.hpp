// Schedules, as a task of the process: decides those that are due, and looks once a minute for a new edition of the
// time zones and for schedules that a clock which was ahead has left. It sleeps until the first is due, at most a
// second.
#pragma once

#include "ops/service/due_thread.hpp"

namespace cairn {

DueTask due_schedules(Opened& opened);

}  // namespace cairn
