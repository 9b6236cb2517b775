#include <CLI/CLI.hpp>

#include "ops/commands/audit/audit_report.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"

namespace cairn {
namespace {

Exit rebuild_runs(const Settings& settings, bool check) {
  Result<AuditedDatabase> database = open_for_audit(settings);
  if (!database) return database.error();
  AuditReport report(settings.json);
  audit_each(*database, all_runs(*database->records), Auditor::Extent::rows_only, !check, report);
  if (report.rebuilt() > 0) database->store->notify();
  return report.close(!check);
}

}  // namespace

void add_rebuild(CommandLine& line) {
  auto& check = line.keep<bool>();
  add_command(line, "rebuild", "Make runs' rows, jobs and questions again from their events where they differ",
              "cairn rebuild --check", [&](const Settings& settings) { return rebuild_runs(settings, check); })
      .add_flag("--check", check, "Say what differs, and write nothing; exit 1 if something does");
}

}  // namespace cairn
