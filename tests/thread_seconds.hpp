// The processor time of this thread, however busy the machine is. Safe to call from any thread.
#pragma once

#include <ctime>

namespace cairn::test {

inline double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace cairn::test
