// Recorded answers: the results of a run's effects and tools, found by the input of their step. A fork may take its
// answers from there instead of executing again. Reading blocks on the store; the cache is safe from any thread.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph.hpp"
#include "engine/state.hpp"
#include "storage/store.hpp"
#include "workers/handlers/handler.hpp"

namespace cairn {

// The answers of one run's steps after one moment of it, as far as its history was read. Not thread-safe.
class RecordedAnswers {
 public:
  explicit RecordedAnswers(const ForkPoint& after);

  // Reads the events since the last call, each once, and the versions of graphs that they name. Refuses `unsupported`
  // and `corrupt` (the history); then this must be dropped.
  Status read_on(Store& store, const HandlerTable& handlers, const Graphs& graphs);

  // The result of the step that was given the same: its first success, else its last failure, else no_answer.
  StepResult answer(const StepInput& input, const Handler* handler) const;

  // A failure `diverged`, which is not tried again.
  static StepResult no_answer(const std::string& says);

 private:
  // The events of one report, as they are read; its key is made from the state before the first of them.
  struct Gathering {
    std::vector<Event> events;
    std::string key;
  };
  Status read(Store& store, const EventRow& row, const HandlerTable& handlers);
  void gather(Event event, const HandlerTable& handlers);
  void add(const std::string& key, StepResult result);

  ForkPoint after_;
  Graphs graphs_;  // with those that the record alone needs
  RunState state_;
  Gathering gathering_;
  std::map<std::string, StepResult> results_;
};

// The recorded answers that a worker's forks use. Each event of a record is read once, however many steps ask, as long
// as at most records_max records are in use. Safe from any thread.
class RecordedAnswersCache {
 public:
  static constexpr std::size_t records_max = 8;

  StepResult answer(Store& store, const ForkPoint& after, const StepInput& input, const Handler* handler,
                    const HandlerTable& handlers, const Graphs& graphs);

 private:
  struct Kept {
    explicit Kept(const ForkPoint& from) : after(from), record(from) {}
    const ForkPoint after;
    std::mutex mutex;
    RecordedAnswers record;
  };
  std::shared_ptr<Kept> kept(const ForkPoint& after);
  void drop(const std::shared_ptr<Kept>& one);

  std::mutex mutex_;
  std::list<std::shared_ptr<Kept>> kept_;  // the one asked last first
};

}  // namespace cairn
