#include "workers/clock.hpp"

#include <algorithm>
#include <chrono>

namespace cairn {

TimeUs steady_us() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

void DatabaseClock::observe(TimeUs database_us, TimeUs asked_us, TimeUs answered_us) {
  offset_ = database_us - (asked_us + (answered_us - asked_us) / 2);
}

TimeUs DatabaseClock::now(TimeUs steady_us) {
  last_ = std::max(last_, steady_us + offset_);
  return last_;
}

}  // namespace cairn
