#include "workers/session/sweeping.hpp"

#include <algorithm>

#include "storage/commit_rules.hpp"
#include "workers/session/attempt_note.hpp"

namespace cairn {
namespace {

constexpr TimeUs scan_failed_pause_us = 1'000'000;
constexpr TimeUs scan_pause_min_us = 20'000;
constexpr TimeUs scan_pause_max_us = 2'000'000;
constexpr TimeUs refused_loss_pause_us = 30'000'000;
constexpr TimeUs jobs_scan_share = 50;  // scanning all held jobs may take one part in this many of the time
constexpr TimeUs jobs_scan_pause_max_us = 60'000'000;
constexpr std::size_t children_at_once = 50;
constexpr TimeUs children_every_us = 500'000;
constexpr Ticket internal_tickets = Ticket{1} << 63;  // not a slot's

bool is_unreadable(const Error& error) { return error.code == Code::unsupported || error.code == Code::corrupt; }

}  // namespace

Json fields_of(const Sweeping::TakenOver& taken, const RunState* state) {
  return fields_of_attempt(taken.run, taken.fence, taken.attempt, state);
}

Sweeping::Sweeping(SweepOptions options)
    : options_(options), sweeper_(options.session, options.dead_after_us), last_ticket_(internal_tickets) {}

void Sweeping::tick(TimeUs steady_us, TimeUs now_us) {
  steady_ = steady_us;
  now_ = now_us;
}

TimeUs Sweeping::pause_us() const {
  return std::clamp<TimeUs>(options_.dead_after_us / 5, scan_pause_min_us, scan_pause_max_us);
}

Sweeping::Actions Sweeping::drain_actions() { return std::exchange(actions_, {}); }

TimeUs Sweeping::due_us(bool is_idle) const {
  if (is_scanning_) return never_us;
  return is_idle ? std::max(next_scan_, rest_until_) : next_scan_;
}

// --- scans ----------------------------------------------------------------------------------------------------------

void Sweeping::scan_if_due(bool is_idle) {
  if (is_scanning_ || steady_ < due_us(is_idle)) return;
  is_scanning_ = true;
  ScanSessions scan;
  scan.session = options_.session;
  scan.held_max = options_.held_max;
  scan.now_us = now_;
  scan.asked_us = steady_;
  scan.orphans_from = orphans_from_;
  scan.scans_jobs = steady_ >= next_jobs_scan_;
  scan.loose_after = loose_after_;
  actions_.calls.emplace_back(std::move(scan));
}

void Sweeping::scan_soon() {
  if (!is_scanning_) next_scan_ = std::min(next_scan_, soonest_scan_);
  rest_until_ = 0;
}

void Sweeping::scan_failed() {
  is_scanning_ = false;
  soonest_scan_ = next_scan_ = steady_ + scan_failed_pause_us;
}

Sweeper::Findings Sweeping::scanned(const ScanSessions& scan, const Sweeper::Ours& ours, bool is_draining) {
  CHECK(is_scanning_);
  is_scanning_ = false;
  soonest_scan_ = steady_ + scan_pause_min_us;
  next_scan_ = steady_ + pause_us();
  if (scan.answer.jobs_took_us > 0) record_jobs_scan(scan.answer.jobs_took_us);
  Sweeper::Findings found = sweeper_.scanned(scan, ours, steady_);
  actions_.releases.insert(actions_.releases.end(), found.releases.begin(), found.releases.end());
  if (is_draining) return found;
  reap(found.dead, scan.answer.sessions);
  orphans_from_ = scan.orphans_from;
  report_lost(judged_overdue(scan.answer.held.overdue), "Its worker did not report in time.");
  report_lost(scan.answer.held.unowned, "Its worker is gone.");
  cancel_orphans(scan.answer.orphans);
  finish_calls(scan.answer);
  return found;
}

std::vector<HeldJob> Sweeping::judged_overdue(const std::vector<HeldJob>& overdue) const {
  std::vector<HeldJob> judged;
  for (const HeldJob& held : overdue) {
    const TimeUs lasts = deadline_of(held.job, options_.default_timeout_ms, 0);
    if (set_at_ == 0 || lasts == never_us || steady_ - set_at_ >= lasts) judged.push_back(held);
  }
  return judged;
}

// The cheaper of the last two scans counts: one slow scan may be noise.
void Sweeping::record_jobs_scan(TimeUs took_us) {
  const TimeUs usual = std::min(std::exchange(jobs_took_us_, took_us), took_us);
  next_jobs_scan_ = steady_ + std::min(jobs_scan_share * usual, jobs_scan_pause_max_us);
}

// All sessions that saw one die take over its runs at once, each a share of its own. A session that does not sweep
// leaves its share: at the next scan each takes all that is left.
void Sweeping::reap(const std::vector<SessionId>& dead, const std::vector<SessionRow>& sessions) {
  RunShare share{0, 0};
  for (const SessionRow& row : sessions) {
    if (std::find(dead.begin(), dead.end(), row.id) != dead.end()) continue;
    ++share.of;
    share.index += row.id < options_.session ? 1 : 0;
  }
  std::erase_if(reaping_,
                [&](const auto& entry) { return std::find(dead.begin(), dead.end(), entry.first) == dead.end(); });
  for (const SessionId session : dead) {
    const auto [reaping, is_first] = reaping_.try_emplace(session);
    if (is_first && share.index < share.of) reaping->second.share = share;
    if (!is_first) reaping->second.share = {};
    if (reaping->second.losses == 0) actions_.calls.emplace_back(ReapSession{session, reaping->second.share});
  }
}

// A full answer is not all: the rest is asked for when these losses are committed.
void Sweeping::reaped(const ReapSession& call) {
  const std::int64_t losses = report_lost(call.answer, "Its worker died.");
  const auto reaping = reaping_.find(call.session);
  if (reaping == reaping_.end()) return;
  reaping->second.losses += losses;
  reaping->second.is_full = call.answer.size() >= static_cast<std::size_t>(ReapSession::holds_max);
}

void Sweeping::committed_loss(SessionId session) {
  const auto reaping = reaping_.find(session);
  if (reaping == reaping_.end() || reaping->second.losses == 0 || --reaping->second.losses > 0) return;
  if (std::exchange(reaping->second.is_full, false))
    actions_.calls.emplace_back(ReapSession{session, reaping->second.share});
}

// --- internal submissions -------------------------------------------------------------------------------------------

bool Sweeping::is_internal(Ticket ticket) { return ticket >= internal_tickets; }

Ticket Sweeping::new_submission(InternalSubmission::Kind kind, const RunId& run, const Fence& fence) {
  submissions_.emplace(++last_ticket_, InternalSubmission{kind, run, fence});
  return last_ticket_;
}

// Returns how many will be replied to.
std::int64_t Sweeping::report_lost(const std::vector<HeldJob>& jobs, const std::string& message) {
  Sweeper::Lost lost = sweeper_.losses_of(jobs, message, now_);
  for (Loss& loss : lost.losses) {
    const Ticket ticket = new_submission(InternalSubmission::Kind::loss, loss.run, loss.fence);
    InternalSubmission& submission = submissions_.at(ticket);
    submission.why = message;
    submission.attempt = loss.command->attempt;
    actions_.submissions.push_back(
        {.ticket = ticket, .run = loss.run, .command = *std::move(loss.command), .fence = loss.fence});
  }
  actions_.releases.insert(actions_.releases.end(), lost.releases.begin(), lost.releases.end());
  return std::ssize(lost.losses);
}

void Sweeping::cancel_orphans(const std::vector<RunId>& orphans) {
  for (const RunId& run : orphans)
    if (!backoff_.is_paused(run, steady_) && sweeper_.begin_cancel(run))
      actions_.submissions.push_back(
          {.ticket = new_submission(InternalSubmission::Kind::orphan, run),
           .run = run,
           .command = Cancel{.reason = "The run that called it has ended.", .spares_cleanup = true},
           .caller_has_ended = true});
}

void Sweeping::finish_calls(const ScanSessions::Answer& found) {
  loose_after_ = found.are_last ? RunId{} : found.loose_ends.back().run;
  std::vector<RunId> unasked;  // their callers have ended and need no more
  for (const LooseEnd& end : found.loose_ends) {
    if (!end.caller_is_open)
      unasked.push_back(end.run);
    else if (!backoff_.is_paused(end.run, steady_) && finishing_.insert(end.run).second)
      actions_.to_finish.emplace_back(new_submission(InternalSubmission::Kind::loose_end, end.run), end.run);
  }
  if (!unasked.empty()) actions_.calls.emplace_back(TieEnds{std::move(unasked)});
}

std::optional<RunId> Sweeping::replied(const Reply& reply) {
  const auto found = submissions_.extract(reply.ticket);
  if (found.empty()) return std::nullopt;
  const InternalSubmission& what = found.mapped();
  switch (what.kind) {
    case InternalSubmission::Kind::child_state:
      return what.run;
    case InternalSubmission::Kind::orphan:
      sweeper_.cancelled(what.run);
      if (!reply.status && is_unreadable(reply.status.error())) backoff_.pause(what.run, steady_);
      return std::nullopt;
    case InternalSubmission::Kind::loose_end:
      replied_to_loose_end(what.run, reply);
      return std::nullopt;
    case InternalSubmission::Kind::loss:
      replied_to_loss(what, reply);
      return std::nullopt;
  }
  return std::nullopt;
}

// A step that had not begun (`conflict`) is offered again at once, and so is one of a run that cannot be read here, to
// the processes that can. A job whose loss was refused otherwise than by its fence is offered again a little later.
void Sweeping::replied_to_loss(const InternalSubmission& what, const Reply& reply) {
  sweeper_.reported_lost({what.run, what.fence.branch, what.fence.epoch});
  lost_ += reply.status ? 1 : 0;
  if (reply.status) actions_.taken_over.push_back({what.run, what.fence, what.attempt, what.why});
  committed_loss(what.fence.session);
  if (reply.status || reply.status.error().code == Code::stale) return;
  const bool is_left = is_unreadable(reply.status.error());
  if (is_left) actions_.unreadable.push_back(what.run);
  const bool is_at_once = is_left || reply.status.error().code == Code::conflict;
  actions_.releases.push_back({what.run, what.fence, is_at_once ? now_ : now_ + refused_loss_pause_us, true});
}

// Refused otherwise: the caller has heard of the end, or has ended, or is gone.
void Sweeping::replied_to_loose_end(const RunId& run, const Reply& reply) {
  finishing_.erase(run);
  if (!reply.status && is_unreadable(reply.status.error())) {
    backoff_.pause(run, steady_);
  } else {
    backoff_.forget(run);
    actions_.calls.emplace_back(TieEnds{{run}});
  }
}

// --- children -------------------------------------------------------------------------------------------------------

void Sweeping::find_children(const std::vector<RunId>& runs) {
  if (steady_ < next_children_) return;
  next_children_ = steady_ + children_every_us;
  for (std::size_t n = 0; n < std::min(children_at_once, runs.size()); ++n) {
    const RunId run = runs[next_child_++ % runs.size()];
    actions_.to_await.emplace_back(new_submission(InternalSubmission::Kind::child_state, run), run);
  }
}

std::vector<RunId> Sweeping::children_of(const RunState& state) {
  std::vector<RunId> children;
  if (is_ended(state.status)) return children;
  for (const auto& [id, step] : state.steps)
    if (!step.child.is_nil()) children.push_back(step.child);
  return children;
}

}  // namespace cairn
