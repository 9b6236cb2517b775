// The importer: takes the runs of an export into a database. It reads the whole file first and writes nothing unless
// all of it is sound and fits; then it writes run by run, each in one transaction. Importing again is harmless
// (idempotent): runs that exist are skipped. Not thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/audit/export_audit.hpp"
#include "storage/proof/gathered_heads.hpp"
#include "storage/proof/run_records.hpp"

namespace cairn {

struct ImportReport {
  std::int64_t imported = 0;
  std::int64_t left = 0;  // existed already
  std::int64_t events = 0;
};

class Importer {
 public:
  // `heads` collects the new heads, which are then signed here. `running`: also imports runs that have not ended.
  // REQUIRES: all outlive it.
  Importer(Store& store, RunRecords& records, GatheredHeads& heads, bool running)
      : store_(store), records_(records), heads_(heads), running_(running) {}

  // Refuses `not_found` (no file), `corrupt` (it contradicts its own hashes), `conflict` (another number of shards, a
  // run that exists with another history), `invalid` (a run that has not ended, without `running`).
  Result<ImportReport> import(const std::string& file);

 private:
  Status check(const std::string& file);
  Status check_head(const ExportHead& head) const;
  Status check_run(const RunState& state, const Hash& chain_hash);
  Status write(const std::string& file);
  Status write_run(const RunState& state, const Hash& chain_hash);

  Store& store_;
  RunRecords& records_;
  GatheredHeads& heads_;
  const bool running_;
  ImportReport report_;
  std::vector<EventRow> events_;  // of the run being read
  std::map<Hash, std::string> blobs_;
};

}  // namespace cairn
