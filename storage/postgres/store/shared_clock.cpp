#include "storage/postgres/store/shared_clock.hpp"

namespace cairn {
namespace {

constexpr TimeUs clock_checked_every_us = 5'000'000;
constexpr int clock_asked = 3;  // each time

}  // namespace

TimeUs SharedClock::now() {
  const std::lock_guard lock(mutex_);
  if (checked_at_us_ == 0 || steady_us() - checked_at_us_ > clock_checked_every_us) check();
  return clock_.now(steady_us());
}

// Asks several times, because the first may have to open a connection and so be inexact.
void SharedClock::check() {
  for (int asked = 0; asked < clock_asked; ++asked) {
    const TimeUs before_us = steady_us();
    const TimeUs there = pool_.query("database_time").int8(0, 0);
    checked_at_us_ = steady_us();
    clock_.observe(there, before_us, checked_at_us_);
  }
}

}  // namespace cairn
