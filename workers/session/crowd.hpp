// Load shedding among sessions that serve the same queues, as a session's last scan of them found them. Up to `watch`
// sessions each listen for notifications, poll and scan as if they were alone. In a larger crowd the `watch` with the
// lowest ids of each queue listen, and all poll less often, so that together they do about as much as `watch` of them,
// up to a longest pause: the server's work grows with the sessions and not with their square (decisions 0081, 0141).
// Not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "storage/sessions.hpp"

namespace cairn {

class Crowd {
 public:
  static constexpr std::int64_t watch = 16;

  explicit Crowd(SessionId self) : self_(self) {}

  // A scan found these sessions; `now_us`: the database's. One without a heartbeat for `silent_us` does not count.
  void seen(std::span<const SessionRow> sessions, const std::set<std::string, std::less<>>& queues, TimeUs now_us,
            TimeUs silent_us);

  // One of the first that serve some queue of ours.
  bool is_listener() const { return first_ < watch; }
  // Between two polls, if `every_us` is right for a session alone.
  TimeUs poll_us(TimeUs every_us) const;
  // Between two scans of an idle session for what the others left, likewise. The `watch` sessions with the lowest ids
  // scan as often as one alone.
  TimeUs scan_pause_us(TimeUs every_us) const;

 private:
  SessionId self_;
  std::int64_t alive_ = 1;    // of all
  std::int64_t before_ = 0;   // of them those with a lower id
  std::int64_t sharing_ = 1;  // that serve the queue of ours that fewest serve
  std::int64_t first_ = 0;    // with a lower id that serve the queue of ours with the fewest of them
};

}  // namespace cairn
