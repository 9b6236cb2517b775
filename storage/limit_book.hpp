// The limits of queues as a store keeps them, with each change of them on record: calls that both stores make. Safe
// from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/limits/queue_limits.hpp"
#include "storage/limits/queue_room.hpp"
#include "storage/log.hpp"

namespace cairn {

// The position of a pass of forget_spent(); at first, its beginning.
struct SpentMark {
  std::int32_t part = 0;      // rates, uses of budgets, turns of keys
  std::size_t placement = 0;  // of those that hold shards
  // The last row of the part that the pass has read.
  std::string queue = {};
  std::string key = {};
  std::string unit = {};
  std::string per = {};
  Shard shard = -1;
};

struct LimitBook {
  // The limits of all queues ever set, by name.
  std::function<std::vector<QueueLimits>()> queue_limits;

  // Takes effect with the first claim after it; jobs held at that moment stay held, and count. A worker that keeps
  // steps of held branches learns of a change within seconds, and one that a rate held back within a second. The limits
  // as they are then, with their new revision. Refuses `invalid` as check_limits(), `stale` and `unsupported` as
  // check_change().
  std::function<Result<QueueLimits>(const LimitChange&)> change_limits;

  // Takes starts of the queue for jobs that are held already, of branches that go on: how many of each key may begin
  // now, of as many as are asked for (the key "" in a queue without keys). As many as rates and budgets leave: all
  // where there are none; none where a held branch never goes on (GoesOn). As with a claim, a start that was taken is
  // used up, whatever becomes of it.
  std::function<KeyCounts(const std::string& queue, const KeyCounts& asked)> take_starts;

  // True: jobs that are due wait in a shard of a queue with keys, of other keys than `but_of`; without it, of any key.
  // Read without a lock, and cheap while others have no jobs there, also none that are not due: so that branches which
  // go on see who comes. Not those that wait for their home.
  std::function<bool(const std::string& queue, Shard shard, const std::optional<std::string>& but_of, TimeUs now_us)>
      others_wait;

  // The use of these queues' rates and budgets; `held` is left at 0: JobBook::queues counts that.
  std::function<std::map<std::string, QueueUse>(const std::vector<std::string>& queues)> queue_uses;

  // The keys of the run's jobs, of those that have one, by their branches; and what is used of keys of a queue.
  std::function<std::map<BranchId, std::string>(const RunId& run)> keys_of_run;
  std::function<std::map<std::string, QueueUse>(const std::string& queue, const std::vector<std::string>& keys)>
      key_uses;
  // The keys of a queue that used most of each of their budgets in the window that is now (most_used()).
  std::function<std::vector<KeyUnitUse>(const std::string& queue, std::int32_t limit)> budget_uses;

  // The newest first, those before the revision `before`.
  std::function<std::vector<LimitChangeRow>(const std::string& queue, std::int64_t before, std::int32_t limit)>
      limit_changes;

  // Garbage collection of the counters of limits. Removes rates whose starts were all free again at `at_us` and uses of
  // budgets in windows that were over then, and passes on the turn of a key without a job. Reads `portion` rows after
  // the mark, moves it, and returns how many were removed; nothing at the end. Waits for no claim and no commit, and
  // changes nothing of what they may do; but on a cluster, where a queue is paused while its limits change, a pass
  // first ends the pauses of processes that died five minutes ago or more: their queues get back what they had.
  std::function<std::optional<std::int64_t>(SpentMark& mark, TimeUs at_us, std::int32_t portion)> forget_spent;

  // Removes the rate and the uses of budgets of a queue's key, whatever they bind: for a key that no run has any more.
  std::function<void(const std::string& queue, const std::string& key)> forget_key;
};

// The limits of a queue, of which there may be none.
inline QueueLimits limits_of(const LimitBook& book, const std::string& queue) {
  for (QueueLimits& limits : book.queue_limits())
    if (limits.name == queue) return std::move(limits);
  return {.name = queue};
}

// The calls of a store that has functions of these names. REQUIRES: it outlives them.
template <class Keeper>
LimitBook limit_book_of(Keeper& store) {
  return {
      .queue_limits = [&store] { return store.queue_limits(); },
      .change_limits = [&store](const LimitChange& change) { return store.change_limits(change); },
      .take_starts = [&store](const std::string& queue,
                              const KeyCounts& asked) { return store.take_starts(queue, asked); },
      .others_wait = [&store](const std::string& queue, Shard shard, const std::optional<std::string>& but_of,
                              TimeUs now_us) { return store.others_wait(queue, shard, but_of, now_us); },
      .queue_uses = [&store](const std::vector<std::string>& queues) { return store.queue_uses(queues); },
      .keys_of_run = [&store](const RunId& run) { return store.keys_of_run(run); },
      .key_uses = [&store](const std::string& queue,
                           const std::vector<std::string>& keys) { return store.key_uses(queue, keys); },
      .budget_uses = [&store](const std::string& queue, std::int32_t limit) { return store.budget_uses(queue, limit); },
      .limit_changes = [&store](const std::string& queue, std::int64_t before,
                                std::int32_t limit) { return store.limit_changes(queue, before, limit); },
      .forget_spent = [&store](SpentMark& mark, TimeUs at_us,
                               std::int32_t portion) { return store.forget_spent(mark, at_us, portion); },
      .forget_key = [&store](const std::string& queue, const std::string& key) { store.forget_key(queue, key); }};
}

}  // namespace cairn
