// A change of what is set for a queue, as `cairn queue set` and POST /queues/NAME ask for it. Safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/limit_book.hpp"
#include "storage/store.hpp"

namespace cairn {

// The parts of a rate that are given; one that is not given stays.
struct RateChange {
  bool is_gone = false;  // there shall be no rate
  std::optional<std::int64_t> n = {};
  std::optional<std::int64_t> per_ms = {};
  std::optional<std::int64_t> burst = {};

  bool is_empty() const { return !is_gone && !n && !per_ms && !burst; }
};

// A setting that is not given stays as it is, whatever other changes come between.
struct QueueChange {
  std::string queue;
  bool is_limit_given = false;
  std::optional<int> concurrency = {};  // with is_limit_given; nothing: no limit
  RateChange rate = {};
  std::optional<std::vector<UnitBudget>> budgets = {};  // all of them
  std::optional<Reserves> reserves = {};                // all of them
  bool is_key_gone = false;                             // there shall be no key, and none of its limits
  std::optional<std::string> key = {};                  // another one: no weights
  bool is_key_limit_given = false;
  std::optional<int> key_concurrency = {};  // with is_key_limit_given
  RateChange key_rate = {};
  std::optional<std::vector<UnitBudget>> key_budgets = {};
  bool is_fair = false;                              // refused unless it has a key then: its keys take turns
  std::map<std::string, std::int32_t> weights = {};  // of these keys, 0: none; of others they stay
  bool is_ageing_gone = false;                       // there shall be none
  std::optional<std::int64_t> ageing_ms = {};
  std::optional<bool> paused = {};
  std::optional<std::int64_t> revision = {};  // of the limits that the change is about

  bool is_empty() const {
    return !is_limit_given && rate.is_empty() && !is_key_gone && !key && !is_key_limit_given && key_rate.is_empty() &&
           !budgets && !reserves && !key_budgets && !is_fair && weights.empty() && !is_ageing_gone && !ageing_ms &&
           !paused;
  }
};

inline constexpr std::int64_t queue_ageing_ms_max = 30LL * 24 * 3'600 * 1'000;  // as check_limits() has it

// The limits after the change, which is on record with its actor; workers are woken. Refuses `invalid` as
// check_limits(), parts of a rate where there is none, turns without a key, and a first change of a queue whose name is
// blank or has control characters; `stale` if the queue has another
// revision than the given one.
Result<QueueLimits> change_queue(Store& store, const QueueChange& change, const std::string& actor);

}  // namespace cairn
