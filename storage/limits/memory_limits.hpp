// The limits of queues as the store in memory keeps them, with what was started and used under them. Not safe from
// several threads: the store's lock guards it. The store counts what is held, and knows the keys of jobs.
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
#include "storage/limits/turns.hpp"
#include "storage/limits/unit_budget.hpp"

namespace cairn {

class MemoryLimits {
 public:
  // As LimitBook says.
  std::vector<QueueLimits> all() const;
  Result<QueueLimits> change(const LimitChange& change, TimeUs now_us);
  std::vector<LimitChangeRow> changes(const std::string& queue, std::int64_t before, std::int32_t limit) const;
  std::vector<KeyUnitUse> budget_uses(const std::string& queue, std::int32_t limit, TimeUs now_us) const;

  QueueLimits of(const std::string& queue) const;  // there may be none
  QueueUse use(const std::string& queue, std::int64_t held) const;
  QueueUse key_use(const std::string& queue, const std::string& key, std::int64_t held) const;

  // `count` jobs begin: the rates of the queue and of the key, "" without keys, count them.
  void begin(const QueueLimits& limits, const std::string& key, std::int64_t count, TimeUs now_us);
  // A step used that much: the budgets of its queue and of its key count it.
  void add(const QueueLimits& limits, const std::string& key, const StepUse& use, TimeUs now_us);

  // As LimitBook says. `next`: the first of a queue's keys in a shard, from this one on and then from the beginning,
  // that has a job.
  using NextKey =
      std::function<std::optional<std::string>(const std::string& queue, std::int32_t shard, const std::string& from)>;
  std::int64_t forget_spent(TimeUs at_us, const NextKey& next);
  void forget_key(const std::string& queue, const std::string& key);

  // The key whose turn it is in a shard of a queue with keys; claims move it on.
  KeyTurn& turn(const std::string& queue, std::int32_t shard) { return turns_[{queue, shard}]; }

 private:
  using QueueAndKey = std::pair<std::string, std::string>;

  std::map<std::string, QueueLimits> limits_;
  std::map<std::string, std::vector<LimitChangeRow>> changes_;  // by queue, the oldest first
  std::map<std::string, TimeUs> full_at_;                       // of rates, by queue
  std::map<QueueAndKey, TimeUs> key_full_at_;
  std::map<std::string, std::vector<UnitUse>> budgets_;  // by queue
  std::map<QueueAndKey, std::vector<UnitUse>> key_budgets_;
  std::map<std::pair<std::string, std::int32_t>, KeyTurn> turns_;  // by queue and shard
};

}  // namespace cairn
