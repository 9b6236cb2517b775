#include "storage/clock.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

namespace cairn {
namespace {

constexpr TimeUs drift_share = 50'000;  // clocks that NTP keeps part by less than 1 in so many
constexpr TimeUs jump_us = 1'000'000;   // beyond this a clock was set, and does not drift

std::atomic<TimeUs> skipped_us = 0;

}  // namespace

TimeUs steady_us() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count() + skipped_us;
}

void skip_time(TimeUs by_us) { skipped_us += by_us; }

// How far the offset may be off by now.
TimeUs DatabaseClock::doubt_us(TimeUs steady_us) const {
  return doubt_ == never_us ? never_us : doubt_ + (steady_us - observed_at_) / drift_share;
}

TimeUs DatabaseClock::observe(TimeUs database_us, TimeUs asked_us, TimeUs answered_us) {
  const TimeUs doubt = (answered_us - asked_us) / 2;
  const TimeUs offset = database_us - (asked_us + doubt);
  const TimeUs known = doubt_us(answered_us);
  const bool contradicts = known != never_us && std::abs(offset - offset_) > known + doubt;
  if (doubt > known && !contradicts) return 0;
  const TimeUs moved = known == never_us ? 0 : offset - offset_;
  offset_ = offset;
  doubt_ = doubt;
  observed_at_ = answered_us;
  return std::abs(moved) > jump_us ? moved : 0;
}

}  // namespace cairn
