// The reaper's judgement: it finds expired leases, that is sessions that are dead, held jobs that are lost, and holds
// of our own that disagree with the store. A state machine without I/O: it is given the result of each scan. Every loss
// goes through the committer with the dead session's fencing token, so that two sweepers never count one loss twice.
// Not thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/command.hpp"
#include "storage/store.hpp"
#include "workers/session/pool.hpp"
#include "workers/session/store_calls.hpp"

namespace cairn {

// Declares a session dead when its heartbeat counter has stood still for the time-to-live, as seen by this process.
// Only time between two successful scans counts, and at most `gap_max_us` of each gap, so that a database outage kills
// no session.
class SessionWatch {
 public:
  SessionWatch(SessionId self, TimeUs dead_after_us, TimeUs gap_max_us);

  // One successful scan of all sessions, at a time of our own monotonic clock. Returns the dead among them; those whose
  // process is known to have `exited` are dead at once. They are returned by each scan until their row is gone.
  std::vector<SessionId> scanned(std::span<const SessionRow> sessions, TimeUs steady_us,
                                 std::span<const SessionId> exited = {});

 private:
  struct Watched {
    std::int64_t counter = 0;
    TimeUs still_us = 0;
    bool present = false;
  };
  SessionId self_;
  TimeUs dead_after_us_;
  TimeUs gap_max_us_;
  std::optional<TimeUs> last_scan_;
  std::map<SessionId, Watched> watched_;
};

// A held job whose worker is dead or overdue.
struct Loss {
  RunId run;
  Fence fence;
  std::optional<FailStep> command;  // nothing: a timer, or a step that had not begun, which is only let go
};
// The words of a session's row on which of its holds have begun.
struct SaidOfHolds {
  std::optional<std::string> alone = {};
  std::optional<std::vector<std::string>> begun = {};
};
Loss loss_of(const HeldJob& job, const std::string& message, const SaidOfHolds& said);

// The calls that let go of these holds.
std::vector<LetGo> calls_of(const std::vector<Pool::Release>& releases);

// The hold as SessionRow::alone names it.
std::string hold_text(const HeldJob& job);

class Sweeper {
 public:
  Sweeper(SessionId self, TimeUs dead_after_us);

  struct Hold {  // one hold of a branch
    RunId run;
    BranchId branch = 0;
    std::int64_t epoch = 0;
    auto operator<=>(const Hold&) const = default;
  };
  struct Executing {  // a step that this session is busy with
    Pool::Slot slot = 0;
    Hold hold;
    bool is_running = false;
    TimeUs started_at = 0;  // steady
  };
  struct Ours {
    std::vector<Executing> steps;
    // When each shard's oldest call was asked that may still bring a hold; steady. `never_us`, or no shards: none may.
    std::vector<TimeUs> unanswered_since;
    bool may_come(const RunId& run, TimeUs seen_us) const;  // a hold of the run that was seen then
  };
  struct Findings {
    std::vector<Pool::Slot> stopped;      // run here although their hold is gone: cancelled, or given up as lost
    std::vector<Pool::Release> releases;  // ours in the store for long, and unknown here
    std::vector<SessionId> dead;          // to be reaped
    bool is_forgotten = false;            // we were declared dead ourselves
  };
  Findings scanned(const ScanSessions& scan, const Ours& ours, TimeUs steady_us);

  // The losses among the holds, each of which must be committed and then reported_lost(); and timers and steps that had
  // not begun, which are only released. Those that are under way already are left out.
  struct Lost {
    std::vector<Loss> losses;
    std::vector<Pool::Release> releases;
  };
  Lost losses_of(const std::vector<HeldJob>& jobs, const std::string& message, TimeUs now_us);
  void reported_lost(const Hold& hold);

  // A child run whose parent has ended. False if its cancelling is under way already.
  bool begin_cancel(const RunId& orphan);
  void cancelled(const RunId& orphan);

 private:
  void find_stopped(const ScanSessions& scan, std::span<const Executing> executing, Findings& findings) const;
  void find_strays(const ScanSessions& scan, const Ours& ours, TimeUs steady_us, Findings& findings);

  SessionId self_;
  TimeUs stray_after_us_;
  SessionWatch watch_;
  std::set<Hold> under_way_;               // through the committer; an orphan's: branch and epoch 0
  std::map<Hold, TimeUs> strays_;          // and when we saw them first; steady
  std::map<SessionId, SaidOfHolds> said_;  // by the sessions of the last scan
};

}  // namespace cairn
