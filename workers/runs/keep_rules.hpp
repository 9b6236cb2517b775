// The rules of keeping jobs: which jobs stay with the session that commits them, and which it may execute before they
// are committed. Decided from inputs alone: the session says what it serves and what room it has; nothing is asked
// back. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/job.hpp"
#include "storage/limits/queue_limits.hpp"
#include "storage/store.hpp"

namespace cairn {

using QueueNames = std::set<std::string, std::less<>>;

// The room that a session has at a moment. A plain value.
struct Capacity {
  bool is_accepting = false;    // false: it drains, or has no session; nothing stays
  std::int32_t free_slots = 0;  // for branches that would be created held
  std::int32_t refills = 0;     // how many slots that a commit frees may be filled again by it
};

// The queues that a session serves, and how a held branch goes on there.
using ServedQueues = std::map<std::string, GoesOn, std::less<>>;

// In a queue that is not served each step is claimed: never.
inline GoesOn goes_on(const ServedQueues& served, const std::string& queue) {
  const auto found = served.find(queue);
  return found == served.end() ? GoesOn::never : found->second;
}

class KeepRules {
 public:
  // `keeps`: the next step of a held branch may stay. `default_timeout_ms`: as ClaimRequest has it.
  KeepRules(bool keeps, std::int64_t default_timeout_ms);

  void tick(TimeUs now_us) { now_ = now_us; }  // the database's
  TimeUs now() const { return now_; }
  void set_capacity(Capacity capacity) { capacity_ = capacity; }
  void set_queues(ServedQueues queues) { queues_ = std::move(queues); }

  // The deadline under which a held branch's next job stays; nothing: it is offered. `keep_in`: the queue in which its
  // holder may keep it, as far as it knows who waits there; no matter in an open one.
  std::optional<TimeUs> kept_until(const Job& job, const std::optional<std::string>& keep_in) const;
  // The same for a branch whose row is new. It takes a free slot until it is released().
  std::optional<TimeUs> created_held_until(const Job& job);
  void released(std::size_t created_held);
  int created_held() const { return created_held_; }  // not yet released

  // How many of the slots that a commit frees it may fill again with other jobs of the same runs, and from which
  // queues.
  std::int32_t refills_of(std::int32_t freed) const;
  std::vector<std::string> open_queues() const;

  // A step that may be executed here and now, before its job is committed. `keep_in`: of the branch's holder, or
  // nothing.
  bool may_execute(const Job& job, const std::optional<std::string>& keep_in) const;

 private:
  bool may_begin(const Job& job) const;

  const bool keeps_;
  const std::int64_t default_timeout_ms_;
  TimeUs now_ = 0;
  Capacity capacity_;
  ServedQueues queues_;
  int created_held_ = 0;
};

}  // namespace cairn
