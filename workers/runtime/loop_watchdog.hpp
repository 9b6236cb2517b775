// A watchdog over a worker's event loop: shows that one turn of it takes longer than it may, so that the process can
// end. A turn that never ends would keep its session alive, because the heartbeat is another thread's: no other worker
// would take over what it holds.
// Given the time and what was seen; no I/O. Not thread-safe.
#pragma once

#include <cstdint>

#include "engine/id.hpp"

namespace cairn {

class LoopWatchdog {
 public:
  // Between two calls at most `gap_max_us` count: what passed while the whole process stood still is no turn's fault.
  LoopWatchdog(TimeUs turn_max_us, TimeUs gap_max_us) : turn_max_us_(turn_max_us), gap_max_us_(gap_max_us) {}

  // `turns`: as SerialExecutor counts them. True: the turn that is under way has lasted longer than it may.
  bool is_stuck(std::uint64_t turns, TimeUs steady_us);

 private:
  TimeUs turn_max_us_;
  TimeUs gap_max_us_;
  std::uint64_t turns_ = 0;
  TimeUs seen_at_ = 0;
  TimeUs lasted_us_ = 0;
};

}  // namespace cairn
