// Snapshots of runs as a store keeps them: calls that both stores make. A snapshot is a cache: losing one costs time.
// Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "storage/log.hpp"

namespace cairn {

// All throw StoreUnavailable.
struct SnapshotBook {
  // The newest of this fold version with seq <= `at_most`.
  std::function<std::optional<SnapshotRow>(const RunId&, std::int32_t fold_version, std::int64_t at_most)> newest;
  // Idempotent. The last two of a run are kept, and none of one that has ended: the commit that ends it drops them.
  std::function<void(const RunId&, const SnapshotRow&)> put;
};

// The calls of a table that has functions of these names. REQUIRES: it outlives them.
template <class Table>
SnapshotBook snapshot_book_of(Table& table) {
  return {.newest = [&table](const RunId& run, std::int32_t fold_version,
                             std::int64_t at_most) { return table.snapshot(run, fold_version, at_most); },
          .put = [&table](const RunId& run, const SnapshotRow& snapshot) { table.put_snapshot(run, snapshot); }};
}

}  // namespace cairn
