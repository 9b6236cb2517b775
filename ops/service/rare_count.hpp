// The times of a costly count: it is due five seconds after the one before, and seldom enough that counting takes at
// most a twentieth of the time. Used by one thread at a time.
#pragma once

#include <algorithm>
#include <chrono>

namespace cairn {

class RareCount {
 public:
  using Clock = std::chrono::steady_clock;

  bool is_due(Clock::time_point now) const { return now >= due_at_; }
  void end(Clock::time_point began, Clock::time_point now) {
    due_at_ = now + std::max<Clock::duration>(pause_least, (now - began) * share);
  }
  // A count that ended without a number has cost the database little: it was away.
  void fail(Clock::time_point now) { due_at_ = now + pause_least; }

 private:
  static constexpr std::chrono::seconds pause_least{5};
  static constexpr int share = 20;
  Clock::time_point due_at_{};  // at once
};

}  // namespace cairn
