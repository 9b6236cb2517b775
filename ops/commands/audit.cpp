// Is what is kept what happened? verify looks over histories and all that is derived from them; rebuild makes the
// latter anew.
#include <algorithm>
#include <mutex>
#include <tuple>

#include "ops/audit/auditor.hpp"
#include "ops/audit/checkpoint_audit.hpp"
#include "ops/audit/export_audit.hpp"
#include "ops/audit/run_source.hpp"
#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/terminal/print.hpp"
#include "storage/postgres/postgres_store.hpp"

namespace cairn {
namespace {

// However the threads came to them: by run, then by event.
bool stands_before(const Json& a, const Json& b) { return std::tie(a["run"], a["seq"]) < std::tie(b["run"], b["seq"]); }

// What the threads have found so far: findings are printed as they come, and a line of progress under them if a person
// reads along. Safe from any thread.
class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  void add(const Audited& audited, bool was_rebuilt) {
    const std::lock_guard lock(mutex_);
    ++runs_;
    events_ += audited.events;
    rebuilt_ += was_rebuilt ? 1 : 0;
    for (const Finding& finding : audited.findings) take(finding);
    progress_.show(std::to_string(runs_) + " runs, " + std::to_string(events_) + " events, " + std::to_string(count_) +
                   " findings");
  }

  // Of no run, or of what joins runs.
  void add(const std::vector<Finding>& findings) {
    const std::lock_guard lock(mutex_);
    for (const Finding& finding : findings) take(finding);
  }

  void count(std::int64_t runs, std::int64_t events) {
    const std::lock_guard lock(mutex_);
    runs_ += runs;
    events_ += events;
  }

  // `rebuilds`: with the number of runs that were.
  int close(bool rebuilds) {
    progress_.wipe();
    if (json_) {
      std::stable_sort(findings_.begin(), findings_.end(), stands_before);
      Json document = {{"runs", runs_}, {"events", events_}, {"findings", findings_}};
      if (rebuilds) document["rebuilt"] = rebuilt_;
      print_json(document);
    } else {
      print_line(summary(rebuilds));
    }
    return count_ == 0 ? 0 : 1;
  }

  std::int64_t rebuilt() const { return rebuilt_; }

 private:
  void take(const Finding& finding) {
    ++count_;
    if (json_) return findings_.push_back(finding_json(finding));
    progress_.wipe();
    const std::string where = finding.run.is_nil() ? "-" : to_string(finding.run);
    print_line(where + " " + std::to_string(finding.seq) + " " + painted(finding.kind, Paint::red) + ": " +
               finding.says);
  }

  std::string summary(bool rebuilds) const {
    std::string text = std::to_string(runs_) + " runs, " + std::to_string(events_) + " events";
    if (rebuilds) text += ", " + std::to_string(rebuilt_) + " runs rebuilt";
    return text + (count_ == 0 ? ": nothing found." : ": " + std::to_string(count_) + " findings.");
  }

  const bool json_;
  std::mutex mutex_;
  std::int64_t runs_ = 0;
  std::int64_t events_ = 0;
  std::int64_t rebuilt_ = 0;
  std::int64_t count_ = 0;
  Json findings_ = Json::array();
  Progress progress_;
};

// The database with a connection for each thread of the audit. Not `open_database`, which would add to it what it
// lacks: an audit changes nothing.
struct Audit {
  std::string dsn;
  std::unique_ptr<Store> store;
  std::unique_ptr<RunRecords> records;
};

Result<Audit> open_audit(const Settings& settings) {
  const Result<std::string> dsn = reach_database(choose_database(settings));
  if (!dsn) return dsn.error();
  Result<std::unique_ptr<Store>> store = open_store(*dsn, audit_threads());
  if (!store) return store.error();
  const std::int32_t shards = (*store)->shards();
  return Audit{*dsn, *std::move(store), std::make_unique<RunRecords>(*dsn, shards, audit_threads())};
}

// Refuses `not_found` for one of which nothing is kept.
Result<std::vector<RunPlace>> named_runs(Audit& audit, const std::vector<std::string>& texts) {
  Auditor auditor(*audit.store, *audit.records, Auditor::Beside::leave);
  std::vector<RunPlace> runs;
  for (const std::string& text : texts) {
    const Result<RunId> run = run_argument(text);
    if (!run) return run.error();
    const RunPlace place{*run, shard_of(*run, audit.store->shards())};
    if (std::any_of(runs.begin(), runs.end(), [&](const RunPlace& named) { return named.run == place.run; })) continue;
    runs.push_back(place);
    if (!auditor.is_kept(place))
      return Error{Code::not_found, "Expected run " + to_string(*run) + ", but there is none."};
  }
  return runs;
}

Result<RunSource> source_of(Audit& audit, const RunSelection& selection) {
  if (selection.all) return all_runs(*audit.records);
  if (selection.where) return matching_runs(*audit.store, unlimited(*selection.where));
  Result<std::vector<RunPlace>> runs = named_runs(audit, selection.runs);
  if (!runs) return runs.error();
  return these_runs(*std::move(runs));
}

void audit_each(Audit& audit, const RunSource& source, Auditor::Beside beside, bool rebuilds, Report& report) {
  for_each_page(source, audit_threads(), [&]() -> UseRuns {
    auto auditor = std::make_shared<Auditor>(*audit.store, *audit.records, beside);  // a function is copyable
    return [auditor, rebuilds, &report](const std::vector<RunPlace>& page) {
      auditor->audit(page, [&](const RunPlace& place, Audited audited) {
        const bool was_rebuilt = rebuilds && auditor->rebuild(place, audited);
        report.add(audited, was_rebuilt);
      });
    };
  });
}

// What the processes signed, against what is there.
Status audit_checkpoints(const Settings& settings, const Audit& audit, Report& report) {
  const Result<CheckpointOptions> options = checkpoint_options(choose_database(settings));
  if (!options) return options.error();
  CheckpointTable table(audit.dsn, audit.store->shards());
  const CheckpointFiles files(options->folder, audit.store->identity());
  CheckpointAudit(table, files, [&report](const Finding& finding) { report.add({finding}); }).look();
  return Done{};
}

Exit verify_file(const Settings& settings, const std::string& file) {
  Report report(settings.json);
  ExportAudit audit(file, [&report](const Finding& finding) { report.add({finding}); });
  if (const Status read = audit.look(); !read) return read.error();
  report.count(audit.counts().runs, audit.counts().events);
  return report.close(false);
}

}  // namespace

Exit verify(const Settings& settings, const VerifyOptions& options) {
  if (!options.file.empty()) return verify_file(settings, options.file);
  Result<Audit> audit = open_audit(settings);
  if (!audit) return audit.error();
  const Result<RunSource> source = source_of(*audit, options.of);
  if (!source) return source.error();
  Report report(settings.json);
  report.add(graph_findings(audit->store->graphs()));
  audit_each(*audit, *source, Auditor::Beside::read, false, report);
  if (options.of.all)
    if (const Status looked = audit_checkpoints(settings, *audit, report); !looked) return looked.error();
  return report.close(false);
}

Exit rebuild(const Settings& settings, bool check) {
  Result<Audit> audit = open_audit(settings);
  if (!audit) return audit.error();
  Report report(settings.json);
  audit_each(*audit, all_runs(*audit->records), Auditor::Beside::leave, !check, report);
  if (report.rebuilt() > 0) audit->store->notify();
  return report.close(!check);
}

}  // namespace cairn
