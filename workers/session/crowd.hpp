// Load shedding among sessions that serve the same queues, as a session's last scan of them found them. Up to `watch`
// sessions each listen for notifications, poll and scan as if they were alone. In a larger crowd `watch` of each queue
// listen, by turns, and all poll less often, so that together they do about as much as `watch` of them, up to a longest
// pause: the server's work grows with the sessions and not with their square (decisions 0081, 0141). Not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "storage/sessions.hpp"

namespace cairn {

class Crowd {
 public:
  static constexpr std::int64_t watch = 16;

  explicit Crowd(SessionId self) : self_(self) {}
  // The listeners of a queue are others then: they are the first to take its jobs.
  static constexpr TimeUs turn_us = 20'000'000;

  // A scan found these sessions; `now_us`: the database's. One without a heartbeat for `silent_us` does not count.
  void seen(std::span<const SessionRow> sessions, const std::set<std::string, std::less<>>& queues, TimeUs now_us,
            TimeUs silent_us);

  // One of those that listen now for some queue of ours, by the database's time: all that know of the same sessions
  // agree on them.
  bool is_listener(TimeUs now_us) const;
  // Between two polls, if `every_us` is right for a session alone. Those that began together do not poll together.
  TimeUs poll_us(TimeUs every_us) const;
  // Between two scans of an idle session for what the others left, likewise. The `watch` sessions with the lowest ids
  // scan as often as one alone.
  TimeUs scan_pause_us(TimeUs every_us) const;

 private:
  SessionId self_;
  std::int64_t alive_ = 1;                       // of all
  std::int64_t before_ = 0;                      // of them those with a lower id
  std::int64_t sharing_ = 1;                     // that serve the queue of ours that fewest serve
  std::vector<std::vector<SessionId>> serving_;  // those of each queue of ours that may listen
};

}  // namespace cairn
