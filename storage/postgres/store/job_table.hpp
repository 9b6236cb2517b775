// Jobs and the holds on them in PostgreSQL, apart from how claims and commits give and end them. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/postgres/placements.hpp"
#include "storage/postgres/store/shared_clock.hpp"
#include "storage/queue.hpp"

namespace cairn {

class JobTable {
 public:
  // REQUIRES: both outlive it.
  JobTable(Placements& placements, SharedClock& clock, std::int32_t shards)
      : placements_(placements), clock_(clock), shards_(shards) {}

  // As JobBook says.
  std::size_t release(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us);
  std::size_t release_unbegun(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us);
  std::vector<HoldStanding> standing_begun(std::span<const std::pair<RunId, Fence>> holds);
  std::vector<HoldStanding> standing(std::span<const std::pair<RunId, Fence>> holds);
  std::vector<HeldJob> of(const RunId& id);
  std::vector<QueueRow> queues();
  std::map<std::string, TimeUs> oldest();

 private:
  using Fences = std::map<std::pair<RunId, BranchId>, Fence>;  // in the order of locks
  std::map<Shard, Fences> by_shard(std::span<const std::pair<RunId, Fence>> holds) const;
  using ReadStandings = std::function<std::vector<HoldStanding>(Shard, const PgParameters&)>;
  std::vector<HoldStanding> standing_by(std::span<const std::pair<RunId, Fence>> holds,
                                        const ReadStandings& read) const;
  std::size_t release_on(Shard shard, const Fences& fences, TimeUs run_at_us);
  std::size_t release_unbegun_on(Shard shard, const Fences& fences, TimeUs run_at_us);

  Placements& placements_;
  SharedClock& clock_;
  const std::int32_t shards_;
};

}  // namespace cairn
