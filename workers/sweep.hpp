// Looking after the dead: sessions that no longer beat, steps past their deadline, holds of nobody, called runs whose
// caller has ended. A state machine without I/O: it is shown what a session table says and decides who is dead; every
// loss goes through the committer with the dead one's fence, so that two sweepers never count one loss twice.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/command.hpp"
#include "storage/store.hpp"

namespace cairn {

// Declares a session dead when it has itself seen its counter stand still for the time-to-live. Only time between two
// successful looks counts, and of each at most `look_max_us`, so that a database outage kills nobody.
class Sweep {
 public:
  Sweep(SessionId self, TimeUs dead_after_us, TimeUs look_max_us);

  // One successful look at all sessions, at a time of our own monotonic clock. Returns the dead among them; they are
  // named again at each look until their row is gone.
  std::vector<SessionId> seen(std::span<const SessionRow> sessions, TimeUs steady_us);

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

}  // namespace cairn
