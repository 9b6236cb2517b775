// The runs for which this process keeps something open that another process would have to open again, as a browser: the
// worker asks for their steps first (SessionBook::set_home). No result depends on it. Safe from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>

#include "engine/id.hpp"

namespace cairn {

class LocalRuns {
 public:
  void add(const RunId& run);
  void remove(const RunId& run);

  // Brings `seen` and `runs` up to date; false: nothing has changed. Zero has seen nothing.
  bool read(std::uint64_t& seen, std::set<RunId>& runs) const;

 private:
  mutable std::mutex mutex_;
  std::set<RunId> runs_;
  std::uint64_t changes_ = 0;
};

}  // namespace cairn
