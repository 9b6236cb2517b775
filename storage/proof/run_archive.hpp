// The database's part of archiving: which runs may be removed, and their removal by the only role with the right to it.
// Not thread-safe. Throws StoreUnavailable when the database cannot be reached.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/log.hpp"
#include "storage/proof/archive_lock.hpp"
#include "storage/proof/tombstone.hpp"

namespace cairn {

class PgConnection;
class Placements;
class PostgresError;

// The time that a statement of a removal may take: it deletes a batch of runs with their events, or waits for another
// one that looks for large values. A server that is gone is noticed before (with_network_limits()).
inline constexpr std::int64_t removal_silence_ms = 3'600'000;
inline constexpr std::int64_t removal_patience_ms = 10'000;  // with a server that cannot be reached

// The events that are removed at once, more or less: a transaction takes whole runs, and those that go together.
inline constexpr std::int64_t removed_events_at_once = 20'000;

// Calls `use` in one transaction as the role cairn_archive; again after a transient failure. Refuses `unsupported`: the
// login is no member of that role.
Status as_archivist(Placements& placements, Shard shard, const std::function<void(PgConnection&)>& use);

class RunArchive {
 public:
  explicit RunArchive(const std::string& dsn);
  ~RunArchive();

  // By any thread: calls under way and later ones throw StoreUnavailable at once.
  void give_up();

  // The lock under which runs go into files. As ArchiveLock::take().
  Result<std::unique_ptr<ArchiveLock>> lock(std::int64_t patience_ms) const;

  // Runs that ended before `ended_before` and whose caller, if any, is gone; oldest first, those after the one given.
  using Place = std::pair<TimeUs, RunId>;  // its start and its id
  std::vector<Place> candidates(TimeUs ended_before, const Place& after, std::int32_t limit);

  // The same, all of those that have these tags: by their index, however many others have ended. REQUIRES: a tag.
  std::vector<Place> candidates(TimeUs ended_before, const Tags& tags);

  // The same, of one graph: by an index, whatever else is in the table. An import counts as an end.
  std::vector<Place> due(const std::string& graph, TimeUs ended_before, const Place& after, std::int32_t limit);

  struct Member {
    RunId run;
    bool has_ended = false;
  };
  // The run and all runs that it called, directly or not.
  std::vector<Member> family(Shard shard, const RunId& run);

  // Those of the runs that open runs continue or were forked from.
  std::set<RunId> kept_for_open_runs(std::span<const Member> runs);

  // Removes the shard's runs that have ended exactly where their tombstones say and writes the tombstones, all in one
  // transaction; returns how many. With `roots`, one for each run, those with the same root go together or stay. The
  // large values of the runs are noted for RunErasure::remove_values. Refuses as as_archivist().
  Result<std::int64_t> remove(Shard shard, std::span<const Tombstone> runs, std::span<const RunId> roots = {});

 private:
  const std::string dsn_;
  std::unique_ptr<Placements> placements_;
};

}  // namespace cairn
