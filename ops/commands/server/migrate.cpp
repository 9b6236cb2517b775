#include <CLI/CLI.hpp>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/service/embedded_database.hpp"
#include "ops/terminal/print.hpp"
#include "storage/postgres/distribution.hpp"

namespace cairn {
namespace {

// A cluster's tables are spread as they are made, and again when a migration has added one.
Result<MigrateReport> migrated_and_distributed(const std::string& dsn, std::int32_t shards) {
  Result<MigrateReport> report = migrate(dsn, shards);
  if (!report) return report;
  const Result<bool> cluster = is_citus_cluster(dsn);
  if (!cluster) return cluster.error();
  if (!*cluster) return report;
  const Result<DistributeReport> distributed = distribute(dsn);
  if (!distributed) return distributed.error();
  return report;
}

Result<MigrateReport> migrated(const DatabaseChoice& choice, std::int32_t shards) {
  if (!choice.is_embedded()) return migrated_and_distributed(choice.dsn, shards);
  const Result<Cluster> cluster = start_cluster(choice.directory);
  if (!cluster) return cluster.error();
  return migrate_cluster(*cluster, shards);
}

Exit migrate_schema(const Settings& settings, std::int32_t shards) {
  const Result<MigrateReport> report = migrated(choose_database(settings), shards);
  if (!report) return report.error();
  const std::string reached = "version " + std::to_string(report->to) + ", shards " + std::to_string(report->shards);
  if (settings.json)
    print_json({{"from", report->from}, {"to", report->to}, {"shards", report->shards}});
  else if (report->from == report->to)
    print_line("The schema is at " + reached + " already.");
  else
    print_line("Migrated the schema from version " + std::to_string(report->from) + " to " + reached + ".");
  return exit_ok;
}

}  // namespace

void add_migrate(CommandLine& line) {
  auto& shards = line.keep<std::int32_t>();
  add_command(line, "migrate", "Create the schema in the database, or move it forward",
              [&](const Settings& settings) { return migrate_schema(settings, shards); })
      .add_option("--shards", shards, "Number of shards, chosen once (default 1)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

}  // namespace cairn
