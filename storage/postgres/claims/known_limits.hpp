// The limits of queues as this process knows them from its claims: which queues are limited, of which kind each is, and
// which are held back because their rate or budget lets nothing be started. It may be wrong: each claim finds out in
// its own transaction, and records it here. Nothing here asks the database. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/clock.hpp"
#include "storage/postgres/claims/claim_rooms.hpp"
#include "storage/queue.hpp"

namespace cairn {

class KnownLimits {
 public:
  // `clock`: the monotonic one.
  explicit KnownLimits(std::function<TimeUs()> clock = steady_us) : clock_(std::move(clock)) {}

  // Called with a time of the monotonic clock at which a rate or a budget lets jobs be claimed again. Set before the
  // first claim.
  void on_held_back(std::function<void(TimeUs)> wake_at) { wake_at_ = std::move(wake_at); }

  // The request for its unlimited queues, and for its limited ones. The two take turns at being first, so that neither
  // starves the other.
  struct Split {
    ClaimRequest unlimited;
    ClaimRequest limited;
    bool limited_first = false;
  };
  Split split(const ClaimRequest& request);

  // Limited queues by the statement that claims from them, each kind in the order given. Governed ones that are held
  // back are in none.
  struct Kinds {
    std::vector<std::string> counted;  // with a concurrency alone
    std::vector<std::string> governed;
    std::vector<std::string> keyed;  // governed, with keys
  };
  Kinds kinds_of(const std::vector<std::string>& queues);

  // The revision of the limits of a queue with keys; nothing: it is not known to have any.
  std::optional<std::int64_t> revision_of_keyed(const std::string& queue);

  // A claim asked these queues, and found these limits of them.
  void record(const std::vector<std::string>& asked, const std::vector<QueueLimits>& limits);
  // And their rooms, of which it took these jobs. Where it took all that a rate left, the queue is held back until
  // there is more, for a second at most; then the threads that wait for jobs are woken.
  void record(const std::vector<std::string>& asked, const ClaimRooms& rooms, const std::vector<HeldJob>& claimed);
  // Jobs can be claimed again after so long, though no queue is held back.
  void wake_after(TimeUs wait_us);

  // Whether a claim from these queues shall look at the permits of all jobs that were held: it is so the first time,
  // and then four times a second for each of them.
  bool is_time_to_retire(const std::vector<std::string>& queues);

  // The limits of the queue are others now: it is not held back by what was known of them.
  void limits_changed(const std::string& queue);

 private:
  const std::function<TimeUs()> clock_;
  std::function<void(TimeUs)> wake_at_;
  std::mutex mutex_;
  std::set<std::string> limited_;              // when they were last claimed from
  std::set<std::string> governed_;             // of the limited ones
  std::map<std::string, std::int64_t> keyed_;  // of the governed ones, with the revision of their limits
  std::map<std::string, TimeUs> held_back_;    // until when
  std::map<std::string, TimeUs> retired_at_;   // of the limited ones
  bool limited_first_ = false;                 // changes with each claim
};

}  // namespace cairn
