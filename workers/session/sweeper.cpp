#include "workers/session/sweeper.hpp"

#include <algorithm>

#include "storage/commit_rules.hpp"

namespace cairn {

SessionWatch::SessionWatch(SessionId self, TimeUs dead_after_us, TimeUs gap_max_us)
    : self_(self), dead_after_us_(dead_after_us), gap_max_us_(gap_max_us) {}

std::vector<SessionId> SessionWatch::scanned(std::span<const SessionRow> sessions, TimeUs steady_us,
                                             std::span<const SessionId> exited) {
  const TimeUs passed = last_scan_ ? std::min(steady_us - *last_scan_, gap_max_us_) : 0;
  last_scan_ = steady_us;
  for (auto& [id, watched] : watched_) watched.present = false;
  std::vector<SessionId> dead;
  for (const SessionRow& session : sessions) {
    const auto [found, is_new] = watched_.try_emplace(session.id, Watched{session.counter, 0, true});
    Watched& watched = found->second;
    watched.present = true;
    watched.still_us = is_new || watched.counter != session.counter ? 0 : watched.still_us + passed;
    watched.counter = session.counter;
    const bool has_exited = std::find(exited.begin(), exited.end(), session.id) != exited.end();
    if (session.id != self_ && (has_exited || watched.still_us >= dead_after_us_)) dead.push_back(session.id);
  }
  std::erase_if(watched_, [](const auto& entry) { return !entry.second.present; });
  return dead;
}

std::vector<LetGo> calls_of(const std::vector<Pool::Release>& releases) {
  std::map<std::pair<TimeUs, bool>, LetGo> calls_by;
  for (const Pool::Release& one : releases) {
    LetGo& call = calls_by[{one.run_at_us, one.is_of_others}];
    call.run_at_us = one.run_at_us;
    call.is_of_others = one.is_of_others;
    call.holds.emplace_back(one.run, one.fence);
  }
  std::vector<LetGo> calls;
  for (auto& [by, call] : calls_by) calls.push_back(std::move(call));
  return calls;
}

std::string hold_text(const HeldJob& job) {
  return to_string(job.run) + " " + std::to_string(job.job.branch) + " " + std::to_string(job.epoch);
}

// An older release does not say what runs alone, or what has begun: then every loss counts, as it did there.
Loss loss_of(const HeldJob& held, const std::string& message, const SaidOfHolds& said) {
  Loss loss;
  loss.run = held.run;
  loss.fence = {held.job.branch, held.session, held.epoch, held.job.step};
  const bool is_alone = !said.alone || *said.alone == hold_text(held);
  const bool is_beside_one_alone = !is_alone && !said.alone->empty();
  if (held.job.queue == timer_queue || is_beside_one_alone) return loss;
  const bool has_begun =
      !said.begun || std::find(said.begun->begin(), said.begun->end(), attempt_text(held)) != said.begun->end();
  loss.command =
      FailStep{held.job.step, held.job.attempt, {lost_error, message, true, {}}, held.session, 0, is_alone, has_begun};
  return loss;
}

// --- the sweeper ----------------------------------------------------------------------------------------------------

namespace {

Sweeper::Hold hold_of(const HeldJob& job) { return {job.run, job.job.branch, job.epoch}; }

Pool::Release release_of(const HeldJob& job, TimeUs run_at_us, SessionId self) {
  return {job.run, {job.job.branch, job.session, job.epoch, job.job.step}, run_at_us, job.session != self};
}

}  // namespace

Sweeper::Sweeper(SessionId self, TimeUs dead_after_us)
    : self_(self),
      stray_after_us_(dead_after_us / 2),
      watch_(self, dead_after_us, std::max<TimeUs>(dead_after_us / 2, 1)) {}

Sweeper::Findings Sweeper::scanned(const ScanSessions& scan, const Ours& ours, TimeUs steady_us) {
  Findings findings;
  const ScanSessions::Answer& found = scan.answer;
  said_.clear();
  for (const SessionRow& row : found.sessions) said_.emplace(row.id, SaidOfHolds{row.alone, row.begun});
  if (found.held.is_all) {  // a hold missing from a list that was cut off is perhaps not gone
    find_stopped(scan, ours.steps, findings);
    find_strays(scan, ours, steady_us, findings);
  }
  findings.dead = watch_.scanned(found.sessions, steady_us, found.exited);
  findings.is_forgotten = std::none_of(found.sessions.begin(), found.sessions.end(),
                                       [this](const SessionRow& row) { return row.id == self_; });
  return findings;
}

void Sweeper::find_stopped(const ScanSessions& scan, std::span<const Executing> executing, Findings& findings) const {
  std::set<Hold> held;
  for (const HeldJob& job : scan.answer.held.own) held.insert(hold_of(job));
  // A step that began after the scan was asked for may have been claimed after it, too: it is judged by the next one.
  for (const Executing& step : executing)
    if (step.is_running && step.started_at < scan.asked_us && !held.contains(step.hold))
      findings.stopped.push_back(step.slot);
}

bool Sweeper::Ours::may_come(const RunId& run, TimeUs seen_us) const {
  if (unanswered_since.empty()) return false;
  const Shard shard = shard_of(run, static_cast<std::int32_t>(unanswered_since.size()));
  return unanswered_since[static_cast<std::size_t>(shard)] <= seen_us;
}

// A hold of ours that no step here has, because the answer that would have brought it was lost. An answer that is still
// to come may bring it, however late: a commit in doubt may have landed. So it is a stray only if no call is unanswered
// that was asked before the hold was seen.
void Sweeper::find_strays(const ScanSessions& scan, const Ours& ours, TimeUs steady_us, Findings& findings) {
  std::set<Hold> known;
  for (const Executing& step : ours.steps) known.insert(step.hold);
  std::map<Hold, TimeUs> strays;
  for (const HeldJob& job : scan.answer.held.own) {
    const Hold hold = hold_of(job);
    if (known.contains(hold)) continue;
    const auto before = strays_.find(hold);
    const TimeUs first = before == strays_.end() ? steady_us : before->second;
    strays.emplace(hold, first);
    if (steady_us - first >= stray_after_us_ && !ours.may_come(hold.run, first))
      findings.releases.push_back(release_of(job, scan.now_us, self_));
  }
  strays_ = std::move(strays);
}

Sweeper::Lost Sweeper::losses_of(const std::vector<HeldJob>& jobs, const std::string& message, TimeUs now_us) {
  Lost lost;
  for (const HeldJob& job : jobs) {
    const auto session = said_.find(job.session);
    // A session without a row may have been closed in good order: none of its holds is taken for one that ran alone.
    Loss loss = loss_of(job, message, session == said_.end() ? SaidOfHolds{.alone = ""} : session->second);
    if (!loss.command) {
      lost.releases.push_back(release_of(job, now_us, self_));
    } else if (under_way_.insert(hold_of(job)).second) {
      lost.losses.push_back(std::move(loss));
    }
  }
  return lost;
}

// Each pairs with what began it: a loss that was reported twice would have been counted twice.
void Sweeper::reported_lost(const Hold& hold) { CHECK(under_way_.erase(hold) == 1); }

bool Sweeper::begin_cancel(const RunId& orphan) { return under_way_.insert({orphan, 0, 0}).second; }

void Sweeper::cancelled(const RunId& orphan) { CHECK(under_way_.erase({orphan, 0, 0}) == 1); }

}  // namespace cairn
