// What archiving asks of the database: which runs may go, and their removal by the one role that may. Not thread-safe.
// Throws StoreUnavailable when the database cannot be reached.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/proof/tombstone.hpp"

namespace cairn {

class PostgresPool;

class RunArchive {
 public:
  explicit RunArchive(const std::string& dsn);
  ~RunArchive();

  // Ended before `ended_before`, and not called by a run that is still there; oldest first, behind the one given.
  using Place = std::pair<TimeUs, RunId>;  // its start and its id
  std::vector<Place> candidates(TimeUs ended_before, const Place& behind, std::int32_t limit);

  struct Member {
    RunId run;
    bool has_ended = false;
  };
  // The run and all that it called, directly or not.
  std::vector<Member> family(Shard shard, const RunId& run);

  // What open runs continue or were forked from.
  std::set<RunId> kept_for_open_runs();

  // Removes those of the shard's runs that have ended just where their tombstones say, and leaves these in their place,
  // all in one transaction. How many. Refuses `unsupported`: the login may not take on the role cairn_archive.
  Result<std::int64_t> remove(Shard shard, std::span<const Tombstone> runs);

 private:
  std::unique_ptr<PostgresPool> pool_;
};

}  // namespace cairn
