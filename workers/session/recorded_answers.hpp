// What the effects and tools of a recorded run came to, by what they were given: a fork may take its answers from
// there. Reading blocks on the store.
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

// Of one run's steps behind one moment of it, as far as it was read. Not thread-safe.
class StepRecord {
 public:
  explicit StepRecord(const ForkPoint& after);

  // What came since it was read last, each event once. Refuses `unsupported` and `corrupt` (the history); then the
  // record is to be dropped.
  Status read_on(Store& store, const HandlerTable& handlers, const Graphs& graphs);

  // What the step came to that was given the same: its first success, else its last failure, else no_answer.
  StepResult answer(const StepInput& input, const Handler* handler) const;

  // A failure `diverged`, which no attempt mends.
  static StepResult no_answer(const std::string& says);

 private:
  // A report as its events come in; its key is that of the state before the first of them.
  struct Gathering {
    std::vector<Event> events;
    std::string key;
  };
  Status read(const EventRow& row, const HandlerTable& handlers, const Graphs& graphs);
  void gather(Event event, const HandlerTable& handlers);
  void add(const std::string& key, StepResult result);

  ForkPoint after_;
  RunState state_;
  Gathering gathering_;
  std::map<std::string, StepResult> results_;
};

// The records that a worker's forks take their answers from: each event of a record is read once, however many steps
// ask, as long as no more than records_max are asked for in turn. Safe from any thread.
class StepRecords {
 public:
  static constexpr std::size_t records_max = 8;

  StepResult answer(Store& store, const ForkPoint& after, const StepInput& input, const Handler* handler,
                    const HandlerTable& handlers, const Graphs& graphs);

 private:
  struct Kept {
    explicit Kept(const ForkPoint& from) : after(from), record(from) {}
    const ForkPoint after;
    std::mutex mutex;
    StepRecord record;
  };
  std::shared_ptr<Kept> kept(const ForkPoint& after);
  void drop(const std::shared_ptr<Kept>& one);

  std::mutex mutex_;
  std::list<std::shared_ptr<Kept>> kept_;  // the one asked last first
};

}  // namespace cairn
