// Claims: which index entries a claim may skip, and the statements. Safe from any thread.
//
// Held and dead entries stand in front of the free ones in the index. As long as walking over them is cheap, every claim
// looks at all of them. When it becomes dear, claims begin at a low-water mark per (shard, queue, priority): the
// newest run_at this process has claimed, but a little behind now, so that rows committed late are not skipped. Marks are
// forgotten after a short time, and at once when a claim with marks finds nothing.
#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "storage/postgres_pool.hpp"
#include "storage/store.hpp"

namespace cairn {

class ClaimDesk {
 public:
  // `dear_us`: claims begin to use marks when one has taken longer.
  explicit ClaimDesk(PostgresPool& pool, std::int64_t dear_us = 2'000) : pool_(pool), dear_us_(dear_us) {}

  // Contract: Store::claim.
  std::vector<HeldJob> claim(const ClaimRequest& request);

 private:
  using Mark = std::pair<TimeUs, RunId>;
  using Levels = std::map<std::int32_t, Mark>;  // by priority
  struct Marks {                                // of one shard
    std::map<std::string, Levels> by_queue;
    std::int64_t used_until_us = 0;             // on the monotonic clock, as the next
    std::int64_t everywhere_after_us = 0;       // when a claim that found nothing may look everywhere again
  };

  std::vector<HeldJob> claim_everywhere(const ClaimRequest& request);
  std::vector<HeldJob> claim_after_marks(const ClaimRequest& request);
  std::vector<HeldJob> claim_of_runs(const ClaimRequest& request);
  void add_heads(Shard shard, std::vector<HeldJob>& jobs);
  std::vector<std::string> rotated(const std::vector<std::string>& queues);
  void remember(const ClaimRequest& request, const std::vector<HeldJob>& jobs, std::int64_t took_us);
  void raise_marks(const ClaimRequest& request, const std::vector<HeldJob>& jobs);
  bool uses_marks(const ClaimRequest& request);
  bool may_look_everywhere(Shard shard);
  std::map<std::string, Levels> marks_of(Shard shard);

  PostgresPool& pool_;
  const std::int64_t dear_us_;
  std::mutex mutex_;
  std::map<Shard, Marks> marks_;
  std::size_t turn_ = 0;               // which queue comes first
};

}  // namespace cairn
