// Load shedding among sessions that serve the same queues, as a session's last scan of them found them. Up to `watch`
// sessions each answer every notification, poll and scan as if they were alone. In a larger crowd a session does so
// less often, so that all together do about as much as `watch` of them, up to a longest pause: the server's work grows
// with the sessions and not with their square (decision 0081). Not thread-safe.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <string>

#include "storage/sessions.hpp"

namespace cairn {

class Crowd {
 public:
  static constexpr std::int64_t watch = 16;

  explicit Crowd(SessionId self) : self_(self), random_(static_cast<std::minstd_rand::result_type>(self)) {}

  // A scan found these sessions; `now_us`: the database's. One without a heartbeat for `silent_us` does not count.
  void seen(std::span<const SessionRow> sessions, const std::set<std::string, std::less<>>& queues, TimeUs now_us,
            TimeUs silent_us);

  // Drawn for each notification that all have heard, so that about `watch` of them answer it.
  bool answers_notification();
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
  std::minstd_rand random_;
};

}  // namespace cairn
