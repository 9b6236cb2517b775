// The checker of invariants: compares every change of the store with a fold of its own. Throws a Violation. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/event.hpp"
#include "engine/graph.hpp"
#include "engine/state.hpp"
#include "storage/limits/queue_limits.hpp"
#include "storage/limits/queue_room.hpp"
#include "storage/store.hpp"

namespace cairn::simulation {

struct Violation {
  std::string says;
};
[[noreturn]] void found(std::string says);

class Checker {
 public:
  Checker(Store& store, Graphs graphs);

  // Around a commit. Checks fences, the log (dense, chained, decodable, each attempt reported once and only if it was
  // executed), the queue, the questions and the run's row against the folded state, and callers against called runs.
  // A session that reports an attempt must hold its branch. Returns the new events.
  void before(std::span<const Entry> batch);
  std::vector<std::pair<RunId, Event>> after(std::span<const Entry> batch, std::span<const Verdict> verdicts);

  // Each claimed job has an epoch newer than any that its step had.
  void claimed(std::span<const HeldJob> jobs);
  // In each queue with keys that the claim asked, in its shard: while a key has jobs that are due and room for them, no
  // more jobs of another key are claimed than one of its turns has.
  void turns(const ClaimRequest& request, std::span<const HeldJob> jobs);

  // These are the queue's limits from now on; called again with each change. No more of the queue's jobs, and of each
  // of its keys', may be held than the concurrency says; of those that were held before it said so, as many as still
  // are. In no window of a rate's time, since it was set, may more of them be started than n and the burst: by a claim,
  // or with a start that was taken for a job that was held already. With each claim, what the window of a budget has
  // used and what the held steps reserve is within its cap; and the steps never use more than the highest cap that
  // there was, where each uses what it reserves.
  void limit(const QueueLimits& limits);
  void taken(const std::string& queue, const KeyCounts& starts);
  std::int64_t full_windows() const { return full_windows_; }        // with more starts than a burst
  std::int64_t full_keys() const { return full_keys_; }              // of which as many jobs are held as may be
  std::int64_t held_before() const { return held_before_checks_; }   // jobs beyond a limit that was set later
  std::int64_t full_budgets() const { return full_budgets_; }        // windows of which all is used
  std::int64_t kept_with_start() const { return kept_with_start_; }  // steps that were executed so
  std::int64_t passed_by() const { return passed_by_; }              // jobs that began while another key waited
  void executed(const RunId& run, StepId step, std::int32_t attempt);
  bool has_ended(const RunId& run, StepId step, std::int32_t attempt) const;  // it was executed, and the log says how
  // By an effect, which begins when its step has been started.
  void begun(const RunId& run, StepId step);

  // After everything has ended: no row is left behind, a second fold gives the same states, and deciding again from the
  // recorded outcomes gives the same events.
  void at_the_end();

  const RunState* state(const RunId& run) const;  // null if it is not in the log
  std::vector<RunId> runs() const;                // in the order they began
  std::int32_t errors(const RunId& run, StepId step) const;

 private:
  struct Known {
    RunState state;
    Hash chain{};
    std::set<std::pair<StepId, std::int32_t>> reported;
    std::set<std::pair<StepId, std::int32_t>> ended;  // of these, by those who executed them
    std::map<StepId, std::int64_t> epochs;            // the newest with which each step stood in the queue
  };
  struct Held {  // the queue before a commit
    std::int64_t head = 0;
    std::vector<HeldJob> jobs;
  };

  void read_on(const RunId& run, Known& known, std::vector<std::pair<RunId, Event>>& arrived);
  void check_event(const RunId& run, Known& known, const Event& event);
  void check_report(const RunId& run, Known& known, const Event& event, std::int32_t attempt, bool was_run);
  void check_fences(const Entry& entry, const Held& held) const;
  void check_queue(const RunId& run, Known& known);
  void check_questions(const RunId& run, const RunState& state) const;
  void check_row(const RunId& run, const Known& known) const;
  void check_family(const RunState& state) const;
  void check_limits();
  bool has_rate(const std::string& queue) const;
  std::string key_of(const QueueLimits& limits, const RunId& run) const;
  struct HeldCounts {
    std::int64_t of_queue = 0;
    std::map<std::string, std::int64_t> of_keys;
  };
  HeldCounts held_of(const QueueLimits& limits) const;
  void check_held(const QueueLimits& limits);
  void check_held(std::int64_t held, std::int64_t before, std::int64_t limit, const std::string& of);
  void check_reserved(const QueueLimits& limits, const std::set<std::string>& claimed_keys) const;
  void check_reserved(const std::vector<UnitBudget>& budgets, const Reserves& reserves, std::int64_t held,
                      const std::string& of) const;
  std::set<std::string> waiting_keys(const QueueLimits& limits, const ClaimRequest& request) const;
  void check_turns(const QueueLimits& limits, const ClaimRequest& request,
                   const std::map<std::string, std::int64_t>& begun);
  void count_start(const QueueLimits& limits, const std::string& key);
  void count_start(std::deque<TimeUs>& starts, const StartRate& rate, const std::string& of);
  void count_tokens(const RunId& run, const Event& event);
  void count_tokens(const std::vector<UnitBudget>& budgets, const std::string& of, std::int64_t tokens);
  void check_decisions(const RunId& run, const std::vector<EventRow>& rows) const;

  Store& store_;
  Graphs graphs_;
  std::map<RunId, Known> known_;
  std::vector<RunId> order_;
  std::map<RunId, Held> held_;
  std::map<BranchId, StepId> reporting_;  // the attempts that the entry under check reports
  std::set<std::tuple<RunId, StepId, std::int32_t>> executed_;
  std::map<std::string, QueueLimits> limits_;                      // by queue
  std::map<std::string, std::deque<TimeUs>> queue_starts_;         // those of the latest window
  std::map<std::string, std::deque<TimeUs>> key_starts_;           // likewise, of a queue and one of its keys
  std::map<std::pair<RunId, StepId>, std::int64_t> claims_;        // that no begun step has used, of queues with a rate
  std::map<std::string, std::int64_t> taken_;                      // starts that no begun step has used, by queue
  std::map<std::pair<std::string, TimeUs>, std::int64_t> tokens_;  // used in a budget's window that began then
  std::map<std::string, HeldCounts> before_limit_;                 // held when the limits were set, and since; by queue
  std::map<std::string, QueueLimits> highest_;  // with the highest caps that their budgets have had; by queue
  // By queue and shard, and by the key that waits: how many jobs of each other key have begun since.
  std::map<std::pair<std::string, Shard>, std::map<std::string, std::map<std::string, std::int64_t>>> passed_;
  std::int64_t passed_by_ = 0;
  std::int64_t held_before_checks_ = 0;
  std::int64_t full_budgets_ = 0;
  std::int64_t full_windows_ = 0;
  std::int64_t full_keys_ = 0;
  std::int64_t kept_with_start_ = 0;
};

}  // namespace cairn::simulation
