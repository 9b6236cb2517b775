// The importer: takes the runs of an export into a database, and records where they come from. It reads the whole file
// first and writes nothing unless all of it is sound and fits; then it reads it again and writes run by run, each in
// one transaction, only what it found the first time. Importing again is harmless (idempotent): runs that exist are
// skipped, and signed if an import of the same file was ended before it signed them. Memory is that of one run, at most
// run_bytes_max, and 150 bytes for each run. Not thread-safe.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ops/audit/export_audit.hpp"
#include "storage/proof/checkpoint_table.hpp"
#include "storage/proof/gathered_heads.hpp"
#include "storage/proof/run_records.hpp"

namespace cairn {

struct ImportReport {
  std::int64_t imported = 0;
  std::int64_t left = 0;  // existed already
  std::int64_t events = 0;
};

struct ImportOptions {
  bool running = false;          // also runs that have not ended
  TrustedKeys* trust = nullptr;  // a checkpoint of one of these keys must cover each run; null: none is needed
  std::string by;                // the actor on record
  // The most that is kept of a run until it is written: its events and large values.
  std::size_t run_bytes_max = std::size_t{1} << 30;
};

class Importer {
 public:
  struct Parts {
    Store& store;
    RunRecords& records;
    CheckpointTable& signatures;
    GatheredHeads& heads;  // collects the heads that are to be signed here
  };
  // REQUIRES: the parts outlive it.
  Importer(const Parts& parts, ImportOptions options)
      : store_(parts.store),
        records_(parts.records),
        signatures_(parts.signatures),
        heads_(parts.heads),
        options_(std::move(options)) {}

  // A graph of a name that has no current version here becomes current when all runs are there, in the version of the
  // run that started last; a name that has one keeps it. Refuses `not_found` (no file), `corrupt` (it contradicts its
  // own hashes, lacks a trusted signature, or changes while it is read), `limit` (a run above run_bytes_max),
  // `conflict` (another number of shards, a run that exists with another history), `invalid` (a run that has not ended,
  // without `running`).
  Result<ImportReport> import(const std::string& file);

 private:
  Status check(const std::string& file);
  Status check_head(const ExportHead& head);
  Status check_run(const RunState& state, const Hash& chain_hash);
  Status write(const std::string& file);
  void note_graph(const RunState& state);
  void make_graphs_current();
  Status write_run(const RunState& state, const Hash& chain_hash);
  void note_left(const Head& head);
  void sign_left();
  void keep(std::size_t bytes);
  void drop_run();

  Store& store_;
  RunRecords& records_;
  CheckpointTable& signatures_;
  GatheredHeads& heads_;
  const ImportOptions options_;
  ImportReport report_;
  struct NewGraph {
    TimeUs started_at = 0;
    std::string version;
  };
  std::set<std::string> names_here_;            // of graphs with a current version, before the import
  std::map<std::string, NewGraph> new_graphs_;  // by name: that of the run which started last
  std::vector<ExportedHead> found_;             // by the first reading, in the order of the runs
  std::size_t written_ = 0;                     // of them, by the second
  std::vector<Head> left_;                      // runs that an earlier import of this file brought
  TimeUs left_since_us_ = 0;                    // the first of those imports
  ImportOrigin origin_;
  std::vector<EventRow> events_;  // of the run being read
  std::map<Hash, std::string> blobs_;
  std::size_t kept_bytes_ = 0;  // of both
};

}  // namespace cairn
