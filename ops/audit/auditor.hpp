// Audits runs of a database, a page of them at once: the history, what lies beside it, and everything derived from it.
// A run may be written to meanwhile: its rows are read as they were at one moment, its events up to that head.
// Not thread-safe; one for each thread, over the same store and records.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/graph.hpp"
#include "ops/audit/finding.hpp"
#include "storage/proof/run_records.hpp"
#include "storage/store.hpp"
#include "workers/session/projection.hpp"

namespace cairn {

// A run, and the shard on which something of it was found.
struct RunPlace {
  RunId run;
  Shard shard = 0;
};

struct Audited {
  std::vector<Finding> findings;     // by the number of the event
  std::int64_t events = 0;           // that were looked at
  std::optional<Projection> wanted;  // nothing if the history has a fault
  std::vector<std::int64_t> wrong_snapshots;
  bool is_leftover = false;  // rows of a run that is not there
};

class Auditor {
 public:
  // What lies beside the history, large values and the origin of a fork, is read too, or left out.
  enum class Beside { read, leave };
  Auditor(Store& store, RunRecords& records, Beside beside);

  // Is there anything at all of the run?
  bool is_kept(const RunPlace& place);

  // Of all runs together what is kept and the first events are read at once, the rest of longer ones each by itself.
  // REQUIRES: no run twice.
  void audit(const std::vector<RunPlace>& places, const std::function<void(const RunPlace&, Audited)>& done);
  Audited audit(const RunPlace& place);

  // Writes anew what is derived and differs, and removes the rows of a run that is not there; what was audited before
  // it is replaced by what is left. False if nothing was written: nothing differed, or the history has a fault, and a
  // run's rows are not made from such.
  bool rebuild(const RunPlace& place, Audited& audited);

 private:
  bool learn_graphs();
  bool is_misplaced(const RunPlace& place) const;
  Audited audit_again(const RunPlace& place);
  bool remove_leftover(const RunPlace& place, Audited& audited);

  Store& store_;
  RunRecords& records_;
  Beside beside_;
  Graphs graphs_;
};

// Graphs whose text is not the one that their version was made from: kind `graph`, of no run.
std::vector<Finding> graph_findings(const std::vector<GraphRow>& graphs);

}  // namespace cairn
