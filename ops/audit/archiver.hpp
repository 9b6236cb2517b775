// Moves ended runs out of the database into a file. The file is whole, on disk and looked over before anything is
// removed; each removal leaves a signed tombstone. What was interrupted is finished by the same call: a file that is
// there already is an archive whose runs are still to be removed. Not thread-safe.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ops/audit/export_audit.hpp"
#include "storage/proof/run_archive.hpp"

namespace cairn {

struct ArchiveReport {
  bool was_there = false;  // the file: only what it holds was removed
  std::int64_t runs = 0;   // in the file
  std::int64_t events = 0;
  std::int64_t removed = 0;
};

class Archiver {
 public:
  using Kept = std::function<void(const RunId& run, const std::string& why)>;

  // REQUIRES: all outlive it.
  Archiver(Store& store, RunArchive& archive, const SigningKey& key, Kept kept);

  // Runs that ended before `ended_before`, are wanted and called by nobody who is still there, with all that they
  // called; none that an open run refers to. `by`: who asks. Refuses `invalid` (the file cannot be written), `corrupt`
  // (it, or a history, does not hold what it claims), `unsupported` (this login may not remove runs).
  Result<ArchiveReport> archive(const std::string& file, TimeUs ended_before,
                                const std::function<bool(const RunRow&)>& is_wanted, const std::string& by);

 private:
  struct File;
  Status write(const std::string& file, TimeUs ended_before, const std::function<bool(const RunRow&)>& is_wanted,
               const std::string& by);
  Status add_family(const RunId& root, const std::function<Status(const RunRow&)>& add);
  Status look_over(const std::string& file);
  Status remove_all(const std::string& file);
  Status remove(Shard shard);

  Store& store_;
  RunArchive& archive_;
  const SigningKey& key_;
  Kept kept_;
  std::set<RunId> referred_;  // by open runs
  ArchiveReport report_;
  Tombstone pattern_;                          // what all tombstones of the file have in common
  std::vector<std::vector<Tombstone>> going_;  // of each shard, those that were read and not yet removed
};

}  // namespace cairn
