#include "workers/sweep.hpp"

#include <algorithm>

namespace cairn {

Sweep::Sweep(SessionId self, TimeUs dead_after_us, TimeUs look_max_us)
    : self_(self), dead_after_us_(dead_after_us), look_max_us_(look_max_us) {}

std::vector<SessionId> Sweep::seen(std::span<const SessionRow> sessions, TimeUs steady_us) {
  const TimeUs passed = last_look_ ? std::min(steady_us - *last_look_, look_max_us_) : 0;
  last_look_ = steady_us;
  for (auto& [id, watched] : watched_) watched.present = false;
  std::vector<SessionId> dead;
  for (const SessionRow& session : sessions) {
    const auto [found, is_new] = watched_.try_emplace(session.id, Watched{session.counter, 0, true});
    Watched& watched = found->second;
    watched.present = true;
    watched.still_us = is_new || watched.counter != session.counter ? 0 : watched.still_us + passed;
    watched.counter = session.counter;
    if (session.id != self_ && watched.still_us >= dead_after_us_) dead.push_back(session.id);
  }
  std::erase_if(watched_, [](const auto& entry) { return !entry.second.present; });
  return dead;
}

Loss loss_of(const HeldJob& held, const std::string& says) {
  Loss loss;
  loss.run = held.run;
  loss.fence = {held.job.branch, held.session, held.epoch, held.job.step};
  if (held.job.queue == timer_queue) return loss;
  loss.command = FailStep{held.job.step, held.job.attempt, {"lost", says, true, {}}, held.session, 0};
  return loss;
}

}  // namespace cairn
