#include "workers/session/sweeper.hpp"

#include <algorithm>

namespace cairn {

Sweep::Sweep(SessionId self, TimeUs dead_after_us, TimeUs look_max_us)
    : self_(self), dead_after_us_(dead_after_us), look_max_us_(look_max_us) {}

std::vector<SessionId> Sweep::seen(std::span<const SessionRow> sessions, TimeUs steady_us,
                                   std::span<const SessionId> gone) {
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
    const bool is_gone = std::find(gone.begin(), gone.end(), session.id) != gone.end();
    if (session.id != self_ && (is_gone || watched.still_us >= dead_after_us_)) dead.push_back(session.id);
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

// --- the sweeper ----------------------------------------------------------------------------------------------------

namespace {

Sweeper::Hold hold_of(const HeldJob& job) { return {job.run, job.job.branch, job.epoch}; }

Pool::Release release_of(const HeldJob& job, TimeUs run_at_us) {
  return {job.run, {job.job.branch, job.session, job.epoch, job.job.step}, run_at_us};
}

}  // namespace

Sweeper::Sweeper(SessionId self, TimeUs dead_after_us)
    : self_(self),
      stray_after_us_(dead_after_us / 2),
      sweep_(self, dead_after_us, std::max<TimeUs>(dead_after_us / 2, 1)) {}

Sweeper::Findings Sweeper::seen(const Seen& seen, std::span<const Executing> executing, TimeUs steady_us) {
  Findings findings;
  if (seen.held.is_all) {
    find_stopped(seen, executing, findings);
    find_strays(seen, executing, findings);
  }
  findings.dead = sweep_.seen(seen.sessions, steady_us, seen.gone);
  findings.is_forgotten = std::none_of(seen.sessions.begin(), seen.sessions.end(),
                                       [this](const SessionRow& row) { return row.id == self_; });
  return findings;
}

void Sweeper::find_stopped(const Seen& seen, std::span<const Executing> executing, Findings& findings) const {
  std::set<Hold> held;
  for (const HeldJob& job : seen.held.own) held.insert(hold_of(job));
  for (const Executing& step : executing)
    if (step.is_running && step.started_at < seen.now_us && !held.contains(step.hold))
      findings.stopped.push_back(step.slot);
}

void Sweeper::find_strays(const Seen& seen, std::span<const Executing> executing, Findings& findings) {
  std::set<Hold> known;
  for (const Executing& step : executing) known.insert(step.hold);
  std::map<Hold, TimeUs> strays;
  for (const HeldJob& job : seen.held.own) {
    const Hold hold = hold_of(job);
    if (known.contains(hold)) continue;
    const auto before = strays_.find(hold);
    const TimeUs first = before == strays_.end() ? seen.now_us : before->second;
    strays.emplace(hold, first);
    if (seen.now_us - first >= stray_after_us_) findings.releases.push_back(release_of(job, seen.now_us));
  }
  strays_ = std::move(strays);
}

Sweeper::Lost Sweeper::lose(const std::vector<HeldJob>& jobs, const std::string& says, TimeUs now_us) {
  Lost lost;
  for (const HeldJob& job : jobs) {
    Loss loss = loss_of(job, says);
    if (!loss.command) {
      lost.timers.push_back(release_of(job, now_us));
    } else if (under_way_.insert(hold_of(job)).second) {
      lost.losses.push_back(std::move(loss));
    }
  }
  return lost;
}

bool Sweeper::orphan(const RunId& run) { return under_way_.insert({run, 0, 0}).second; }

void Sweeper::settled(const Hold& hold) { under_way_.erase(hold); }

}  // namespace cairn
