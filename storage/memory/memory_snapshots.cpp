#include "storage/memory/memory_snapshots.hpp"

#include <iterator>
#include <mutex>

namespace cairn {

std::optional<SnapshotRow> MemorySnapshots::snapshot(const RunId& id, std::int32_t fold_version, std::int64_t at_most) {
  const std::lock_guard lock(rows_.mutex);
  const auto run = rows_.runs.find(id);
  if (run == rows_.runs.end()) return std::nullopt;
  const auto& snapshots = run->second.snapshots;
  auto after = snapshots.upper_bound({fold_version, at_most});
  if (after == snapshots.begin()) return std::nullopt;
  --after;
  if (after->first.first != fold_version) return std::nullopt;
  return after->second;
}

void MemorySnapshots::put_snapshot(const RunId& id, const SnapshotRow& snapshot) {
  const std::lock_guard lock(rows_.mutex);
  const auto run = rows_.runs.find(id);
  if (run == rows_.runs.end() || is_ended(run->second.row.status)) return;
  auto& snapshots = run->second.snapshots;
  // The one before stays: a reader may have chosen it, and a damaged last one costs a longer fold, not all of it.
  auto older = snapshots.insert_or_assign({snapshot.fold_version, snapshot.seq}, snapshot).first;
  if (older != snapshots.begin() && std::prev(older)->first.first == snapshot.fold_version) --older;
  snapshots.erase(snapshots.begin(), older);
}

}  // namespace cairn
