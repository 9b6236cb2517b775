// Claims of the store in memory: which due jobs a claim takes, under the limits of their queues. Safe from any thread
// (the lock of the rows).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/limit_book.hpp"
#include "storage/limits/memory_limits.hpp"
#include "storage/memory/memory_rows.hpp"

namespace cairn {

class MemoryClaims {
 public:
  explicit MemoryClaims(MemoryRows& rows) : rows_(rows) {}

  // As Store says.
  ClaimedBatch claim(const ClaimRequest& request);
  // The request for its queues that have no limits.
  ClaimRequest without_limited(ClaimRequest request) const;
  // A commit says what a step used. Called before its jobs are written: it counts in the queue in which it was held.
  void count_use(const StoredRun& run, const StepUse& use);

  // As LimitBook says.
  std::vector<QueueLimits> queue_limits();
  Result<QueueLimits> change_limits(const LimitChange& change);
  KeyCounts take_starts(const std::string& queue, const KeyCounts& asked);
  bool others_wait(const std::string& queue, Shard shard, const std::optional<std::string>& but_of, TimeUs now_us);
  std::map<std::string, QueueUse> queue_uses(const std::vector<std::string>& queues);
  std::map<BranchId, std::string> keys_of_run(const RunId& id);
  std::map<std::string, QueueUse> key_uses(const std::string& queue, const std::vector<std::string>& keys);
  std::vector<KeyUnitUse> budget_uses(const std::string& queue, std::int32_t limit);
  std::vector<LimitChangeRow> limit_changes(const std::string& queue, std::int64_t before, std::int32_t limit);
  std::optional<std::int64_t> forget_spent(SpentMark& mark, TimeUs at_us, std::int32_t portion);
  void forget_key(const std::string& queue, const std::string& key);

 private:
  using JobsByKey = std::map<std::string, std::vector<HeldJob*>>;
  void take_without_keys(const ClaimRequest& request, TimeUs now_us, const std::vector<HeldJob*>& due,
                         ClaimedBatch& claimed);
  void take_of_keys(const ClaimRequest& request, TimeUs now_us, const std::vector<HeldJob*>& due,
                    ClaimedBatch& claimed);
  void note_what_is_left(const ClaimRequest& request, TimeUs now_us, const std::vector<HeldJob*>& due,
                         ClaimedBatch& claimed) const;
  void take(HeldJob& job, const ClaimRequest& request, ClaimedBatch& claimed);
  std::string key_of(const HeldJob& job, const QueueLimits& limits) const;
  std::optional<std::string> next_key(const std::string& queue, Shard shard, const std::string& from) const;
  std::map<std::string, std::int64_t> held_by_key(const QueueLimits& limits) const;
  std::vector<WaitingKey> waiting_keys(const QueueLimits& limits, const JobsByKey& jobs, const KeyTurn& turn,
                                       TimeUs now_us) const;
  std::map<std::string, QueueRoom> rooms_of(const std::vector<std::string>& queues, TimeUs now_us) const;
  void sort_by_turn(std::vector<HeldJob*>& due, TimeUs now_us) const;
  bool may_take(const StoredRun& run, BranchId branch, const ClaimRequest& request) const;
  void add_short_histories(std::int64_t events_max, ClaimedBatch& claimed) const;

  MemoryRows& rows_;
  MemoryLimits limits_;
  bool keys_first_ = false;
};

}  // namespace cairn
