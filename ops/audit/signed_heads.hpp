// The part of each run's history that trusted signatures cover: the highest event that a checkpoint names by its hash.
// Filled by a CheckpointAudit. Takes 24 bytes for each run. Not thread-safe while it is filled; then safe to read from
// any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/id.hpp"

namespace cairn {

class SignedHeads {
 public:
  void add(const RunId& run, std::int64_t seq);
  // No more is added.
  void close() { compact(); }

  // 0: none of the run's events is covered. REQUIRES: closed.
  std::int64_t covered(const RunId& run) const;

 private:
  struct Covered {
    RunId run;
    std::int64_t seq = 0;
  };
  void compact();

  std::vector<Covered> heads_;  // by run up to `sorted_`, each once
  std::size_t sorted_ = 0;
};

}  // namespace cairn
