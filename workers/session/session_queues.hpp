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
#include "workers/session/store_calls.hpp"

namespace cairn {

class SessionQueues {
 public:
  static constexpr TimeUs ask_pause_us = 10'000;  // from one such question to the next

  // The one who holds a branch and asks for it.
  struct Holder {
    Shard shard = 0;        // of the branch's run
    std::string key = {};   // by which the queue counts the branch
    TimeUs held_us = 0;     // since the branch was claimed
    bool is_short = false;  // too few starts of the queue were left for its key lately
  };

  explicit SessionQueues(const std::vector<std::string>& served) : served_(served.begin(), served.end()) {}

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
  bool may_go_on(const std::string& queue, const Holder& holder, TimeUs now_us) const;
  // It may not, even if no one waits, by limits that may be newer than its hold.
  bool must_be_claimed(const std::string& queue, TimeUs held_us, TimeUs now_us) const;

  // A job may have come. Where branches go on because no one waits, it has to be asked for: while they take all slots,
  // no claim would see it.
  void notified();
  std::vector<AskForOthers> asks(TimeUs now_us);
  void asked(const AskForOthers& ask, TimeUs until);
  TimeUs ask_due_us() const;  // when asks() has some; steady

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
  // The turns in a shard: those who wait for one, as the last claim there saw.
  struct Turn {
    TimeUs until = 0;  // it is known before then that no one waits, but those of a key
    std::optional<std::string> but_of = {};
    bool is_wanted = false;  // by others, until a claim says otherwise
    bool is_heard = false;   // a job may have come since
    TimeUs asked_at = -ask_pause_us;
    bool may_ask(const Known& limits) const { return is_heard && !is_wanted && !limits.key.empty(); }
  };
  const Known& known(const std::string& queue) const;
  bool is_turn_free(const std::string& queue, const Holder& holder, TimeUs now_us) const;

  QueueNames served_;
  std::map<std::string, Known> known_;              // any other queue has no limits
  std::map<std::string, TimeUs> place_free_until_;  // no one waits for a place before then, in any shard
  std::map<std::string, std::map<Shard, Turn>> turns_;
  std::map<std::string, TimeUs> left_;
};

}  // namespace cairn
