// The eraser: removes ended runs that must go, with all that they called and the large values that nothing else refers
// to, and leaves a signed tombstone for each. Each batch is one transaction, so that the same call goes on after any
// interruption. At its end it forgets what limits of queues keep of keys that no run has any more. Not thread-safe.
// Throws StoreUnavailable, as Store does.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/audit/auditor.hpp"
#include "storage/limits/queue_limits.hpp"
#include "storage/proof/checkpoint_table.hpp"
#include "storage/proof/run_archive.hpp"
#include "storage/proof/run_erasure.hpp"

namespace cairn {

struct ErasePlan {
  RunFilter where;
  std::set<RunId> except;      // runs that stay, with those that called them
  std::string file;            // an archive of them all is made and verified first; "": none
  std::string by;              // the actor on record
  std::int64_t unused_us = 0;  // large values that nothing has put for so long go
  bool even_faulty = false;    // also histories with a fault, which can prove nothing any more
  bool dry_run = false;        // only count
};

struct ErasureReport {
  bool file_was_there = false;
  std::int64_t runs = 0;    // that may go: those that match and those that they called
  std::int64_t events = 0;  // of those
  std::int64_t removed = 0;
  std::int64_t kept = 0;    // that match and stay
  std::int64_t copies = 0;  // other runs with a copy of what an erased one had
  RunErasure::Values values;
};

class Eraser {
 public:
  struct Parts {
    Store& store;
    RunRecords& records;
    RunArchive& archive;
    RunErasure& erasure;
    CheckpointTable& checkpoints;
    const SigningKey& key;
  };
  using Said = std::function<void(const RunId& run, const std::string& says)>;
  using Moved = std::function<void(const ErasureReport& so_far)>;

  // `kept`: a run that matches and stays, and why, in a sentence. `copied`: an ended run that stays and has a copy.
  // REQUIRES: the parts outlive it.
  Eraser(const Parts& parts, ErasePlan plan, Said kept, Said copied, Moved moved);

  // Refuses as Archiver::erase and RunArchive::remove.
  Result<ErasureReport> erase();

 private:
  struct Family {
    RunId root;
    std::vector<RunErasure::Member> members;
  };
  void find_wanted();
  std::optional<RunId> caller_that_stays(const RunId& run);
  Status judge_all();
  Status judge(Shard shard, const std::vector<RunId>& roots);
  std::string reason_to_keep(const Family& family, const std::map<RunId, RunErasure::Heir>& open_heirs) const;
  void leave_out_faulty(Shard shard, std::vector<Family>& families);
  Status remove(Shard shard, std::span<const Family> families);
  Status remove_at_once(Shard shard, std::span<const Family> families);
  Status remove_by_file();
  Status remove_values();
  void note_keys(const RunRow& run);
  void note_keys_of_called(const RunId& run);
  void forget_keys();
  void keep(const RunId& run, const std::string& says);
  void report_copies();

  Parts parts_;
  const ErasePlan plan_;
  Said kept_;
  Said copied_;
  Moved moved_;
  std::vector<RunId> wanted_;  // in order of their shards
  std::set<RunId> is_wanted_;
  std::map<RunId, RunId> callers_;                      // of wanted runs
  std::vector<RunId> roots_;                            // for the file
  std::set<RunId> going_;                               // all runs that may go
  std::map<RunId, RunId> copies_;                       // ended heirs -> the run they have a copy of
  std::vector<QueueLimits> keyed_;                      // whose keys are tags
  std::set<std::pair<std::string, std::string>> keys_;  // queues, and keys that runs had which may go
  Auditor auditor_;
  ErasureReport report_;
};

}  // namespace cairn
