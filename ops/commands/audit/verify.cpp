#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "ops/audit/checkpoint_audit.hpp"
#include "ops/audit/export_audit.hpp"
#include "ops/commands/audit/audit_report.hpp"
#include "ops/commands/audit/replica_extent.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/requests/run_ids.hpp"
#include "ops/service/database.hpp"
#include "storage/postgres/reachable.hpp"

namespace cairn {
namespace {

struct VerifyOptions {
  RunSelection of;
  std::string file;                // in its place: an export; no database is needed
  std::vector<std::string> trust;  // files of the only public keys that count
  bool accept = false;             // signs the ends of sound histories that are not signed
};

constexpr std::int64_t patience_ms_min = 60'000;
constexpr std::int64_t checkpoints_missed = 6;  // as many may be late

// Refuses `not_found` for a run of which nothing is kept.
Result<std::vector<RunPlace>> named_places(AuditedDatabase& database, const std::vector<std::string>& texts) {
  Auditor auditor(*database.store, *database.records, Auditor::Extent::rows_only);
  std::vector<RunPlace> runs;
  for (const std::string& text : texts) {
    const Result<RunId> run = run_meant(*database.store, text);
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
  if (selection.where) {
    const Result<RunFilter> where = known_filter(*database.store, *selection.where);
    if (!where) return where.error();
    return matching_runs(*database.store, unlimited(*where));
  }
  Result<std::vector<RunPlace>> runs = named_places(database, selection.runs);
  if (!runs) return runs.error();
  return these_runs(*std::move(runs));
}

Result<TrustedKeys> trusted_keys(const VerifyOptions& options, const std::string& folder) {
  if (options.trust.empty()) return TrustedKeys(folder);
  return TrustedKeys::pinned(options.trust);
}

// A replica lacks what was committed and signed since it replayed its last commit; the file of a checkpoint may be here
// before. Nothing: the database itself is asked.
Result<std::optional<ReplicaSeen>> seen_replica(const AuditedDatabase& database) {
  if (!database.is_replica) return std::optional<ReplicaSeen>();
  const Result<ReplicaSeen> seen = probe_replica(database.dsn);
  if (!seen) return seen.error();
  return std::optional(*seen);
}

Result<TimeUs> seen_until(AuditedDatabase& database, const std::optional<ReplicaSeen>& replica) {
  if (!replica) return database.store->database_time();
  const Result<TimeUs> until = audited_until(*replica);
  if (until) std::cerr << "cairn: The replica is seen " << extent_text(*replica) << ".\n";
  return until;
}

// Compares the checkpoints that processes have signed with what is kept, and what is kept with them.
Status verify_signed(const Settings& settings, const VerifyOptions& options, AuditedDatabase& database,
                     const RunSource& source, TimeUs until, AuditReport& report) {
  Result<CheckpointOptions> checkpoints = checkpoint_options(choose_database(settings));
  if (!checkpoints) return checkpoints.error();
  Result<TrustedKeys> keys = trusted_keys(options, checkpoints->folder);
  if (!keys) return keys.error();
  if (options.accept)
    if (const Result<SigningKey> key = open_signing_key(*checkpoints); !key) return key.error();
  CheckpointTable table(database.dsn, database.store->shards());
  const CheckpointFiles files(checkpoints->folder, database.store->identity());
  CheckpointAudit signatures(table, files, *std::move(keys), [&](const Finding& finding) {
    if (options.of.all) report.add({finding});
  });
  if (database.is_replica) signatures.until(until);
  signatures.run();
  const std::int64_t patience_ms = std::max(patience_ms_min, checkpoints_missed * checkpoints->every_ms);
  GatheredHeads accepted;
  audit_signatures(database, source, {signatures.signed_heads(), until, patience_ms * 1'000},
                   options.accept ? &accepted : nullptr, report);
  if (options.of.all) {
    Result<TrustedKeys> trusted = trusted_keys(options, checkpoints->folder);
    if (!trusted) return trusted.error();
    report_erased(table, *trusted, database.store->identity(), report);
  }
  checkpoints->by_hand = true;
  if (!accepted.empty()) Checkpointer(*database.store, accepted, *std::move(checkpoints));  // signs at its end
  return Done{};
}

Exit verify_file(const Settings& settings, const VerifyOptions& options) {
  AuditReport report(settings.json);
  std::optional<TrustedKeys> keys;
  if (!options.trust.empty()) {
    Result<TrustedKeys> pinned = TrustedKeys::pinned(options.trust);
    if (!pinned) return pinned.error();
    keys = *std::move(pinned);
  }
  ExportAudit audit(options.file, [&report](const Finding& finding) { report.add({finding}); });
  if (keys) audit.trust(&*keys);
  if (const Status read = audit.run(); !read) return read.error();
  report.count(audit.counts().runs, audit.counts().events);
  return report.close(false);
}

Exit verify_runs(Settings settings, const VerifyOptions& options) {
  if (!options.file.empty()) return verify_file(settings, options);
  if (options.accept) settings.command += " --accept";  // which writes
  Result<AuditedDatabase> database = open_for_audit(settings);
  if (!database) return database.error();
  const Result<RunSource> source = verified_runs(*database, options.of);
  if (!source) return source.error();
  AuditReport report(settings.json);
  report.add(graph_findings(database->store->graphs().all()));
  if (!options.of.all && !options.accept) {
    audit_each(*database, *source, Auditor::Extent::with_values_and_origin, false, report);
    return report.close(false);
  }
  const Result<std::optional<ReplicaSeen>> replica = seen_replica(*database);
  if (!replica) return replica.error();
  const Result<TimeUs> until = seen_until(*database, *replica);
  if (!until) return until.error();
  if (const Status read = verify_signed(settings, options, *database, *source, *until, report); !read)
    return read.error();
  const ExitCode closed = report.close(false);
  if (closed != exit_ok || !*replica) return closed;
  const Status recent = check_lag(**replica);
  return recent ? Exit(closed) : recent.error();
}

Status check_options(const VerifyOptions& options) {
  if (options.file.empty()) {
    if (Status selected = need_selection(options.of, "verify"); !selected) return selected;
    if (options.trust.empty() || options.of.all || options.accept) return Done{};
    return Error{Code::invalid, "Expected --trust with --file, --all or --accept, which look at signatures."};
  }
  if (!options.accept) return Done{};
  return Error{Code::invalid, "Expected --accept for runs of a database, but --file was given."};
}

}  // namespace

void add_verify(CommandLine& line) {
  auto& options = line.keep<VerifyOptions>();
  CLI::App& command = add_command(
      line, "verify", "Hold runs against their hash chains and their rows against their events; exit 1 on a finding",
      "cairn verify --all", [&](const Settings& settings) { return verify_runs(settings, options); },
      [&] { return check_options(options); });
  add_selection(command, options.of, "Everything of which anything is kept");
  add_text(command, "--file", "FILE", "Those of an export, without any database",
           [&](const std::string& text) { return assign(options.file, path_argument(text, "an export")); })
      ->excludes("RUN")
      ->excludes("--all")
      ->excludes("--where");
  add_trust(command, options.trust);
  command.add_flag("--accept", options.accept,
                   "Sign by hand the ends of sound histories that no one signed: they count as signed from now on");
}

}  // namespace cairn
