// The archiver: moves ended runs out of the database into a file. The file is complete, on disk and verified before
// anything is removed; each removal leaves a signed tombstone. The same call resumes an interrupted archive: a file
// that exists already is one whose runs are still to be removed. It works under the lock of the database that lets one
// process archive at a time, so that no run lands in two files. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/audit/export_audit.hpp"
#include "storage/proof/checkpoint_table.hpp"
#include "storage/proof/run_archive.hpp"

namespace cairn {

// The time for which an archive waits for another process that archives.
inline constexpr std::int64_t archive_patience_ms = 60'000;

struct ArchiveReport {
  bool was_there = false;  // the file existed: only its runs were removed
  std::int64_t runs = 0;   // in the file
  std::int64_t events = 0;
  std::int64_t removed = 0;
  std::int64_t faulty = 0;  // runs that cannot be archived, which are reported as kept
};

// Runs to archive.
struct WantedRuns {
  TimeUs ended_before = 0;
  Tags tags = {};  // all have these, by whose index they are found
  std::function<bool(const RunRow&)> is_wanted;
};

class Archiver {
 public:
  using Kept = std::function<void(const RunId& run, const std::string& why)>;

  // REQUIRES: all outlive it.
  Archiver(Store& store, RunArchive& archive, CheckpointTable& checkpoints, const SigningKey& key, Kept kept);

  // Other bounds of a run than those of every export.
  void bound(const ExportBounds& bounds) { bounds_ = bounds; }
  // Under a lock that is held already, and outlives this. Otherwise each call below takes it, and refuses `unavailable`
  // when another process has archived for all of the patience.
  void work_under(ArchiveLock& lock) { lent_ = &lock; }
  void wait_at_most(std::int64_t patience_ms) { patience_ms_ = patience_ms; }
  // Keeps these runs, and the runs that called them.
  void leave_out(const std::set<RunId>& runs);

  // Archives these runs, with all that they called, and erases them: their tombstones name `by`. If the
  // file was there, only its runs in `allowed` are removed. Keeps and refuses as archive().
  Result<ArchiveReport> erase(const std::string& file, const std::vector<RunId>& roots, std::set<RunId> allowed,
                              const std::string& by);

  // Archives these runs, with all that they called. Keeps and refuses as the next one.
  Result<ArchiveReport> archive(const std::string& file, const std::vector<RunId>& roots, const std::string& by);

  // Archives the runs that ended before `ended_before`, are wanted and have no calling run in the database, with all
  // runs that they called; never a run to which an open run refers, nor one that cannot be written, contradicts its
  // hashes or is above the bounds of an export: those are reported to `kept`. When a batch is removed, they are looked
  // for once more: what has gone on since, or is referred to by now, stays with all that goes together with it. `by`:
  // the actor on record. Refuses `invalid` (the file cannot be written), `corrupt` (a file that was there contradicts
  // its hashes), `unsupported` (this login may not remove runs), `unavailable` (another process archives, or the lock
  // was lost). A refused call leaves nothing of a new file that was not complete.
  Result<ArchiveReport> archive(const std::string& file, const WantedRuns& wanted, const std::string& by);

 private:
  // Calls `take` with each run that is wanted and that no run in the database called.
  using Take = std::function<bool(const RunId&)>;  // false: no more
  using Roots = std::function<void(const Take& take)>;
  Result<ArchiveReport> archive(const std::string& file, const Roots& roots, const std::string& by);
  Result<ArchiveReport> archive_alone(const std::string& file, const Roots& roots, const std::string& by);
  Status write_new(const std::string& file, const Roots& roots, const std::string& by);
  Status make(const std::string& file, const Roots& roots, const std::string& by);
  Status write(const std::string& file, const Roots& roots, const std::string& by);
  void add_family(const RunId& root, const std::function<void(const RunRow&)>& add);
  std::string reason_to_keep(const RunId& root, const std::vector<RunArchive::Member>& family);
  std::string reason_to_keep(const RunId& root, const RunArchive::Member& member) const;
  Status check_file(const std::string& file, bool is_own);
  // Runs of a shard that were read from the file and not yet removed, and for each the one that goes first of those
  // that go together with it.
  struct Going {
    std::vector<Tombstone> runs;
    std::vector<RunId> roots;
    std::int64_t events = 0;
  };
  RunId root_of(RunId run) const;
  Status remove_all(const std::string& file);
  Status take(const RunState& state, const Hash& chain_hash);
  void keep_referred(Going& going);
  Status remove(Shard shard);
  ArchiveLock& lock() { return lent_ != nullptr ? *lent_ : *own_; }

  Store& store_;
  RunArchive& archive_;
  CheckpointTable& checkpoints_;
  const SigningKey& key_;
  Kept kept_;
  ArchiveLock* lent_ = nullptr;
  std::unique_ptr<ArchiveLock> own_;  // in a call, where none was lent
  std::int64_t patience_ms_ = archive_patience_ms;
  std::set<RunId> left_out_;  // as asked
  std::optional<std::set<RunId>> allowed_;
  std::map<RunId, std::string> faulty_;  // runs that cannot be archived, and why
  std::map<RunId, std::string> kept_runs_;
  ArchiveReport report_;
  ExportBounds bounds_;
  std::map<RunId, RunId> callers_;  // of the runs in the file that others called
  Tombstone pattern_;               // the fields common to all tombstones of the file
  std::vector<Going> going_;        // by shard
};

}  // namespace cairn
