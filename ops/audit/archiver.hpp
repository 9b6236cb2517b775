// The archiver: moves ended runs out of the database into a file. The file is complete, on disk and verified before
// anything is removed; each removal leaves a signed tombstone. The same call resumes an interrupted archive: a file
// that exists already is one whose runs are still to be removed. Not thread-safe.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ops/audit/export_audit.hpp"
#include "storage/proof/run_archive.hpp"

namespace cairn {

struct ArchiveReport {
  bool was_there = false;  // the file existed: only its runs were removed
  std::int64_t runs = 0;   // in the file
  std::int64_t events = 0;
  std::int64_t removed = 0;
};

class Archiver {
 public:
  using Kept = std::function<void(const RunId& run, const std::string& why)>;

  // REQUIRES: all outlive it.
  Archiver(Store& store, RunArchive& archive, const SigningKey& key, Kept kept);

  // Archives the runs that ended before `ended_before`, are wanted and have no calling run in the database, with all
  // runs that they called; never a run to which an open run refers. `by`: the actor on record. Refuses `invalid` (the
  // file cannot be written), `corrupt` (the file, or a history, contradicts its hashes), `unsupported` (this login may
  // not remove runs).
  Result<ArchiveReport> archive(const std::string& file, TimeUs ended_before,
                                const std::function<bool(const RunRow&)>& is_wanted, const std::string& by);

 private:
  struct File;
  Status write(const std::string& file, TimeUs ended_before, const std::function<bool(const RunRow&)>& is_wanted,
               const std::string& by);
  Status add_family(const RunId& root, const std::function<Status(const RunRow&)>& add);
  Status check_file(const std::string& file);
  Status remove_all(const std::string& file);
  Status remove(Shard shard);

  Store& store_;
  RunArchive& archive_;
  const SigningKey& key_;
  Kept kept_;
  std::set<RunId> referred_;  // by open runs
  ArchiveReport report_;
  Tombstone pattern_;                          // the fields common to all tombstones of the file
  std::vector<std::vector<Tombstone>> going_;  // by shard: runs read from the file and not yet removed
};

}  // namespace cairn
