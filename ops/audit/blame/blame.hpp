// The blame of recorded runs (engine/blame.hpp): reads their histories, cuts the slices, and says in words what each
// outcome gave. Writes nothing, runs nothing again and calls nothing outside. A Blamer belongs to one thread, a
// BlameReport is safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/blame.hpp"
#include "storage/store.hpp"

namespace cairn {

class HandlerTable;

// The reads that the handlers of this program declare. One that it lacks may read anything.
// REQUIRES: the table outlives it.
ReadsOf reads_of(const HandlerTable& handlers);

inline constexpr std::size_t blame_causes = 100;  // that are shown where no other number is asked for

struct BlameRequest {
  BlameTarget target = {};
  std::size_t causes = blame_causes;  // at most Blame::causes_max
};

// Not thread-safe; one per thread, over one store.
class Blamer {
 public:
  Blamer(Store& store, Graphs graphs, ReadsOf reads)
      : store_(store), graphs_(std::move(graphs)), reads_(std::move(reads)) {}

  // {"run", "graph", "version", "status", "of": OUTCOME, "causes": [OUTCOME], "left_out"}
  // OUTCOME: {"seq", "step", "node", "kind", "who", "sub_goal", "decision", "run", "distance", "certain", "outside",
  //           "says", "leads_to": [{"seq", "how", "name"}]}
  // Refuses as Blame::slice; `corrupt`, `unsupported`: the history cannot be read.
  Result<Json> blame(const RunId& run, const BlameRequest& request);

 private:
  using Words = std::map<const BlamedOutcome*, std::string>;

  Status read(const RunId& run, Blame& blame);
  Result<Words> words_of(const RunId& run, const BlameSlice& slice);

  Store& store_;
  Graphs graphs_;
  ReadsOf reads_;
};

// The sum over many runs: the nodes on whose outcomes their failures depend. Safe from any thread. Memory grows with
// the graphs' nodes, not with the runs.
class BlameReport {
 public:
  static constexpr std::size_t examples_max = 3;  // of each cause

  // The answer of Blamer::blame for a run that failed.
  void add(const Json& blame);
  void add_other();  // a run that did not fail
  void add_fault(const RunId& run, const std::string& message);

  // {"runs", "failed", "others", "unreadable", "causes": [{"graph", "node", "kind", "runs", "certain", "nearest",
  //  "outside", "examples": [{"run", "seq", "says"}]}], "faults": [{"run", "says"}]}: those that most failures depend
  // on first, the nearest of them before the others. `certain`: the runs in which it is.
  Json json() const;
  std::string summary() const;  // a line

 private:
  struct Cause {
    std::int64_t runs = 0;
    std::int64_t certain = 0;
    std::int64_t nearest = 0;
    bool is_outside = false;
    Json examples = Json::array();
  };

  mutable std::mutex mutex_;
  std::int64_t failed_ = 0;
  std::int64_t others_ = 0;
  std::int64_t unreadable_ = 0;
  std::map<std::array<std::string, 3>, Cause> causes_;  // by graph, node and kind
  std::vector<std::pair<RunId, std::string>> faults_;
};

}  // namespace cairn
