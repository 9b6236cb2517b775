// What is kept of runs as it stands in PostgreSQL, whether it makes sense or not: read by audits, and put right by a
// rebuild. Safe from any thread; calls block. Throws StoreUnavailable, as Store does.
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

// All that is kept of one run beside its events, as it was at one moment.
struct RunRecord {
  std::optional<RunRow> run;
  bool child_mark_fits = true;  // the column that makes open children of ended parents cheap to find
  std::vector<HeldJob> jobs;    // in branch order; without the run's head
  std::set<BranchId> unlisted;  // those that nobody holds and no claim would find
  std::vector<QuestionRow> questions;
  std::vector<std::int64_t> snapshots;  // their seqs, of one fold version
  std::string run_fault;                // not "": the row cannot be read, and is left out
  std::string questions_fault;
};

// What is to be written so that a record is as the run's events say.
struct Repair {
  RunRow run;
  std::vector<Job> jobs;                // offered with a new epoch, whoever holds them
  std::vector<BranchId> surplus;        // of the jobs
  std::vector<QuestionRow> questions;   // all there are
  std::vector<std::int64_t> snapshots;  // to be deleted
};

class RunRecords {
 public:
  RunRecords(const std::string& dsn, std::int32_t shards, int connections_max);
  ~RunRecords();
  RunRecords(const RunRecords&) = delete;
  RunRecords& operator=(const RunRecords&) = delete;

  std::int32_t shards() const;

  // The ids behind `after` of which anything is kept on the shard, events or rows; in order.
  std::vector<RunId> ids(Shard shard, const RunId& after, std::int32_t limit);
  // The last of them; nil if there is none.
  RunId last_id(Shard shard);

  // Writes a run of which no event is there, with its events and large values as they are and the rows it has, in one
  // transaction. False, and nothing is written, if there is one.
  bool add(const Repair& rows, std::span<const EventRow> events, const std::map<Hash, std::string>& blobs);

  // Of runs of one shard, in their order, each once: all as they were at the same moment.
  std::vector<RunRecord> records(Shard shard, std::span<const RunId> runs, std::int32_t fold_version);
  RunRecord record(const RunId& run, std::int32_t fold_version);

  // Removes jobs, questions and snapshots of a run that is not there. False if there were none, or if there is an
  // event or a row of the run.
  bool remove_leftovers(Shard shard, const RunId& run);

  // Writes what `plan` makes of the record as it is under the locks that every writer takes, in one transaction. False,
  // and nothing is written, if event `head` is not the run's last one.
  bool repair(const RunId& run, std::int64_t head, std::int32_t fold_version,
              const std::function<Repair(const RunRecord&)>& plan);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
