// The database's clock, carried as an offset to this machine's monotonic clock: one clock for all processes. It follows
// the database's when that is set, forward or back: what must not go back (the times of a run's events) is held where
// it is written, and what waits inside a process waits on the monotonic clock. An observation is exact to half its
// round trip, so a fast one is kept against later slow ones until it may have drifted further (20 µs a second) or is
// contradicted. Not thread-safe.
#pragma once

#include "engine/id.hpp"

namespace cairn {

TimeUs steady_us();  // monotonic; only differences mean something
// Moves this process's steady clock forward: for a world whose time is virtual. Safe from any thread.
void skip_time(TimeUs by_us);

class DatabaseClock {
 public:
  // The database answered `database_us` to a question sent at `asked_us` and answered at `answered_us` (steady).
  // Returns by how much its clock was set since the last observation; 0: it was not.
  TimeUs observe(TimeUs database_us, TimeUs asked_us, TimeUs answered_us);
  TimeUs now(TimeUs steady_us) const { return steady_us + offset_; }

 private:
  TimeUs doubt_us(TimeUs steady_us) const;

  TimeUs offset_ = 0;
  TimeUs doubt_ = never_us;  // of the offset, when it was observed
  TimeUs observed_at_ = 0;   // steady
};

}  // namespace cairn
