// Worker sessions as the store keeps them, and a scan of the jobs they hold. Plain values.
//
// A session's counter is its heartbeat. A sweeper that has seen no change of it for the time-to-live, on its own
// monotonic clock, reaps the session: its holds are lost and their jobs are offered again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/queue.hpp"

namespace cairn {

struct SessionRow {
  SessionId id = 0;
  std::string host;
  std::int64_t pid = 0;
  std::vector<std::string> queues;
  std::int64_t counter = 0;  // raised by each heartbeat
  TimeUs started_at = 0;
  TimeUs beat_at = 0;     // its last heartbeat; 0: unknown, as of a worker of an older release
  bool only_own = false;  // executes only the runs it was started for, and those they call
  std::optional<std::vector<std::string>> handlers = {};  // nothing: unknown
  std::optional<std::vector<std::string>> tools = {};     // nothing: unknown
  std::optional<bool> has_model = {};  // a language model answers there, not the rule book alone; nothing: unknown
  // The places that its settings let tools reach, and where answers come from (workers/means.hpp); nothing: unknown.
  std::optional<std::vector<std::string>> allows = {};
  std::string machine = {};  // where `pid` means something; "": unknown
  // The one hold that it executes, as "RUN BRANCH EPOCH": none of its others has begun. "": its holds run side by side.
  // Nothing: unknown, as of a worker of an older release.
  std::optional<std::string> alone = {};
  // The attempts of steps that may not be lost which it has begun, as "RUN STEP ATTEMPT EPOCH". Nothing: unknown, as of
  // a worker of an older release or over HTTP.
  std::optional<std::vector<std::string>> begun = {};
  // For a worker that claims over HTTP: the caller as which it came, and its handlers and tools as JSON
  // (workers/gateway). Nothing: it is a process of this program.
  std::optional<std::string> caller = {};
  std::optional<std::string> declares = {};
};

// One of as many disjoint parts of all runs as there are processes that share work on them.
struct RunShare {
  std::int32_t index = 0;
  std::int32_t of = 1;
};

// Held jobs that need attention. A job may be in more than one list.
struct HeldScan {
  std::vector<HeldJob> own;      // held by the session that asks
  std::vector<HeldJob> overdue;  // past their deadline
  std::vector<HeldJob> unowned;  // held by a session that has no row: it was closed or removed, so it counts as dead
  bool is_all = false;           // the limit cut nothing off
};

}  // namespace cairn
