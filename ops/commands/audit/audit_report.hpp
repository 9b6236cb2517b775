// The frame of the commands that check runs, verify and rebuild: the database with a connection for each thread, the
// check of many runs at once, and the report of their findings. AuditReport is safe from any thread, everything else is
// used from one.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/audit/auditor.hpp"
#include "ops/audit/run_source.hpp"
#include "ops/audit/trusted_keys.hpp"
#include "ops/requests/requests.hpp"
#include "ops/terminal/exit_code.hpp"
#include "ops/terminal/print.hpp"
#include "storage/proof/checkpoint_table.hpp"
#include "storage/proof/gathered_heads.hpp"

namespace cairn {

// The findings of many threads: printed as they are found (with --json at the end), with a progress line below them on
// a terminal.
class AuditReport {
 public:
  explicit AuditReport(bool json) : json_(json) {}

  void add(const Audited& audited, bool was_rebuilt);
  void add(const std::vector<Finding>& findings);  // of no single run
  void count(std::int64_t runs, std::int64_t events);
  // A run that was erased, by its tombstone.
  void add_erased(const Tombstone& tombstone);
  void count_accepted() { ++accepted_; }
  std::int64_t accepted() const { return accepted_; }
  std::int64_t rebuilt() const { return rebuilt_; }

  // Prints the summary; with `rebuilds`, also the number of rebuilt runs.
  ExitCode close(bool rebuilds);

 private:
  struct Erased {
    std::int64_t runs = 0;
    std::string first;  // the ids of some of them
  };
  void take(const Finding& finding);
  void print_erased() const;
  std::string summary(bool rebuilds) const;

  const bool json_;
  std::mutex mutex_;
  std::int64_t runs_ = 0;
  std::int64_t events_ = 0;
  std::int64_t rebuilt_ = 0;
  std::atomic<std::int64_t> accepted_ = 0;  // heads that are signed by hand
  std::int64_t count_ = 0;
  Json findings_ = Json::array();
  std::map<std::pair<TimeUs, std::string>, Erased> erased_;  // by time and actor
  Json erased_runs_ = Json::array();
  Progress progress_;
};

// A database opened for an audit. Unlike open_database, this adds nothing that the database lacks: an audit changes
// nothing.
struct AuditedDatabase {
  std::string dsn;
  bool is_replica = false;
  std::unique_ptr<Store> store;
  std::unique_ptr<RunRecords> records;
};

// Refuses as reach_database and open_store.
Result<AuditedDatabase> open_for_audit(const Settings& settings);

// Audits the runs of `source` with all threads; `rebuilds`: also writes their derived rows where they differ.
void audit_each(AuditedDatabase& database, const RunSource& source, Auditor::Extent extent, bool rebuilds,
                AuditReport& report);

// The same for a check of signatures. `accepted`: gains the heads of histories in which nothing but a missing signature
// was found, in place of the finding; null: none.
void audit_signatures(AuditedDatabase& database, const RunSource& source, const SignedUntil& until,
                      GatheredHeads* accepted, AuditReport& report);

// Adds all erased runs to the report. A tombstone that none of the keys signed is a finding of kind `tombstone`.
void report_erased(CheckpointTable& table, TrustedKeys& keys, const std::string& database, AuditReport& report);

}  // namespace cairn
