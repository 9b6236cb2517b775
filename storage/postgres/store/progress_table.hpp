// The texts that steps have written so far, in PostgreSQL (an unlogged table). Safe from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/postgres/placements.hpp"
#include "storage/postgres/store/shared_clock.hpp"
#include "storage/progress.hpp"

namespace cairn {

class ProgressTable {
 public:
  // A replica has no rows of it. REQUIRES: both outlive it.
  ProgressTable(Placements& placements, SharedClock& clock, std::int32_t shards, bool is_replica)
      : placements_(placements), clock_(clock), shards_(shards), is_replica_(is_replica) {}

  // As ProgressBook says.
  void put(SessionId session, std::span<const ProgressRow> texts, std::span<const ProgressPlace> ended);
  std::vector<ProgressRow> of(const RunId& run);

 private:
  void put_on(Shard shard, SessionId session, std::span<const ProgressRow* const> texts,
              std::span<const ProgressPlace* const> ended);

  Placements& placements_;
  SharedClock& clock_;
  const std::int32_t shards_;
  const bool is_replica_;
};

}  // namespace cairn
