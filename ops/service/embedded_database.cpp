#include "ops/service/embedded_database.hpp"

#include <filesystem>
#include <spdlog/spdlog.h>

#include "ops/answers/sessions.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "workers/ports/local_process.hpp"

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

// Sessions whose process can be seen to have ended are not at work.
std::string names_of_workers(Administration& database) {
  std::string names;
  for (const SessionAtWork& one : sessions_at_work(database, session_silence_ms)) {
    if (!one.machine.empty() && one.machine == machine_id() && is_gone(one.pid)) continue;
    SessionRow row;
    row.id = one.session;
    row.host = one.host;
    row.pid = one.pid;
    names += (names.empty() ? "" : ", ") + session_text(row);
  }
  return names;
}

// A database is not migrated by the way under workers of an older program.
Status check_older_workers(const Cluster& cluster) {
  try {
    Administration database(cluster.owner_dsn, "cairn migrate");
    const Result<SchemaFound> found = find_schema(database);
    if (!found) return found.error();
    if (found->version == 0 || found->version == newest_schema()) return Done{};
    const std::string workers = names_of_workers(database);
    if (workers.empty()) return Done{};
    return Error{Code::conflict, "Expected no worker of an older program on a database of schema version " +
                                     std::to_string(found->version) + " that is to become " +
                                     std::to_string(newest_schema()) + ", but there is " + workers +
                                     ": end it with SIGTERM, or `cairn migrate` migrates beside it."};
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to reach the database, but: ") + failure.what()};
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
  if (cluster->started)
    if (const std::optional<std::string> warning = SpaceWatch(directory).check()) spdlog::warn("{}", *warning);
  if (!cluster->not_renewed.empty())
    spdlog::warn("The PostgreSQL in {} goes on without its programs, and would not start again: {}", directory,
                 cluster->not_renewed);
  else if (has_older_programs(directory))
    spdlog::warn(
        "The PostgreSQL in {} was started before its programs were replaced; end what works on it, and the next "
        "command starts it again.",
        directory);
  const Result<bool> ready = is_ready(*cluster);
  if (!ready) return ready.error();
  if (*ready) return cluster;
  if (const Status alone = check_older_workers(*cluster); !alone) return alone.error();
  if (const Result<MigrateReport> report = migrate_cluster(*cluster, 0); !report) return report.error();
  return cluster;
}

std::optional<std::string> SpaceWatch::check() {
  constexpr std::uintmax_t little_bytes = 1'000'000'000, enough_bytes = little_bytes / 4 * 5, megabyte = 1'000'000;
  std::error_code fault;
  const std::filesystem::space_info space = std::filesystem::space(directory_, fault);
  if (fault) return std::nullopt;
  if (space.available >= enough_bytes) is_said_ = false;
  if (space.available >= little_bytes || is_said_) return std::nullopt;
  is_said_ = true;
  return "Only " + std::to_string(space.available / megabyte) + " MB are free at " + directory_ +
         ", where the database is; when nothing is free, nothing is written.";
}

Result<MigrateReport> migrate_cluster(const Cluster& cluster, std::int32_t shards) {
  Result<MigrateReport> report = migrate(cluster.owner_dsn, shards);
  if (!report) return report;
  if (const Status open = let_commands_in(cluster); !open) return open.error();
  return report;
}

}  // namespace cairn
