#include <CLI/CLI.hpp>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "storage/server/cluster.hpp"

namespace cairn {
namespace {

Exit down(const Settings& settings) {
  const DatabaseChoice choice = choose_database(settings);
  if (!choice.is_embedded())
    return Error{Code::unsupported, "Expected an embedded PostgreSQL to stop, but the database is somebody else's."};
  if (const Status stopped = stop_cluster(choice.directory); !stopped) return stopped.error();
  if (settings.json)
    print_json({{"down", true}, {"data", choice.directory}});
  else
    print_paragraph("Stopped the PostgreSQL in " + choice.directory + ".");
  return exit_ok;
}

}  // namespace

void add_down(CommandLine& line) { add_command(line, "down", "Stop the embedded PostgreSQL", "cairn down", down); }

}  // namespace cairn
