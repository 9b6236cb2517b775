// The processor time of this thread, however busy the machine is. Safe to call from any thread.
#pragma once

#include <ctime>

namespace cairn::test {

// Under the thread sanitizer everything takes some ten times as long, and a process that forks with threads is not
// followed.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool is_thread_sanitized = true;
#else
inline constexpr bool is_thread_sanitized = false;
#endif
inline constexpr double slowness = is_thread_sanitized ? 10 : 1;

inline double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace cairn::test
