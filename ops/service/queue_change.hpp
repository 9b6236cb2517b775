// A change of what is set for a queue, as `cairn queue set` and POST /queues/NAME ask for it. Safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/limit_book.hpp"

namespace cairn {

// A setting that is not given stays as it is, whatever other changes come between.
struct QueueChange {
  std::string queue;
  bool is_limit_given = false;
  std::optional<int> concurrency = {};  // with is_limit_given; nothing: no limit
  bool is_rate_gone = false;            // there shall be no rate; else the parts of it that are given
  std::optional<std::int64_t> rate = {};
  std::optional<std::int64_t> per_ms = {};
  std::optional<std::int64_t> burst = {};
  std::optional<std::int64_t> ageing_ms = {};  // 0: none
  std::optional<bool> paused = {};
  std::optional<std::int64_t> revision = {};  // of the limits that the change is about

  bool is_empty() const {
    return !is_limit_given && !is_rate_gone && !rate && !per_ms && !burst && !ageing_ms && !paused;
  }
};

// The limits after the change, which is on record with its actor; workers are woken. Refuses `invalid` as
// check_limits(), and parts of a rate where there is none; `stale` if the queue has another revision than the given
// one.
Result<QueueLimits> change_queue(Store& store, const QueueChange& change, const std::string& actor);

}  // namespace cairn
