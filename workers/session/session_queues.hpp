// The queues of a session: those that it serves, and the one question of a held branch: may it go on there, or does
// another wait? The limits answer by GoesOn, the claims say where no one waits. A queue can be left for a while to
// workers over HTTP. Decided from inputs alone, as KeepRules. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/limits/queue_limits.hpp"
#include "storage/queue.hpp"
#include "workers/runs/keep_rules.hpp"
#include "workers/session/queue_turns.hpp"

namespace cairn {

class SessionQueues {
 public:
  // The one who holds a branch and asks for it.
  struct Holder {
    Shard shard = 0;             // of the branch's run
    std::string key = {};        // by which the queue counts the branch
    TimeUs held_us = 0;          // since the branch was claimed
    bool is_short = false;       // too few starts of the queue were left for its key lately
    bool may_miss_home = false;  // all slots are taken here, where jobs may wait for their home unseen by questions
  };

  SessionQueues(const std::vector<std::string>& served, std::int32_t shards)
      : served_(served.begin(), served.end()), turns_(shards) {}

  const QueueNames& served() const { return served_; }
  bool serves(const std::string& queue) const { return served_.contains(queue); }
  void serve(QueueNames more) { served_.merge(std::move(more)); }

  // True: branches go on otherwise than before.
  bool learn(const std::vector<QueueLimits>& limits, TimeUs now_us);
  // Where no one waits, as the claim saw, no one does until then (steady), or until another claim says otherwise.
  void claimed(const ClaimRequest& request, const ClaimedBatch& batch, TimeUs until);

  GoesOn goes_on(const std::string& queue) const { return known(queue).goes_on; }
  ServedQueues served_queues() const;
  // A held branch may go on to its next step in the queue without a claim, for as long as others can wait for it.
  bool may_go_on(const std::string& queue, const Holder& holder, TimeUs now_us);
  // It may not, even if no one waits, by limits that may be newer than its hold.
  bool must_be_claimed(const std::string& queue, TimeUs held_us, TimeUs now_us) const;

  QueueTurns& turns() { return turns_; }
  const QueueTurns& turns() const { return turns_; }

  // Nothing is claimed from it before then (steady).
  void leave(const std::string& queue, TimeUs until) { left_[queue] = until; }
  std::vector<std::string> to_claim_from(TimeUs now_us);

 private:
  // A queue's limits, as they are known here.
  struct Known {
    GoesOn goes_on = GoesOn::open;
    bool has_places = false;  // for so many held jobs, of all keys or of each: others may wait for one, in any shard
    TimeUs ageing_us = 0;     // a step that has waited for long goes before others: a held branch may keep one waiting
    std::string key = {};     // turns of keys are counted
    std::optional<TimeUs> counts_since = {};  // only jobs that were claimed later count by its key and in its budgets
    bool is_as(const Known& other) const { return goes_on == other.goes_on && key == other.key; }
  };
  const Known& known(const std::string& queue) const;

  QueueNames served_;
  std::map<std::string, Known> known_;              // any other queue has no limits
  std::map<std::string, TimeUs> place_free_until_;  // no one waits for a place before then, in any shard
  QueueTurns turns_;
  std::map<std::string, TimeUs> left_;
};

}  // namespace cairn
