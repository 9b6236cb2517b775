// The auditor of a database: checks runs, a page of them at once: the history, its large values and fork origin, and
// every derived row. Runs may be written meanwhile: the rows are read as of one moment, the events up to that head; a
// run that was archived or erased in between is no finding. Not thread-safe; one per thread, over the same store and
// records.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/graph.hpp"
#include "ops/audit/finding.hpp"
#include "ops/audit/run_source.hpp"
#include "ops/audit/signed_heads.hpp"
#include "storage/proof/checkpoint.hpp"
#include "storage/proof/run_records.hpp"
#include "storage/store.hpp"
#include "workers/runs/projection.hpp"

namespace cairn {

// The signatures that histories are compared with, to find what was added to them. Read by all threads; nothing changes
// it.
struct SignedUntil {
  const SignedHeads& heads;
  TimeUs at_us = 0;        // when the checkpoints were read: what was written later may be signed by now
  TimeUs patience_us = 0;  // how long an event may stay unsigned
};

struct Audited {
  std::vector<Finding> findings;     // by the number of the event
  std::int64_t events = 0;           // that were checked
  std::optional<Projection> wanted;  // none if the history has a fault
  std::vector<std::int64_t> wrong_snapshots;
  bool is_leftover = false;                // rows of a run that does not exist
  std::optional<Head> unsigned_head = {};  // the end of a sound history that no signature covers; reported as
                                           // `unsigned` when it has been so for long
};

class Auditor {
 public:
  // The events and the derived rows are read in any case; the large values and the origin of a fork if asked for.
  enum class Extent { with_values_and_origin, rows_only };
  // `signed_until`: also finds events that no trusted signature covers. REQUIRES: it outlives this.
  Auditor(Store& store, RunRecords& records, Extent extent, const SignedUntil* signed_until = nullptr);

  // True if any row of the run is stored, readable or not.
  bool is_kept(const RunPlace& place);

  // The rows and first events of all runs are read together, the rest of longer runs one run at a time.
  // REQUIRES: no run twice.
  void audit(const std::vector<RunPlace>& places, const std::function<void(const RunPlace&, Audited)>& done);
  Audited audit(const RunPlace& place);

  // Rewrites the derived rows that differ and removes the rows of a run that does not exist; `audited` becomes the
  // result of a second audit. False if nothing was written: nothing differed, or the history has a fault (rows are
  // never derived from a faulty history).
  bool rebuild(const RunPlace& place, Audited& audited);

 private:
  bool learn_graphs();
  bool is_misplaced(const RunPlace& place) const;
  Audited audit_again(const RunPlace& place);
  Audited unless_gone(const RunPlace& place, Audited audited);
  bool remove_leftover(const RunPlace& place, Audited& audited);

  Store& store_;
  RunRecords& records_;
  Extent extent_;
  const SignedUntil* signed_until_;
  Graphs graphs_;
};

// Graphs whose text does not hash to their version: findings of kind `graph`, of no run.
std::vector<Finding> graph_findings(const std::vector<GraphRow>& graphs);

}  // namespace cairn
