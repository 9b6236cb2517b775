// The starts of kept steps in queues with a rate or budgets: a step that stays with its session is no claim, so a start
// of the queue is taken for it before it begins, with one call for all that wait in it. Those that there is no room for
// are given back, to be claimed in their turn, and for a while nothing of their key is kept there. A state machine
// without I/O: its driver carries out the calls and returns their results. Not thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workers/runs/keep_rules.hpp"
#include "workers/session/pool.hpp"
#include "workers/session/store_calls.hpp"

namespace cairn {

class PacedStarts {
 public:
  struct Outcome {
    std::vector<Pool::Start> begin;
    std::vector<Pool::Start> give_back;
  };

  void tick(TimeUs steady_us) { now_ = steady_us; }
  void set_queues(ServedQueues queues) { queues_ = std::move(queues); }

  // The key had too few starts lately, of its own or of the queue: nothing of it shall be kept there.
  bool is_short(const std::string& queue, const std::string& key) const;
  // It has to wait for a start. A claimed one has one.
  bool must_wait(const Pool::Start& start) const {
    return start.is_kept && goes_on(queues_, start.job.job.queue) == GoesOn::paced;
  }
  void wait(Pool::Start start);

  std::vector<const Pool::Start*> waiting() const;  // also those for which starts are being taken

  // One for each queue in which steps wait and none is under way.
  std::vector<TakeStarts> drain_calls();
  Outcome taken(const TakeStarts& call);
  Outcome failed(const TakeStarts& call);  // starts may have been taken; they are not used

 private:
  struct Queue {
    std::vector<Pool::Start> waiting;
    std::vector<Pool::Start> asked;             // by the call under way
    std::map<std::string, TimeUs> short_until;  // steady; by key
  };

  TimeUs now_ = 0;  // steady
  ServedQueues queues_;
  std::map<std::string, Queue> waits_;
};

}  // namespace cairn
