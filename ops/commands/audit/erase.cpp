#include <CLI/CLI.hpp>
#include <iostream>
#include <set>

#include "ops/answers/words.hpp"
#include "ops/audit/eraser.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/requests/run_ids.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::int64_t sentences_max = 20;  // on a terminal; --json has all

struct EraseOptions {
  ErasePlan plan;
  RunQuery where;
  std::vector<std::string> except;
  Age unused_for{std::nullopt, unused_for_us};
};

// Sentences about single runs: JSON has all of them, people get the first ones.
class SaidOfRuns {
 public:
  explicit SaidOfRuns(bool json) : json_(json) {}
  void add(const RunId& run, const std::string& says) {
    ++count_;
    if (json_) lines_.push_back({{"run", to_string(run)}, {"says", says}});
    if (count_ <= sentences_max) std::cerr << "cairn: " << visible(says) << '\n';
    if (!json_ && count_ == sentences_max) std::cerr << "cairn: What follows is in --json.\n";
  }
  const Json& lines() const { return lines_; }

 private:
  const bool json_;
  std::int64_t count_ = 0;
  Json lines_ = Json::array();
};

std::string plural(std::int64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

void print_erasure(const ErasePlan& plan, const ErasureReport& report) {
  const std::string events = " with " + plural(report.events, "event");
  std::string line = plan.dry_run ? plural(report.runs, "run") + events + " would be erased"
                                  : plural(report.removed, "run") + " erased";
  if (!plan.dry_run && !plan.file.empty() && report.removed > 0) line += ", which " + plan.file + " has";
  if (report.kept > 0) line += ", " + std::to_string(report.kept) + " kept";
  print_paragraph(line + ".");
  if (plan.dry_run) return;
  const RunErasure::Values& values = report.values;
  if (values.removed + values.used + values.recent == 0) return;
  line = plural(values.removed, "large value") + " of " + std::to_string(values.bytes) + " bytes removed";
  if (values.used > 0) line += ", " + std::to_string(values.used) + " kept for other runs";
  if (values.recent > 0)
    line += ", " + std::to_string(values.recent) + " put too lately: the same command removes them later";
  print_paragraph(line + ".");
}

void print_erasure_json(const ErasePlan& plan, const ErasureReport& report, const SaidOfRuns& kept,
                        const SaidOfRuns& copies) {
  Json document = {{"runs", report.runs},
                   {"events", report.events},
                   {"removed", report.removed},
                   {"kept", kept.lines()},
                   {"copies", copies.lines()},
                   {"values",
                    {{"removed", report.values.removed},
                     {"bytes", report.values.bytes},
                     {"used", report.values.used},
                     {"recent", report.values.recent},
                     {"young", report.values.recent}}}};
  if (plan.dry_run) document["dry_run"] = true;
  if (!plan.file.empty()) document["file"] = plan.file;
  print_json(document);
}

Exit erase_runs(const Settings& settings, EraseOptions options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<CheckpointOptions> checkpoints = checkpoint_options(choose_database(settings));
  if (!checkpoints) return checkpoints.error();
  const Result<SigningKey> key = open_signing_key(*checkpoints);
  if (!key) return key.error();
  const Result<std::string> owner = reach_as_owner(choose_database(settings));  // who may take on cairn_archive
  if (!owner) return owner.error();
  Store& store = *opened->store;
  Result<std::set<RunId>> except = runs_meant(store, options.except);
  if (!except) return except.error();
  options.plan.except = *std::move(except);
  Result<RunFilter> where = known_filter(store, options.where);
  if (!where) return where.error();
  options.plan.where = *std::move(where);
  RunRecords records(opened->dsn, store.shards(), 1);
  RunArchive archive(*owner);
  RunErasure erasure(*owner);
  CheckpointTable signatures(opened->dsn, store.shards());
  SaidOfRuns kept(settings.json), copies(settings.json);
  Progress progress;
  options.plan.by = current_actor();
  options.plan.unused_us = options.unused_for.age_us;
  const auto say = [&progress](SaidOfRuns& of) {
    return [&](const RunId& run, const std::string& says) {
      progress.wipe();
      of.add(run, says);
    };
  };
  Eraser eraser({store, records, archive, erasure, signatures, *key}, options.plan, say(kept), say(copies),
                [&progress](const ErasureReport& so_far) {
                  progress.show(counted(so_far.runs, "run") + ", " + std::to_string(so_far.removed) + " erased");
                });
  const Result<ErasureReport> report = eraser.erase();
  progress.wipe();
  if (!report) return report.error();
  if (settings.json)
    print_erasure_json(options.plan, *report, kept, copies);
  else
    print_erasure(options.plan, *report);
  return report->kept == 0 ? exit_ok : exit_refused;
}

Status check_erase(const EraseOptions& options) {
  if (options.unused_for.at_us)
    return Error{Code::invalid, "Expected a duration like 1h, 30m or 0s in --unused-for, but found a time."};
  if (options.plan.even_faulty && !options.plan.file.empty())
    return Error{Code::invalid, "Expected --faulty without --out, but an archive takes whole histories alone."};
  return Done{};
}

}  // namespace

void add_erase(CommandLine& line) {
  auto& options = line.keep<EraseOptions>();
  CLI::App& command = add_command(
      line, "erase", "Remove ended runs that must go, with their large values; signed tombstones stay, without content",
      "cairn erase --where tag.customer=jane --dry-run",
      [&](const Settings& settings) { return erase_runs(settings, options); }, [&] { return check_erase(options); });
  add_where(command, [&](const RunQuery& query) { options.where = query; })->required();
  add_except(command, options.except);
  add_text(command, "--out", "FILE", "Archive them first, as `archive` does; compressed if the name ends in .zst",
           [&](const std::string& text) { return assign(options.plan.file, path_argument(text, "an archive")); });
  add_text(command, "--unused-for", "DURATION",
           "Remove large values that nothing has put for so long (1h); less only while nothing is at work",
           [&](const std::string& text) { return assign(options.unused_for, age_argument(text)); });
  command.add_flag("--faulty", options.plan.even_faulty, "Also runs whose history has a fault");
  command.add_flag("--dry-run", options.plan.dry_run, "Say what would become of the runs, and write nothing");
}

}  // namespace cairn
