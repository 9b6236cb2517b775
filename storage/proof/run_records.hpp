// The rows of runs as they are in PostgreSQL, consistent or not: an audit reads them, a rebuild repairs them. Safe from
// any thread; calls block. Throws StoreUnavailable, as Store does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "storage/store.hpp"

namespace cairn {

// Everything kept of one run except its events, as it was at one moment.
struct RunRecord {
  std::optional<RunRow> run;
  bool child_mark_fits = true;  // open_child_of, by which open children of ended parents are found
  std::vector<HeldJob> jobs;    // in branch order; without the run's head
  std::set<BranchId> unlisted;  // unowned jobs that no claim would find
  std::vector<QuestionRow> questions;
  std::vector<std::int64_t> snapshots;  // their seqs, of one fold version
  Status run_readable = Done{};         // `corrupt`: the row is left out
  Status questions_readable = Done{};   // `corrupt`: all of them are left out
};

// The rows to write so that a record agrees with the run's events.
struct Repair {
  RunRow run;
  std::vector<Job> jobs;                // offered with a new epoch, even if they are held
  std::vector<BranchId> surplus;        // jobs to be deleted
  std::vector<QuestionRow> questions;   // all open ones; others are deleted
  std::vector<std::int64_t> snapshots;  // to be deleted
};

class RunRecords {
 public:
  RunRecords(const std::string& dsn, std::int32_t shards, int connections_max);
  ~RunRecords();
  RunRecords(const RunRecords&) = delete;
  RunRecords& operator=(const RunRecords&) = delete;

  std::int32_t shards() const;

  // Ids after `after` that have anything on the shard, events or rows; in order.
  std::vector<RunId> ids(Shard shard, const RunId& after, std::int32_t limit);
  // The last such id; nil if there is none.
  RunId last_id(Shard shard);

  // Imports a run: writes its events and large values as they are, its rows, and where it comes from, in one
  // transaction. False, and nothing is written, if the run has an event already; true if that is of this very call,
  // which went again because the answer to its COMMIT was lost.
  bool add(const Repair& rows, std::span<const EventRow> events, const std::map<Hash, std::string>& blobs,
           const ImportOrigin& origin);

  // The records of runs of one shard, in their order, all as they were at the same moment. REQUIRES: no run twice.
  std::vector<RunRecord> records(Shard shard, std::span<const RunId> runs, std::int32_t fold_version);
  RunRecord record(const RunId& run, std::int32_t fold_version);

  // Removes jobs, questions and snapshots of a run that has neither an event nor a row. False if it has one, or if
  // there was nothing to remove.
  bool remove_leftovers(Shard shard, const RunId& run);

  // Locks the run as every writer does, gives the record to `plan`, and writes the repair that it returns, in one
  // transaction. False, and nothing is written, if event `head` is not the run's last one.
  bool repair(const RunId& run, std::int64_t head, std::int32_t fold_version,
              const std::function<Repair(const RunRecord&)>& plan);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
