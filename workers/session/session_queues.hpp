// The queues of a session: those that it serves, and what their limits let it keep there. A queue can be left for a
// while to workers over HTTP. Decided from inputs alone, as KeepRules. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/limits/queue_limits.hpp"
#include "storage/queue.hpp"
#include "workers/runs/keep_rules.hpp"

namespace cairn {

class SessionQueues {
 public:
  explicit SessionQueues(const std::vector<std::string>& served) : served_(served.begin(), served.end()) {}

  const QueueNames& served() const { return served_; }
  bool serves(const std::string& queue) const { return served_.contains(queue); }
  void serve(QueueNames more) { served_.merge(std::move(more)); }

  bool is_limited(const std::string& queue) const { return limited_.contains(queue); }  // has a limit, or is paused
  // Its limits let a held branch go on there; or do so while it is empty.
  bool lets_go_on(const std::string& queue) const { return counted_.contains(queue) || paced_.contains(queue); }
  bool lets_go_on_alone(const std::string& queue) const { return alone_.contains(queue); }
  // Each step of it is claimed: its limits, which may be newer than the hold, let no branch go on.
  bool must_be_claimed(const std::string& queue) const {
    return is_limited(queue) && !lets_go_on(queue) && !lets_go_on_alone(queue);
  }
  // Its limits leave places for so many held jobs, of all keys or of each: others may wait for one, in any shard.
  bool has_places(const std::string& queue) const { return with_places_.contains(queue); }
  // A step that has waited for long goes before others: a held branch may keep one waiting.
  bool has_ageing(const std::string& queue) const { return aged_.contains(queue); }
  // Only jobs that were claimed later count in its budgets, which it has had since then, as far as is known here
  // (steady); nothing: it has none.
  std::optional<TimeUs> has_budgets_since(const std::string& queue) const;
  // A claim says that no one waits for a place in these queues, or in these queues at all, until then (steady), if no
  // other claim finds otherwise.
  void claimed(const ClaimRequest& request, const ClaimedBatch& batch, TimeUs until);
  bool has_free_places(const std::string& queue, TimeUs now_us) const;
  bool is_empty(const std::string& queue, Shard shard, TimeUs now_us) const;
  // True: they are others than before.
  bool learn(const std::vector<QueueLimits>& limits, TimeUs now_us);
  // A step of a limited queue passes through the table, where all sessions count together. Where they only count what
  // is held, a held branch may go on for a while: it is one held job before and after. Where they count starts as well,
  // it takes one first. Where it counts whose turn it is, it goes on while no one waits.
  ServedQueues by_what_is_kept() const;

  // Nothing is claimed from it before then (steady).
  void leave(const std::string& queue, TimeUs until) { left_[queue] = until; }
  std::vector<std::string> to_claim_from(TimeUs now_us);

 private:
  QueueNames served_;
  QueueNames limited_;
  QueueNames counted_;  // in these only the jobs that are held are limited
  QueueNames alone_;    // in these a held branch may go on while no one waits
  QueueNames paced_;    // these count starts, and a held branch may go on
  QueueNames aged_;
  QueueNames with_places_;
  std::map<std::string, TimeUs> budgets_since_;
  std::map<std::string, TimeUs> free_until_;                     // those of them with free places
  std::map<std::pair<std::string, Shard>, TimeUs> empty_until_;  // in which no job waits
  std::map<std::string, TimeUs> left_;
};

}  // namespace cairn
