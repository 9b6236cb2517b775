// The policies by which graphs let go of their ended runs: the "keep" of each name's current version, whichever version
// a run has. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/store.hpp"

namespace cairn {

struct KeepPolicy {
  std::string graph;
  std::int64_t keep_us = 0;  // after a run's end
};

class KeepPolicies {
 public:
  // REQUIRES: outlives this.
  explicit KeepPolicies(Store& store) : store_(store) {}

  // By name; read again only when a graph was added or a name moved to another version. Throws StoreUnavailable, and
  // CorruptHistory for a stored graph that keeps its runs for something else than a duration.
  const std::vector<KeepPolicy>& current() &;

 private:
  Store& store_;
  std::optional<std::int64_t> mark_;
  std::vector<KeepPolicy> policies_;
};

}  // namespace cairn
