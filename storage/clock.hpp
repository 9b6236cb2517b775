// The database's clock, carried as an offset to this machine's monotonic clock: one clock for all processes. It never
// goes back. An observation is exact to half its round trip, so a fast one is kept against later slow ones until it may
// have drifted further (20 µs a second) or is contradicted. Not thread-safe.
#pragma once

#include "engine/id.hpp"

namespace cairn {

TimeUs steady_us();  // monotonic; only differences mean something

class DatabaseClock {
 public:
  // The database answered `database_us` to a question sent at `asked_us` and answered at `answered_us` (steady).
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
