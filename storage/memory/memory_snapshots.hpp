// Snapshots of the store in memory. Safe from any thread (the lock of the rows).
#pragma once

#include <cstdint>
#include <optional>

#include "storage/memory/memory_rows.hpp"

namespace cairn {

class MemorySnapshots {
 public:
  explicit MemorySnapshots(MemoryRows& rows) : rows_(rows) {}

  // As SnapshotBook says.
  std::optional<SnapshotRow> snapshot(const RunId& id, std::int32_t fold_version, std::int64_t at_most);
  void put_snapshot(const RunId& id, const SnapshotRow& snapshot);

 private:
  MemoryRows& rows_;
};

}  // namespace cairn
