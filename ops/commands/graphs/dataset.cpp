#include "storage/data/dataset.hpp"

#include <CLI/CLI.hpp>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

Exit load_dataset(const Settings& settings) {
  const Result<std::string> dsn = reach_as_owner(choose_database(settings));
  if (!dsn) return dsn.error();
  const Result<bool> loaded = load_sample(*dsn);
  if (!loaded) return loaded.error();
  if (settings.json)
    print_json({{"schema", sample_schema}, {"login", sample_login}, {"loaded", *loaded}});
  else if (*loaded)
    print_line("Loaded the sample into the schema " + std::string(sample_schema) + ", for the login " + sample_login +
               ".");
  else
    print_line("The sample is there already, in the schema " + std::string(sample_schema) + ".");
  return exit_ok;
}

}  // namespace

void add_dataset(CommandLine& line) {
  CLI::App& group = add_group(line, "dataset", "The sample data that round_planner answers questions on");
  add_command(line, group, "load", "Load it into the database, with a login that may only read it", load_dataset);
}

}  // namespace cairn
