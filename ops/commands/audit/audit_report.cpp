#include "ops/commands/audit/audit_report.hpp"

#include <algorithm>
#include <tuple>

#include "ops/answers/words.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/local_time.hpp"

namespace cairn {
namespace {

constexpr std::int64_t erased_shown_max = 3;
constexpr std::int32_t erased_page = 1'000;

// By run, then by event, whichever thread was first.
bool stands_before(const Json& a, const Json& b) { return std::tie(a["run"], a["seq"]) < std::tie(b["run"], b["seq"]); }

}  // namespace

void AuditReport::add(const Audited& audited, bool was_rebuilt) {
  const std::lock_guard lock(mutex_);
  ++runs_;
  events_ += audited.events;
  rebuilt_ += was_rebuilt ? 1 : 0;
  for (const Finding& finding : audited.findings) take(finding);
  progress_.show(counted(runs_, "run") + ", " + counted(events_, "event") + ", " + counted(count_, "finding"));
}

void AuditReport::add(const std::vector<Finding>& findings) {
  const std::lock_guard lock(mutex_);
  for (const Finding& finding : findings) take(finding);
}

void AuditReport::count(std::int64_t runs, std::int64_t events) {
  const std::lock_guard lock(mutex_);
  runs_ += runs;
  events_ += events;
}

ExitCode AuditReport::close(bool rebuilds) {
  progress_.wipe();
  if (json_) {
    std::stable_sort(findings_.begin(), findings_.end(), stands_before);
    Json document = {{"runs", runs_}, {"events", events_}, {"findings", findings_}};
    if (rebuilds) document["rebuilt"] = rebuilt_;
    if (accepted_ > 0) document["accepted"] = accepted_.load();
    if (!erased_runs_.empty()) document["erased"] = erased_runs_;
    print_json(document);
  } else {
    print_erased();
    print_paragraph(summary(rebuilds));
  }
  return count_ == 0 ? exit_ok : exit_finding;
}

void AuditReport::add_erased(const Tombstone& tombstone) {
  const std::lock_guard lock(mutex_);
  const std::string run = to_string(tombstone.head.run);
  if (json_) {
    Json line = {{"run", run}, {"at", time_text(tombstone.at_us)}, {"by", tombstone.erased_by}};
    if (!tombstone.file.empty()) line["file"] = tombstone.file;
    erased_runs_.push_back(std::move(line));
    return;
  }
  Erased& erased = erased_[{tombstone.at_us, tombstone.erased_by}];
  if (erased.runs++ < erased_shown_max) erased.first += (erased.first.empty() ? "" : ", ") + run;
}

void AuditReport::print_erased() const {
  for (const auto& [act, erased] : erased_)
    print_paragraph("Erased at " + local_time(act.first) + " by " + act.second + ": " + counted(erased.runs, "run") +
                    ", " + erased.first + (erased.runs > erased_shown_max ? ", ... (all in --json)." : "."));
}

void AuditReport::take(const Finding& finding) {
  ++count_;
  if (json_) return findings_.push_back(finding_json(finding));
  progress_.wipe();
  // One about a whole file or database has no run, and one about a whole run no event.
  const std::string run = finding.run.is_nil() ? "" : to_string(finding.run) + " ";
  const std::string seq = finding.run.is_nil() && finding.seq == 0 ? "" : std::to_string(finding.seq) + " ";
  print_paragraph(run + seq + painted(finding.kind, Paint::red) + ": " + finding.says);
}

std::string AuditReport::summary(bool rebuilds) const {
  std::string text = counted(runs_, "run") + ", " + counted(events_, "event");
  if (rebuilds) text += ", " + counted(rebuilt_, "run") + " rebuilt";
  if (accepted_ > 0) text += ", " + std::to_string(accepted_) + " unsigned ends accepted and signed";
  return text + (count_ == 0 ? ": nothing found." : ": " + counted(count_, "finding") + ".");
}

Result<AuditedDatabase> open_for_audit(const Settings& settings) {
  const DatabaseChoice choice = choose_database(settings);
  const Result<std::string> dsn = reach_database(choice);
  if (!dsn) return dsn.error();
  bool is_replica = false;
  Result<std::unique_ptr<Store>> store =
      choice.may_lag ? open_store_to_read(*dsn, audit_threads(), is_replica) : open_store(*dsn, audit_threads());
  if (!store) return store.error();
  const std::int32_t shards = (*store)->shards();
  return AuditedDatabase{*dsn, is_replica, *std::move(store),
                         std::make_unique<RunRecords>(*dsn, shards, audit_threads())};
}

void audit_each(AuditedDatabase& database, const RunSource& source, Auditor::Extent extent, bool rebuilds,
                AuditReport& report) {
  for_each_page(source, audit_threads(), [&]() -> UseRuns {
    auto auditor = std::make_shared<Auditor>(*database.store, *database.records, extent);  // a function is copyable
    return [auditor, rebuilds, &report](const std::vector<RunPlace>& page) {
      auditor->audit(page, [&](const RunPlace& place, Audited audited) {
        const bool was_rebuilt = rebuilds && auditor->rebuild(place, audited);
        report.add(audited, was_rebuilt);
      });
    };
  });
}

void audit_signatures(AuditedDatabase& database, const RunSource& source, const SignedUntil& until,
                      GatheredHeads* accepted, AuditReport& report) {
  for_each_page(source, audit_threads(), [&]() -> UseRuns {
    auto auditor =
        std::make_shared<Auditor>(*database.store, *database.records, Auditor::Extent::with_values_and_origin, &until);
    return [auditor, accepted, &report](const std::vector<RunPlace>& page) {
      auditor->audit(page, [&](const RunPlace&, Audited audited) {
        const bool is_sound = std::all_of(audited.findings.begin(), audited.findings.end(),
                                          [](const Finding& one) { return one.kind == "unsigned"; });
        if (accepted != nullptr && audited.unsigned_head && is_sound) {
          accepted->note(*audited.unsigned_head);
          report.count_accepted();
          audited.findings.clear();
        }
        report.add(audited, false);
      });
    };
  });
}

void report_erased(CheckpointTable& table, TrustedKeys& keys, const std::string& database, AuditReport& report) {
  Shard shard = 0;
  RunId after;
  for (;;) {
    const std::vector<Tombstone> page = table.erased(shard, after, erased_page);
    for (const Tombstone& one : page) {
      const PublicKey* key = keys.find(one.key);
      if (key != nullptr && is_signed_by(*key, signed_bytes(one, database), one.signature))
        report.add_erased(one);
      else
        report.add({{one.head.run, one.head.seq, "tombstone",
                     "Expected the tombstone of an erased run to be signed by a trusted key, but it is not."}});
    }
    if (page.size() < static_cast<std::size_t>(erased_page)) return;
    shard = page.back().shard;
    after = page.back().head.run;
  }
}

}  // namespace cairn
