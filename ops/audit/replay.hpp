// The replay of recorded runs: decides them again (see engine/replay_check.hpp) and counts divergences. Writes nothing
// and calls nothing outside. A Replayer belongs to one thread, a ReplayReport is safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/replay_check.hpp"
#include "storage/store.hpp"

namespace cairn {

struct Catalogue;
class HandlerTable;
class Ports;

struct ReplayOptions {
  GraphRef graph;                          // decides in place of each run's own; null: its own
  const HandlerTable* handlers = nullptr;  // its pure ones are run again; null: none
  Ports* ports = nullptr;                  // with `handlers`; only the names of its tools are read, nothing is called
};

// The means of a replay by what was asked: with another graph the handlers that are data itself are run again, as what
// the graph says of them may be another; with `handlers`, all pure ones. REQUIRES: the catalogue outlives it.
class ReplayMeans {
 public:
  ReplayMeans(const Catalogue& catalogue, GraphRef graph, bool handlers);
  ReplayMeans(const ReplayMeans&) = delete;
  ReplayMeans& operator=(const ReplayMeans&) = delete;
  ~ReplayMeans();

  const ReplayOptions& options() const { return options_; }

 private:
  std::unique_ptr<HandlerTable> logic_;
  std::unique_ptr<Ports> ports_;
  ReplayOptions options_;
};

struct Replayed {
  RunId run;
  std::int64_t events = 0;  // read
  double cost = 0;          // of the model calls on record
  double cost_behind = 0;   // of those after the divergence, which the record says nothing about
  std::optional<Divergence> divergence;
  std::string unreadable;  // one sentence: why the history cannot be decided; "": it can
};

// Not thread-safe; one per thread, over one store.
class Replayer {
 public:
  Replayer(Store& store, Graphs graphs, ReplayOptions options)
      : store_(store), graphs_(std::move(graphs)), options_(std::move(options)) {}

  // The first events of all runs are read together, the rest of longer runs one run at a time.
  void replay(const std::vector<RunId>& runs, const std::function<void(Replayed)>& done);

 private:
  Replayed replay(const RunId& run, std::vector<EventRow> page);
  ReplayCheck::Rerun rerun(Shard shard) const;
  bool take(const std::vector<EventRow>& commit, ReplayCheck& check, Replayed& replayed) const;

  Store& store_;
  Graphs graphs_;
  ReplayOptions options_;
};

// The summary of many replays. Safe from any thread. Memory grows with the kinds of divergence, not with the runs.
class ReplayReport {
 public:
  static constexpr std::size_t examples_max = 3;  // of each kind

  void add(const Replayed& replayed);

  // {"runs", "events", "same", "diverged", "unreadable", "cost", "cost_behind",
  //  "divergences": [{"node", "type", "decision", "runs", "examples": [{"run", "seq", "step", "says", "recorded",
  //  "again"}]}], "faults": [{"run", "says"}]}, the most frequent first
  Json json() const;
  std::string summary() const;  // a line
  bool is_clean() const;

 private:
  struct Kind {
    std::int64_t runs = 0;
    std::vector<std::pair<RunId, Divergence>> examples;
  };

  mutable std::mutex mutex_;
  std::int64_t runs_ = 0;
  std::int64_t events_ = 0;
  std::int64_t diverged_ = 0;
  std::int64_t unreadable_ = 0;
  double cost_ = 0;
  double cost_behind_ = 0;
  std::map<std::array<std::string, 3>, Kind> kinds_;  // by node, type and decision
  std::vector<std::pair<RunId, std::string>> faults_;
};

}  // namespace cairn
