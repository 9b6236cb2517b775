// What the effects and tools of a recorded run came to, by what they were given: a fork may take its answers from
// there. Reading blocks on the store; a record is not changed afterwards and then safe from any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "storage/store.hpp"
#include "workers/handler.hpp"

namespace cairn {

class StepRecord {
 public:
  // Of the run's steps behind event `after.seq`. Refuses `unsupported` and `corrupt` (the history).
  static Result<StepRecord> read(Store& store, const ForkPoint& after, const HandlerTable& handlers,
                                 const Graphs& graphs);

  // What the step came to that was given the same: its first success, else its last failure, else no_answer.
  StepResult answer(const StepInput& input, const Handler* handler) const;

  // A failure `diverged`, which no attempt mends.
  static StepResult no_answer(const std::string& says);

 private:
  void add(const std::string& key, StepResult result);

  ForkPoint after_;
  std::map<std::string, StepResult> results_;
};

}  // namespace cairn
