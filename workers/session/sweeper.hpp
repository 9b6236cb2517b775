// Looking after the dead: sessions that no longer beat, steps past their deadline, holds of nobody, called runs whose
// caller has ended. A state machine without I/O: it is shown what a session table says and decides who is dead; every
// loss goes through the committer with the dead one's fence, so that two sweepers never count one loss twice.
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

// Declares a session dead when it has itself seen its counter stand still for the time-to-live. Only time between two
// successful looks counts, and of each at most `look_max_us`, so that a database outage kills nobody.
class Sweep {
 public:
  Sweep(SessionId self, TimeUs dead_after_us, TimeUs look_max_us);

  // One successful look at all sessions, at a time of our own monotonic clock. Returns the dead among them, at once
  // those whose process is known to be `gone`; they are named again at each look until their row is gone.
  std::vector<SessionId> seen(std::span<const SessionRow> sessions, TimeUs steady_us,
                              std::span<const SessionId> gone = {});

 private:
  struct Watched {
    std::int64_t counter = 0;
    TimeUs still_us = 0;
    bool present = false;
  };
  SessionId self_;
  TimeUs dead_after_us_;
  TimeUs look_max_us_;
  std::optional<TimeUs> last_look_;
  std::map<SessionId, Watched> watched_;
};

// What a held job that nobody works on any more comes to.
struct Loss {
  RunId run;
  Fence fence;
  std::optional<FailStep> command;  // nothing: a timer, which is only let go
};
Loss loss_of(const HeldJob& job, const std::string& says);

// What a session makes of what it saw: who is to be buried, what is lost, what of its own is out of step with the
// store.
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
    TimeUs started_at = 0;
  };
  struct Findings {
    std::vector<Pool::Slot> stopped;      // run here although their hold is gone: cancelled or given up for lost
    std::vector<Pool::Release> releases;  // held by us, they say, for long, yet nothing here knows of them
    std::vector<SessionId> dead;          // to be buried
    bool is_forgotten = false;            // we were declared dead ourselves
  };
  Findings seen(const Seen& seen, std::span<const Executing> executing, TimeUs steady_us);

  // What the holds come to: losses, each of which is then to be committed and told of by settled(), and timers, which
  // are only released. Those that are under way already are left out.
  struct Lost {
    std::vector<Loss> losses;
    std::vector<Pool::Release> timers;
  };
  Lost lose(const std::vector<HeldJob>& jobs, const std::string& says, TimeUs now_us);

  // False if its cancelling is under way already.
  bool orphan(const RunId& run);
  void settled(const Hold& hold);  // an orphan's: branch and epoch 0

 private:
  void find_stopped(const Seen& seen, std::span<const Executing> executing, Findings& findings) const;
  void find_strays(const Seen& seen, std::span<const Executing> executing, Findings& findings);

  SessionId self_;
  TimeUs stray_after_us_;
  Sweep sweep_;
  std::set<Hold> under_way_;       // through the committer
  std::map<Hold, TimeUs> strays_;  // and when we saw them first
};

}  // namespace cairn
