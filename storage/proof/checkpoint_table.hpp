// The checkpoints in the database, and the events and tombstones to verify them against. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/proof/tombstone.hpp"

namespace cairn {

class Placements;

// Throws StoreUnavailable when the database cannot be reached for a while.
class CheckpointTable {
 public:
  CheckpointTable(const std::string& dsn, std::int32_t shards);
  ~CheckpointTable();

  // Processes with checkpoints, those after `after`, in order.
  std::vector<std::int64_t> processes(std::int64_t after, std::int32_t limit);
  std::vector<Checkpoint> checkpoints(std::int64_t process, std::int64_t after_n, std::int32_t limit);
  // Checkpoints of all processes by their time; those after the one given.
  struct Place {
    TimeUs at_us = 0;
    std::int64_t process = 0;
    std::int64_t n = 0;
  };
  std::vector<Checkpoint> checkpoints_since(const Place& after, std::int32_t limit);
  // The log's entry for each head, in their order.
  struct Found {
    std::optional<Hash> chain_hash;    // of the head's event
    std::optional<std::int64_t> head;  // of the run now
    friend bool operator==(const Found&, const Found&) = default;
  };
  std::vector<Found> find(std::span<const Head> heads);
  // The tombstones of the heads' runs, in their order.
  std::vector<std::optional<Tombstone>> tombstones(std::span<const Head> heads);
  // The tombstones of erased runs, by shard and run; those after the one given.
  std::vector<Tombstone> erased(Shard after_shard, const RunId& after, std::int32_t limit);

 private:
  std::map<Shard, std::vector<std::size_t>> by_shard(std::span<const Head> heads) const;

  std::unique_ptr<Placements> placements_;
  std::int32_t shards_;
};

}  // namespace cairn
