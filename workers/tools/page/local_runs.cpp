#include "workers/tools/page/local_runs.hpp"

namespace cairn {

void LocalRuns::add(const RunId& run) {
  const std::lock_guard lock(mutex_);
  changes_ += runs_.insert(run).second ? 1 : 0;
}

void LocalRuns::remove(const RunId& run) {
  const std::lock_guard lock(mutex_);
  changes_ += runs_.erase(run);
}

bool LocalRuns::read(std::uint64_t& seen, std::set<RunId>& runs) const {
  const std::lock_guard lock(mutex_);
  if (seen == changes_) return false;
  seen = changes_;
  runs = runs_;
  return true;
}

}  // namespace cairn
