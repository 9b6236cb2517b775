// One clock for all processes: the database's, carried as an offset to this machine's monotonic clock. Never goes back.
// An answer says what time it is to within half the time it took, so one that came at once is worth more than later
// ones that were slow, until it may have drifted (by 20 µs a second) or is contradicted. Not thread-safe.
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
  TimeUs doubt_us(TimeUs steady_us) const;

  TimeUs offset_ = 0;
  TimeUs doubt_ = never_us;  // of the offset, when it was observed
  TimeUs observed_at_ = 0;   // steady
  TimeUs last_ = 0;
};

}  // namespace cairn
