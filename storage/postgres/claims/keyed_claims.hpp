// Claims from one queue with keys, key by key in turns (key_plan.hpp). Every ten seconds a claim looks for jobs of its
// shard that have no key, and gives them theirs: a worker of an earlier release offered them, or the process that
// changed the limits died. Safe from any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "storage/postgres/claims/claim_transaction.hpp"
#include "storage/postgres/claims/key_plan.hpp"
#include "storage/postgres/claims/known_limits.hpp"

namespace cairn {

class KeyedClaims {
 public:
  // REQUIRES: both outlive it.
  KeyedClaims(Placements& placements, KnownLimits& limits) : placements_(placements), limits_(limits) {}

  ClaimedBatch claim(const ClaimRequest& request, const std::string& queue);

 private:
  ClaimedBatch claim_here(const ClaimRequest& request, const std::string& queue);
  ClaimedBatch claim_across(const ClaimRequest& request, const std::string& queue);
  void record(const KeyPlan& plan, const KeyCounts& taken);
  bool is_time_to_repair(const std::string& queue, Shard shard);

  Placements& placements_;
  KnownLimits& limits_;
  std::mutex mutex_;
  std::map<std::pair<std::string, Shard>, TimeUs> repaired_;  // when jobs without keys were last looked for
};

}  // namespace cairn
