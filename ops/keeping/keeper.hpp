// The keeper: archives the ended runs of graphs that say how long they keep them ("keep": "90d"). Several processes may
// have one: a lock of the database lets one pass at a time, so that no run is written twice, and a run is removed by
// the transaction that writes its tombstone, so that none is lost. Not thread-safe.
//
// Files: FOLDER/DATABASE/GRAPH/YYYY-MM-FIRST-LAST-TIME.jsonl.zst: the month in which the first of the runs that a pass
// read started, the ids of the first and the last, of which some may have to stay, and the time of the pass, so
// that no two have one name. While a file's runs are being removed, FOLDER/DATABASE/removing has an entry for it: a
// later pass goes on with it, whatever the policy is by then.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/audit/archiver.hpp"
#include "ops/keeping/keep_policies.hpp"
#include "storage/proof/run_erasure.hpp"

namespace cairn {

struct KeepPass {
  bool is_another_at_it = false;  // another process archives; nothing was done
  bool has_more = false;          // a graph had more than a portion
  std::int64_t runs = 0;          // in the files
  std::int64_t removed = 0;
  std::int64_t values = 0;         // large values that no run has any more, which were removed
  std::vector<std::string> files;  // that were written, or gone on with
};

class Keeper {
 public:
  // `owner_dsn`: of a login that may take on the role cairn_archive. REQUIRES: `store` and `key` outlive this.
  Keeper(Store& store, const std::string& owner_dsn, const SigningKey& key, const std::string& folder);

  // Goes on with files whose runs were not all removed, then archives at most `portion` runs of each graph, with those
  // that they called. A run that may not go yet (an open run refers to it) is tried again later. At most every ten
  // minutes removes large values that no run has any more. Refuses as Archiver::archive, after it has done what else
  // there is to do: the first refusal; `unavailable` (the lock was lost) at once. Throws StoreUnavailable,
  // PostgresError, CorruptHistory.
  Result<KeepPass> pass(std::int32_t portion = 1'000);

  // By any thread: a pass under way throws StoreUnavailable soon.
  void give_up();

 private:
  // The last run of a graph that was read, in the order of their starts, and when they are read from the first again.
  struct Mark {
    RunArchive::Place last;
    std::int64_t again_at_us = 0;
  };

  // A pass, and the lock under which it removes runs.
  struct Alone {
    ArchiveLock& lock;
    KeepPass& pass;
  };

  Status pass_alone(const Alone& alone, std::int32_t portion);
  std::vector<RunArchive::Place> page_of(const KeepPolicy& policy, std::int32_t portion);
  Status archive(const KeepPolicy& policy, const std::vector<RunArchive::Place>& page, const Alone& alone);
  Status go_on(const Alone& alone);
  Status remove_values(KeepPass& pass);
  Result<ArchiveReport> archive_into(const std::string& file, const std::vector<RunId>& roots, const std::string& by,
                                     ArchiveLock& lock);

  Store& store_;
  const SigningKey& key_;
  const std::string folder_;
  RunArchive archive_;
  RunErasure erasure_;
  CheckpointTable signatures_;
  KeepPolicies policies_;
  std::map<std::string, Mark> marks_;
  std::int64_t values_again_at_us_ = 0;
};

}  // namespace cairn
