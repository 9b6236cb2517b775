#include <CLI/CLI.hpp>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "storage/migration/distribution.hpp"

namespace cairn {
namespace {

Exit distribute_tables(const Settings& settings) {
  const DatabaseChoice choice = choose_database(settings);
  if (choice.is_embedded())
    return Error{Code::invalid, "Expected the node of a Citus cluster in --dsn, but an embedded database was chosen."};
  const Result<DistributeReport> report = distribute(choice.dsn);
  if (!report) return report.error();
  if (settings.json) {
    print_json({{"tables", report->tables}, {"moved", report->moved}, {"shards", report->shards}});
    return exit_ok;
  }
  print_line(report->tables.empty() ? "The tables are distributed already."
                                    : "Distributed " + std::to_string(report->tables.size()) + " tables.");
  if (report->moved > 0) print_line("Moved " + std::to_string(report->moved) + " shards.");
  for (const auto& [node, shards] : report->shards) print_line(node + " has " + std::to_string(shards) + " shards.");
  return exit_ok;
}

}  // namespace

void add_distribute(CommandLine& line) {
  add_command(line, "distribute", "Spread the tables of runs over the nodes of a Citus cluster",
              "cairn distribute --dsn 'host=coordinator dbname=cairn user=owner'",
              [](const Settings& settings) { return distribute_tables(settings); });
}

}  // namespace cairn
