#include <CLI/CLI.hpp>

#include "ops/answers/words.hpp"
#include "ops/audit/importer.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

struct ImportCommand {
  std::string file;
  bool running = false;            // also runs that have not ended
  std::vector<std::string> trust;  // files of public keys
};

Exit import_runs(const Settings& settings, const ImportCommand& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  RunRecords records(opened->dsn, opened->store->shards(), 1);
  std::optional<TrustedKeys> keys;
  if (!options.trust.empty()) {
    Result<TrustedKeys> pinned = TrustedKeys::pinned(options.trust);
    if (!pinned) return pinned.error();
    keys = *std::move(pinned);
  }
  const ImportOptions how{options.running, keys ? &*keys : nullptr, current_actor()};
  CheckpointTable signatures(opened->dsn, opened->store->shards());
  const Result<ImportReport> report =
      Importer({*opened->store, records, signatures, *opened->heads}, how).import(options.file);
  if (!report) return report.error();
  if (settings.json)
    print_json({{"imported", report->imported}, {"left", report->left}, {"events", report->events}});
  else
    print_paragraph("Imported " + counted(report->imported, "run") + " with " + counted(report->events, "event") +
                    "; " + std::to_string(report->left) + " were there already.");
  return exit_ok;
}

}  // namespace

void add_import(CommandLine& line) {
  auto& options = line.keep<ImportCommand>();
  CLI::App& command =
      add_command(line, "import", "Take in the runs of an export, if all of it holds what it claims",
                  "cairn import order.jsonl", [&](const Settings& settings) { return import_runs(settings, options); });
  add_text(command, "FILE", "", "The export's file", [&](const std::string& text) {
    return assign(options.file, path_argument(text, "an export"));
  })->required();
  command.add_flag("--running", options.running, "Also runs that have not ended: workers go on with them here");
  add_trust(command, options.trust);
}

}  // namespace cairn
