// The embedded database as commands reach it: its server runs, its schema is this program's, and a login without an
// owner's rights may come in. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/result.hpp"
#include "storage/migration/migrator.hpp"
#include "storage/server/cluster.hpp"

namespace cairn {

// The cluster of the directory; started and migrated if necessary. One
// that runs with the newest schema is looked at once and nothing is written, so that reading works on a full disk.
// Refuses as start_cluster, wait_for_older_workers and migrate_cluster.
Result<Cluster> reach_cluster(const std::string& directory);

// Migrates as the owner and lets commands in, under workers of an older program, too: by the rule of schema/README.md
// they can go on.
Result<MigrateReport> migrate_cluster(const Cluster& cluster, std::int32_t shards);

// The free space where a database is: on a full disk nothing is written.
class SpaceWatch {
 public:
  explicit SpaceWatch(std::string directory) : directory_(std::move(directory)) {}

  // A sentence if less than 1 GB is free. Not again before a quarter more than that was free.
  std::optional<std::string> check();

 private:
  std::string directory_;
  bool is_said_ = false;
};

}  // namespace cairn
