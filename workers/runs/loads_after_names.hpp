// Loads of runs that lack a graph, held back until the names have been read again: a graph that is read with a history
// may call others, which were added after the last reading. One reading is under way at a time, and serves the loads
// that were there when it began. Used by the session and the gateway. Not thread-safe.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "workers/runs/history.hpp"

namespace cairn {

class LoadsAfterNames {
 public:
  // Takes those that want graphs out of `loads`.
  void hold(std::vector<Load>& loads) {
    const auto first = std::stable_partition(loads.begin(), loads.end(), [](const Load& load) { return !load.graphs; });
    std::move(first, loads.end(), std::back_inserter(waiting_));
    loads.erase(first, loads.end());
  }
  bool is_reading() const { return is_reading_; }
  // Loads wait for a reading that has not begun.
  bool wants_reading() const { return !is_reading_ && !waiting_.empty(); }

  // REQUIRES: !is_reading().
  void began() {
    is_reading_ = true;
    served_ = std::exchange(waiting_, {});
  }
  // The loads that the reading served; they go on, or fail with it.
  std::vector<Load> ended() {
    is_reading_ = false;
    return std::exchange(served_, {});
  }

 private:
  bool is_reading_ = false;
  std::vector<Load> waiting_;
  std::vector<Load> served_;
};

}  // namespace cairn
