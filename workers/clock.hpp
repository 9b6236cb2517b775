// One clock for all processes: the database's, carried as an offset to this machine's monotonic clock. Never goes back.
// Not thread-safe.
#pragma once

#include "engine/id.hpp"

namespace cairn {

TimeUs steady_us();  // monotonic; only differences mean something

class DatabaseClock {
 public:
  // The database said `database_us` to a question asked at `asked_us` and answered at `answered_us` (steady).
  void observe(TimeUs database_us, TimeUs asked_us, TimeUs answered_us);
  TimeUs now(TimeUs steady_us);

 private:
  TimeUs offset_ = 0;
  TimeUs last_ = 0;
};

}  // namespace cairn
