// The crowd: the sessions that share a session's work, as its last look found them, and how seldom it therefore looks
// by itself. Up to `watch` sessions each does all it does alone. In a larger crowd so many answer a notification, poll
// within a poll's time, and look after the others: the server's work grows with the sessions and not with their square
// (decision 0081). Not thread-safe.
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

  // A look found these sessions; `now_us`: the database's. One without a heartbeat for `silent_us` does not count.
  void seen(std::span<const SessionRow> sessions, const std::set<std::string, std::less<>>& queues, TimeUs now_us,
            TimeUs silent_us);

  // Whether this session answers a notification that all have heard: so that `watch` of them do.
  bool answers_notification();
  // Between two polls, if `every_us` is right for a session alone.
  TimeUs poll_us(TimeUs every_us) const;
  // Between two looks of an idle session at the others, likewise. The sessions that were started with the lowest ids
  // look as often as one alone.
  TimeUs scan_pause_us(TimeUs every_us) const;

 private:
  SessionId self_;
  std::int64_t alive_ = 1;    // of all
  std::int64_t before_ = 0;   // of them those with a lower id
  std::int64_t sharing_ = 1;  // that serve the queue of ours that fewest serve
  std::minstd_rand random_;
};

}  // namespace cairn
