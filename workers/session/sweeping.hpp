// The sweeping part of a session: when all sessions and held jobs are scanned, and what follows from a scan: dead
// sessions are reaped, losses committed, orphans cancelled, calls finished whose child has ended, the children of a
// session's own runs found. A state machine
// without I/O: it is given scans and replies, and gives calls and submissions. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workers/runs/committer.hpp"
#include "workers/session/run_backoff.hpp"
#include "workers/session/store_calls.hpp"
#include "workers/session/sweeper.hpp"

namespace cairn {

struct SweepOptions {
  SessionId session = 0;
  TimeUs dead_after_us = 0;
  std::int64_t default_timeout_ms = 0;
  std::int32_t held_max = 0;  // holds in one scan
};

class Sweeping {
 public:
  struct TakenOver {
    RunId run;
    Fence fence;  // that of the session which had lost it
    std::int32_t attempt = 0;
    std::string why;
  };
  struct Actions {
    std::vector<StoreCall> calls;  // answered by scanned(), scan_failed() or reaped()
    std::vector<Pool::Release> releases;
    std::vector<Submission> submissions;              // answered by replied()
    std::vector<std::pair<Ticket, RunId>> to_await;   // states to be awaited; likewise
    std::vector<std::pair<Ticket, RunId>> to_finish;  // loose ends whose calls are to be ended; likewise
    std::vector<RunId> unreadable;                    // runs that this process cannot read
    std::vector<TakenOver> taken_over;                // steps whose loss is on record now
    bool empty() const {
      return calls.empty() && releases.empty() && submissions.empty() && to_await.empty() && to_finish.empty() &&
             unreadable.empty() && taken_over.empty();
    }
  };

  explicit Sweeping(SweepOptions options);

  void tick(TimeUs steady_us, TimeUs now_us);
  // The database's clock was set. A hold is overdue by that clock, so from now on it is judged only when the clock has
  // run straight for as long as its step may take.
  void clock_was_set() { set_at_ = steady_; }

  // `is_idle`: nothing of the session's own depends on it, so that it may rest as long as rest_for() says.
  void scan_if_due(bool is_idle = false);
  // From the scan that was answered last.
  void rest_for(TimeUs pause_us) { rest_until_ = steady_ + pause_us; }
  void scan_soon();  // not only when it is due
  // The findings that concern the session's own steps and row. `is_draining`: nothing is done about others.
  Sweeper::Findings scanned(const ScanSessions& scan, const Sweeper::Ours& ours, bool is_draining);
  void scan_failed();
  TimeUs pause_us() const;  // between two scans of a session that is not idle
  void reaped(const ReapSession& call);

  // Is this the ticket of an internal submission, rather than of a step?
  static bool is_internal(Ticket ticket);
  // Returns the run whose state was awaited and is at hand now; see children_of().
  std::optional<RunId> replied(const Reply& reply);

  // Asks for the states of some of these runs, now and then.
  void find_children(const std::vector<RunId>& runs);
  // The runs that this one is calling.
  static std::vector<RunId> children_of(const RunState& state);

  Actions drain_actions();
  // Steady: when scan_if_due() scans; `never_us` while a scan is under way.
  TimeUs due_us(bool is_idle = false) const;
  std::int64_t lost() const { return lost_; }

 private:
  struct InternalSubmission {
    enum class Kind : std::uint8_t { loss, orphan, loose_end, child_state };
    Kind kind = Kind::loss;
    RunId run;
    Fence fence;
    std::int32_t attempt = 0;  // of a loss
    std::string why = {};
  };
  Ticket new_submission(InternalSubmission::Kind kind, const RunId& run, const Fence& fence = {});
  void reap(const std::vector<SessionId>& dead, const std::vector<SessionRow>& sessions);
  void committed_loss(SessionId session);
  std::int64_t report_lost(const std::vector<HeldJob>& jobs, const std::string& message);
  void cancel_orphans(const std::vector<RunId>& orphans);
  void finish_calls(const ScanSessions::Answer& found);
  void replied_to_loss(const InternalSubmission& what, const Reply& reply);
  void replied_to_loose_end(const RunId& run, const Reply& reply);
  void record_jobs_scan(TimeUs took_us);
  std::vector<HeldJob> judged_overdue(const std::vector<HeldJob>& overdue) const;

  const SweepOptions options_;
  Sweeper sweeper_;
  TimeUs steady_ = 0;
  TimeUs now_ = 0;  // the database's
  bool is_scanning_ = false;
  TimeUs next_scan_ = 0;     // these are steady
  TimeUs soonest_scan_ = 0;  // likewise
  TimeUs rest_until_ = 0;    // if the session is idle
  TimeUs next_jobs_scan_ = 0;
  TimeUs set_at_ = 0;        // steady; 0: its clock has not been set since this session began
  TimeUs jobs_took_us_ = 0;  // the latest scan
  OrphanMark orphans_from_;
  TimeUs next_children_ = 0;
  std::size_t next_child_ = 0;
  struct Reaping {
    RunShare share;
    std::int64_t losses = 0;  // under way
    bool is_full = false;     // there are more
  };
  std::map<SessionId, Reaping> reaping_;  // the dead ones of the last scan
  std::unordered_map<Ticket, InternalSubmission> submissions_;
  Ticket last_ticket_;
  RunId loose_after_{};
  std::set<RunId> finishing_;  // loose ends under way
  RunBackoff backoff_;         // of loose ends whose callers cannot be read, and of orphans
  std::int64_t lost_ = 0;
  Actions actions_;
};

// {"run", "step", "attempt", "worker"}, for the log; with the run's state, unless it is null, {"graph", "trace",
// "node"}.
Json fields_of(const Sweeping::TakenOver& taken, const RunState* state);

}  // namespace cairn
