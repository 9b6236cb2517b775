// The texts that steps have written so far, in memory. Safe from any thread (the lock of the rows).
#pragma once

#include <span>
#include <vector>

#include "storage/memory/memory_rows.hpp"

namespace cairn {

class MemoryProgress {
 public:
  explicit MemoryProgress(MemoryRows& rows) : rows_(rows) {}

  // As ProgressBook says.
  void put(SessionId session, std::span<const ProgressRow> texts, std::span<const ProgressPlace> ended);
  std::vector<ProgressRow> of(const RunId& id);

 private:
  MemoryRows& rows_;
};

}  // namespace cairn
