#include <CLI/CLI.hpp>
#include <set>

#include "ops/answers/words.hpp"
#include "ops/audit/archiver.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/keeping/keep_policies.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/requests/run_ids.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "storage/commit_rules.hpp"

namespace cairn {
namespace {

struct ArchiveOptions {
  Age older_than;
  RunQuery where;
  std::string out;
  std::vector<std::string> except;
  bool without_keep = false;
};

std::function<bool(const RunRow&)> wanted_by(Store& store, const RunFilter& filter) {
  if (!filter.lineage) return [filter](const RunRow& run) { return matches(filter, run); };
  std::set<RunId> runs;
  for_each_page(store, unlimited(filter), [&](std::span<const RunRow> page) {
    for (const RunRow& run : page) runs.insert(run.id);
  });
  return [runs = std::move(runs)](const RunRow& run) { return runs.contains(run.id); };
}

// Wanted runs but those of graphs whose current version says how long it keeps them.
std::function<bool(const RunRow&)> left_to_no_policy(Store& store, std::function<bool(const RunRow&)> wanted) {
  std::set<std::string> graphs;
  KeepPolicies policies(store);
  for (const KeepPolicy& policy : policies.current()) graphs.insert(policy.graph);
  return [graphs = std::move(graphs), wanted = std::move(wanted)](const RunRow& run) {
    return !graphs.contains(run.graph) && wanted(run);
  };
}

void print_archive(const ArchiveOptions& options, const ArchiveReport& report) {
  if (report.runs == 0) return print_line("No run is to be archived.");
  print_paragraph((report.was_there ? "Went on with " : "Archived into ") + options.out + ": " +
                  counted(report.runs, "run") + " with " + counted(report.events, "event") + ", " +
                  std::to_string(report.removed) + " removed from the database.");
}

Exit archive_runs(const Settings& settings, const ArchiveOptions& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<CheckpointOptions> checkpoints = checkpoint_options(choose_database(settings));
  if (!checkpoints) return checkpoints.error();
  const Result<SigningKey> key = open_signing_key(*checkpoints);
  if (!key) return key.error();
  Store& store = *opened->store;
  const Result<std::set<RunId>> except = runs_meant(store, options.except);
  if (!except) return except.error();
  const Result<RunFilter> where = known_filter(store, options.where);
  if (!where) return where.error();
  Json kept = Json::array();
  const auto keep = [&](const RunId& run, const std::string& why) {
    kept.push_back({{"run", to_string(run)}, {"says", why}});
    if (!settings.json) print_paragraph("Kept " + to_string(run) + ": " + why + ".");
  };
  const Result<std::string> owner = reach_as_owner(choose_database(settings));  // who may take on cairn_archive
  if (!owner) return owner.error();
  RunArchive archive(*owner);
  const TimeUs before = options.older_than.at_us.value_or(store.database_time() - options.older_than.age_us);
  CheckpointTable signatures(opened->dsn, store.shards());
  Archiver archiver(store, archive, signatures, *key, keep);
  archiver.leave_out(*except);
  WantedRuns wanted{before, where->tags, wanted_by(store, *where)};
  if (options.without_keep) wanted.is_wanted = left_to_no_policy(store, std::move(wanted.is_wanted));
  const Result<ArchiveReport> report = archiver.archive(options.out, wanted, current_actor());
  if (!report) return report.error();
  if (settings.json)
    print_json({{"file", options.out},
                {"runs", report->runs},
                {"events", report->events},
                {"removed", report->removed},
                {"kept", kept}});
  else
    print_archive(options, *report);
  return report->faulty == 0 ? exit_ok : exit_finding;
}

}  // namespace

void add_archive(CommandLine& line) {
  auto& options = line.keep<ArchiveOptions>();
  CLI::App& command = add_command(
      line, "archive",
      "Move ended runs into a file, which is looked over before they are removed; the same again goes on with it",
      "cairn archive --older-than 90d --out old.jsonl",
      [&](const Settings& settings) { return archive_runs(settings, options); });
  add_text(command, "--older-than", "DURATION|TIME", "That ended longer ago (90d, 12h, 30m, 10s), or before this time",
           [&](const std::string& text) { return assign(options.older_than, age_argument(text)); })
      ->required();
  add_where(command, [&](const RunQuery& query) { options.where = query; });
  add_except(command, options.except);
  command.add_flag("--without-keep", options.without_keep,
                   "Leave the runs of graphs that say how long they keep them (\"keep\") to that");
  add_text(command, "--out", "FILE", "Where they go, as an export; compressed if the name ends in .zst",
           [&](const std::string& text) { return assign(options.out, path_argument(text, "an archive")); })
      ->required();
}

}  // namespace cairn
