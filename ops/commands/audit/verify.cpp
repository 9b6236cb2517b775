#include <CLI/CLI.hpp>
#include <algorithm>

#include "ops/audit/checkpoint_audit.hpp"
#include "ops/audit/export_audit.hpp"
#include "ops/commands/audit/audit_report.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/service/database.hpp"

namespace cairn {
namespace {

struct VerifyOptions {
  RunSelection of;
  std::string file;  // in its place: an export; no database is needed
};

// Refuses `not_found` for a run of which nothing is kept.
Result<std::vector<RunPlace>> named_places(AuditedDatabase& database, const std::vector<std::string>& texts) {
  Auditor auditor(*database.store, *database.records, Auditor::Extent::rows_only);
  std::vector<RunPlace> runs;
  for (const std::string& text : texts) {
    const Result<RunId> run = run_argument(text);
    if (!run) return run.error();
    const RunPlace place{*run, shard_of(*run, database.store->shards())};
    if (std::any_of(runs.begin(), runs.end(), [&](const RunPlace& named) { return named.run == place.run; })) continue;
    runs.push_back(place);
    if (!auditor.is_kept(place)) return no_such_run(to_string(*run));
  }
  return runs;
}

Result<RunSource> verified_runs(AuditedDatabase& database, const RunSelection& selection) {
  if (selection.all) return all_runs(*database.records);
  if (selection.where) return matching_runs(*database.store, unlimited(*selection.where));
  Result<std::vector<RunPlace>> runs = named_places(database, selection.runs);
  if (!runs) return runs.error();
  return these_runs(*std::move(runs));
}

// Compares the checkpoints that processes have signed with what is kept.
Status audit_checkpoints(const Settings& settings, const AuditedDatabase& database, AuditReport& report) {
  const Result<CheckpointOptions> options = checkpoint_options(choose_database(settings));
  if (!options) return options.error();
  CheckpointTable table(database.dsn, database.store->shards());
  const CheckpointFiles files(options->folder, database.store->identity());
  CheckpointAudit(table, files, [&report](const Finding& finding) { report.add({finding}); }).run();
  return Done{};
}

Exit verify_file(const Settings& settings, const std::string& file) {
  AuditReport report(settings.json);
  ExportAudit audit(file, [&report](const Finding& finding) { report.add({finding}); });
  if (const Status read = audit.run(); !read) return read.error();
  report.count(audit.counts().runs, audit.counts().events);
  return report.close(false);
}

Exit verify_runs(const Settings& settings, const VerifyOptions& options) {
  if (!options.file.empty()) return verify_file(settings, options.file);
  Result<AuditedDatabase> database = open_for_audit(settings);
  if (!database) return database.error();
  const Result<RunSource> source = verified_runs(*database, options.of);
  if (!source) return source.error();
  AuditReport report(settings.json);
  report.add(graph_findings(database->store->graphs()));
  audit_each(*database, *source, Auditor::Extent::with_values_and_origin, false, report);
  if (options.of.all)
    if (const Status read = audit_checkpoints(settings, *database, report); !read) return read.error();
  return report.close(false);
}

}  // namespace

void add_verify(CommandLine& line) {
  auto& options = line.keep<VerifyOptions>();
  CLI::App& command = add_command(
      line, "verify", "Hold runs against their hash chains and their rows against their events; exit 1 on a finding",
      [&](const Settings& settings) { return verify_runs(settings, options); },
      [&] { return options.file.empty() ? need_selection(options.of, "verify") : Status(Done{}); });
  add_selection(command, options.of, "Everything of which anything is kept");
  add_text(command, "--file", "FILE", "Those of an export, without any database",
           [&](const std::string& text) { return assign(options.file, path_argument(text, "an export")); })
      ->excludes("RUN")
      ->excludes("--all")
      ->excludes("--where");
}

}  // namespace cairn
