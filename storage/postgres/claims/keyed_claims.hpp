// Claims from one queue with keys, key by key in turns (key_plan.hpp). A claim also scans its shard for jobs that have
// no key, and gives them theirs: a worker of an earlier release offered them, or the process that changed the limits
// died. It reads one portion of them: one after the other until all were read under these limits, with a pause of
// twenty times as long as the last one took if that found none, and then every ten seconds. Safe from any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "storage/postgres/claims/claim_transaction.hpp"
#include "storage/postgres/claims/key_plan.hpp"
#include "storage/postgres/claims/known_limits.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {

class KeyedClaims {
 public:
  // REQUIRES: both outlive it.
  KeyedClaims(Placements& placements, KnownLimits& limits) : placements_(placements), limits_(limits) {}

  ClaimedBatch claim(const ClaimRequest& request, const std::string& queue);

 private:
  static KeyPlan plan_here(PgConnection& connection, const ClaimRequest& request, const std::string& queue,
                           ClaimRooms& rooms);
  ClaimedBatch claim_here(const ClaimRequest& request, const std::string& queue);
  ClaimedBatch claim_across(const ClaimRequest& request, const std::string& queue);
  void record(const KeyPlan& plan, const KeyCounts& taken);
  void find_missing_keys(Shard shard, const std::string& queue);
  struct KeySearch {  // for jobs without keys, of one queue in one shard
    std::int64_t revision = 0;
    JobPlace after = {};
    bool was_at_all = false;
    TimeUs again_at_us = 0;
  };
  std::optional<KeySearch> begin_search(Shard shard, const std::string& queue);

  Placements& placements_;
  KnownLimits& limits_;
  std::mutex mutex_;
  std::map<std::pair<std::string, Shard>, KeySearch> searches_;
};

}  // namespace cairn
