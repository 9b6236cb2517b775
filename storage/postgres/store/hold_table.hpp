// Holds on jobs in PostgreSQL, apart from how claims and commits give them: their standing, giving them up, and the
// jobs of a run and of queues. Safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "storage/postgres/placements.hpp"
#include "storage/queue.hpp"

namespace cairn {

class HoldTable {
 public:
  // REQUIRES: `placements` outlives it.
  HoldTable(Placements& placements, std::int32_t shards) : placements_(placements), shards_(shards) {}

  // As Store says.
  void release(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us);
  std::vector<HoldStanding> standing(std::span<const std::pair<RunId, Fence>> holds);
  std::vector<HeldJob> jobs(const RunId& id);
  std::vector<QueueRow> queues(TimeUs now_us);

 private:
  void release_on(Shard shard, const std::map<std::pair<RunId, BranchId>, Fence>& fences, TimeUs run_at_us);

  Placements& placements_;
  const std::int32_t shards_;
};

}  // namespace cairn
