// Histories of runs in PostgreSQL: their events and snapshots, of one run or of many at once. Safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage/log.hpp"
#include "storage/postgres/placements.hpp"

namespace cairn {

class HistoryTable {
 public:
  // REQUIRES: `placements` outlives it.
  HistoryTable(Placements& placements, std::int32_t shards) : placements_(placements), shards_(shards) {}

  // As Store says.
  std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit);
  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit);
  // As SnapshotBook says.
  std::optional<SnapshotRow> snapshot(const RunId& id, std::int32_t fold_version, std::int64_t at_most);
  void put_snapshot(const RunId& id, const SnapshotRow& snapshot);

 private:
  PgParameters of_run(const RunId& id) const { return PgParameters().add(shard_of(id, shards_)).add(id); }
  PgResult query_of(const RunId& id, std::string_view name, const PgParameters& parameters) {
    return placements_.query(shard_of(id, shards_), name, parameters);
  }
  void add_snapshots(Shard shard, std::span<const HistoryRequest> requests, const std::vector<std::size_t>& places,
                     std::vector<StoredHistory>& histories);
  void add_events(Shard shard, std::span<const HistoryRequest> requests, std::span<const std::size_t> places,
                  std::int32_t limit, std::vector<StoredHistory>& histories);

  Placements& placements_;
  const std::int32_t shards_;
};

}  // namespace cairn
