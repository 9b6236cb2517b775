// The limits of queues in PostgreSQL: their rows, each change of them on record, and what is used under them. Safe from
// any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/limit_book.hpp"
#include "storage/postgres/claims/job_claimer.hpp"
#include "storage/postgres/placements.hpp"
#include "storage/postgres/store/shared_clock.hpp"

namespace cairn {

class LimitTable {
 public:
  // REQUIRES: all of them outlive it.
  struct Parts {
    Placements& placements;
    SharedClock& clock;
    JobClaimer& claimer;  // learns of changes
  };
  LimitTable(const Parts& parts, std::int32_t shards) : parts_(parts), shards_(shards) {}

  // As LimitBook says.
  std::vector<QueueLimits> queue_limits();
  Result<QueueLimits> change_limits(const LimitChange& change);
  KeyCounts take_starts(const std::string& queue, const KeyCounts& asked);
  bool others_wait(const std::string& queue, Shard shard, const std::optional<std::string>& but_of, TimeUs now_us);
  std::map<std::string, QueueUse> queue_uses(const std::vector<std::string>& queues);
  std::map<BranchId, std::string> keys_of_run(const RunId& run);
  std::map<std::string, QueueUse> key_uses(const std::string& queue, const std::vector<std::string>& keys);
  std::vector<KeyUnitUse> budget_uses(const std::string& queue, std::int32_t limit);
  std::vector<LimitChangeRow> limit_changes(const std::string& queue, std::int64_t before, std::int32_t limit);
  std::optional<std::int64_t> forget_spent(SpentMark& mark, TimeUs at_us, std::int32_t portion);
  void forget_key(const std::string& queue, const std::string& key);

 private:
  Result<QueueLimits> put_limits(PgConnection& connection, const LimitChange& change, const QueueLimits* paused);
  Result<QueueLimits> make_change(const LimitChange& change, const QueueLimits* paused);
  Result<QueueLimits> change_in_pause(const LimitChange& change);
  void end_left_changes();
  void end_pause(const QueueLimits& before, const QueueLimits& paused);
  void count_all_held(const std::string& queue);
  void find_keys(const std::string& queue);

  const Parts parts_;
  const std::int32_t shards_;
};

}  // namespace cairn
