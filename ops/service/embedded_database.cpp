#include "ops/service/embedded_database.hpp"

#include <spdlog/spdlog.h>

#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"

namespace cairn {
namespace {

// Whether the database has this program's schema and lets us in. Refuses a newer schema, and one that is not ours.
Result<bool> is_ready(const Cluster& cluster) {
  try {
    Administration database(cluster.dsn, "cairn");
    const Result<SchemaFound> found = find_schema(database);
    if (!found) return found.error();
    return found->version == newest_schema();
  } catch (const PostgresError&) {
    return false;  // the longer way shows why
  }
}

}  // namespace

Result<Cluster> reach_cluster(const std::string& directory) {
  if (const Result<Cluster> running = find_cluster(directory); running && !has_older_programs(directory)) {
    const Result<bool> ready = is_ready(*running);
    if (!ready) return ready.error();
    if (*ready) return running;
  }
  Result<Cluster> cluster = start_cluster(directory);
  if (!cluster) return cluster;
  if (has_older_programs(directory))
    spdlog::warn(
        "The PostgreSQL in {} was started before its programs were replaced; end what works on it, and the next "
        "command starts it again.",
        directory);
  const Result<bool> ready = is_ready(*cluster);
  if (!ready) return ready.error();
  if (*ready) return cluster;
  if (const Result<MigrateReport> report = migrate_cluster(*cluster, 0); !report) return report.error();
  return cluster;
}

Result<MigrateReport> migrate_cluster(const Cluster& cluster, std::int32_t shards) {
  Result<MigrateReport> report = migrate(cluster.owner_dsn, shards);
  if (!report) return report;
  if (const Status open = let_commands_in(cluster); !open) return open.error();
  return report;
}

}  // namespace cairn
