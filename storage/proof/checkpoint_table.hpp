// What the database holds of checkpoints and of the events they speak of: for whoever verifies. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/proof/tombstone.hpp"

namespace cairn {

class PostgresPool;

// Throws StoreUnavailable when the database cannot be reached for a while.
class CheckpointTable {
 public:
  CheckpointTable(const std::string& dsn, std::int32_t shards);
  ~CheckpointTable();

  // Those after `after`, in order.
  std::vector<std::int64_t> processes(std::int64_t after, std::int32_t limit);
  std::vector<Checkpoint> checkpoints(std::int64_t process, std::int64_t after_n, std::int32_t limit);
  // What there is of each head, in their order.
  struct Found {
    std::optional<Hash> chain_hash;    // of the event it names
    std::optional<std::int64_t> head;  // of the run now
    friend bool operator==(const Found&, const Found&) = default;
  };
  std::vector<Found> find(std::span<const Head> heads);
  // Of the heads' runs, in their order.
  std::vector<std::optional<Tombstone>> tombstones(std::span<const Head> heads);

 private:
  std::unique_ptr<PostgresPool> pool_;
  std::int32_t shards_;
};

}  // namespace cairn
