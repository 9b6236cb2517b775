#include <CLI/CLI.hpp>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/service/embedded_database.hpp"
#include "ops/terminal/print.hpp"
#include "storage/migration/distribution.hpp"
#include "storage/migration/migrator.hpp"
#include "storage/server/cluster.hpp"

namespace cairn {
namespace {

// A cluster's tables are spread as they are made, and again when a migration has added one: a new table is empty, so
// workers go on meanwhile.
Result<MigrateReport> migrated_and_distributed(const std::string& dsn, std::int32_t shards) {
  Result<MigrateReport> report = migrate(dsn, shards);
  if (!report) return report;
  const Result<bool> cluster = is_citus_cluster(dsn);
  if (!cluster) return cluster.error();
  if (!*cluster) return report;
  const Result<DistributeReport> distributed = distribute(dsn);
  if (!distributed)
    return Error{distributed.error().code, distributed.error().message + " The schema is at version " +
                                               std::to_string(report->to) + "; `cairn distribute` goes on."};
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

struct FoundOut {
  MigrationCheck check;
  std::vector<std::string> undistributed;  // tables of a Citus cluster
};

Result<FoundOut> found_out_at(const std::string& dsn) {
  Result<MigrationCheck> check = check_migrations(dsn);
  if (!check) return check.error();
  Result<std::vector<std::string>> undistributed = undistributed_tables(dsn);
  if (!undistributed) return undistributed.error();
  return FoundOut{*std::move(check), *std::move(undistributed)};
}

// A server that stands still is started to be asked; one that was never made is not made for this.
Result<FoundOut> found_out(const DatabaseChoice& choice) {
  if (!choice.is_embedded()) return found_out_at(choice.dsn);
  if (!is_cluster(choice.directory)) return FoundOut{nothing_migrated(), {}};
  const Result<Cluster> cluster = start_cluster(choice.directory);
  if (!cluster) return cluster.error();
  return found_out_at(cluster->owner_dsn);
}

void print_undistributed(const std::vector<std::string>& tables) {
  if (tables.empty()) return;
  std::string names;
  for (const std::string& table : tables) names += (names.empty() ? "" : ", ") + table;
  print_paragraph("Not distributed over the cluster yet: " + names +
                  "; `cairn migrate` or `cairn distribute` does it.");
}

void print_check(const MigrationCheck& check, bool is_distributed) {
  const std::string here = "The schema is at version " + std::to_string(check.version);
  if (check.missing.empty())
    return print_line(here + ", shards " + std::to_string(check.shards) +
                      (is_distributed ? ": nothing is to be done." : ": no migration is to run."));
  print_paragraph((check.version == 0 ? "There is no schema yet" : here) + "; `cairn migrate` would lead to version " +
                  std::to_string(check.newest) + ":");
  Table table({"NUMBER", "MIGRATION"});
  for (const Migration& migration : check.missing)
    table.add({std::to_string(migration.number), std::string(migration.name)});
  table.print();
}

Exit check_schema(const Settings& settings) {
  const Result<FoundOut> found = found_out(choose_database(settings));
  if (!found) return found.error();
  const MigrationCheck& check = found->check;
  const bool is_distributed = found->undistributed.empty();
  if (settings.json) {
    Json missing = Json::array();
    for (const Migration& migration : check.missing)
      missing.push_back({{"number", migration.number}, {"name", migration.name}});
    print_json({{"version", check.version},
                {"newest", check.newest},
                {"shards", check.shards},
                {"migrations", missing},
                {"undistributed", found->undistributed}});
  } else {
    print_check(check, is_distributed);
    print_undistributed(found->undistributed);
  }
  return check.missing.empty() && is_distributed ? exit_ok : exit_finding;
}

struct MigrateOptions {
  std::int32_t shards = 0;
  bool check = false;
};

}  // namespace

void add_migrate(CommandLine& line) {
  auto& options = line.keep<MigrateOptions>();
  CLI::App& command =
      add_command(line, "migrate", "Create the schema in the database, or move it forward",
                  "cairn migrate --dsn 'host=db dbname=cairn user=owner'", [&](const Settings& settings) {
                    return options.check ? check_schema(settings) : migrate_schema(settings, options.shards);
                  });
  CLI::Option* shards = command.add_option("--shards", options.shards, "Number of shards, chosen once (default 1)")
                            ->check(CLI::Range(1, 1024))
                            ->type_name("N");
  command
      .add_flag(
          "--check", options.check,
          "Write nothing: say which migrations would run, and which tables of a cluster are not distributed; exit code "
          "1 if any")
      ->excludes(shards);
}

}  // namespace cairn
