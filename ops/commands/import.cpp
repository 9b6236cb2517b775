#include "ops/audit/importer.hpp"
#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {

Exit import_runs(const Settings& settings, const ImportOptions& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  RunRecords records(opened->dsn, opened->store->shards(), 1);
  const Result<ImportReport> report =
      Importer(*opened->store, records, *opened->heads, options.running).import(options.file);
  if (!report) return report.error();
  if (settings.json)
    print_json({{"imported", report->imported}, {"left", report->left}, {"events", report->events}});
  else
    print_line("Imported " + std::to_string(report->imported) + " runs with " + std::to_string(report->events) +
               " events; " + std::to_string(report->left) + " were there already.");
  return 0;
}

}  // namespace cairn
