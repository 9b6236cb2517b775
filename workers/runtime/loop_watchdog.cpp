#include "workers/runtime/loop_watchdog.hpp"

#include <algorithm>
#include <utility>

namespace cairn {

bool LoopWatchdog::is_stuck(std::uint64_t turns, TimeUs steady_us) {
  const TimeUs passed = std::min(steady_us - std::exchange(seen_at_, steady_us), gap_max_us_);
  const bool is_same = std::exchange(turns_, turns) == turns;
  const bool is_under_way = turns % 2 == 1;
  lasted_us_ = is_same && is_under_way ? lasted_us_ + passed : 0;
  return lasted_us_ > turn_max_us_;
}

}  // namespace cairn
