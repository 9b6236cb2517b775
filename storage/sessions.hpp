// Worker sessions as the store keeps them, the calls about them that both stores make, and a scan of the jobs they
// hold. Plain values; the calls are safe from any thread.
//
// A session's counter is its heartbeat. A sweeper that has seen no change of it for the time-to-live, on its own
// monotonic clock, reaps the session: its holds are lost and their jobs are offered again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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

// All throw StoreUnavailable.
struct SessionBook {
  // Opening a session again updates its queues, handlers and tools, and nothing else.
  std::function<void(const SessionRow&)> open;
  std::function<void(SessionId)> beat;
  // The hold that the session executes alone (SessionRow::alone); "": none.
  std::function<void(SessionId, const std::string& hold)> set_alone;
  // The attempts of steps that may not be lost which the session has begun (SessionRow::begun).
  std::function<void(SessionId, const std::vector<std::string>& attempts)> set_begun;
  std::function<void(SessionId)> close;  // and it is no run's home any more
  // Run affinity: the session is the run's home, where something is kept open for it (a browser), or is so no longer. A
  // run has one home at most, the latest. Jobs of it that a commit frees, in a queue that the home serves, are visible
  // only to the home's claims that name the run (only_runs or a notification), until it gives the run up or is closed;
  // then to all, at the latest after the next scan_held(). An optimisation: no result depends on it. Jobs that
  // JobBook::release gives up are visible to all.
  std::function<void(SessionId, const RunId& run, bool is_home)> set_home;
  std::function<std::vector<SessionRow>()> all;

  // These read all jobs: no index has the holder, so that a held row can move to its next step without one.
  std::function<std::vector<HeldJob>(SessionId, std::int32_t limit, RunShare)> held_by;
  std::function<HeldScan(SessionId, TimeUs now_us, std::int32_t limit)> scan_held;
  std::function<std::map<SessionId, std::int64_t>()> held_counts;  // of sessions that hold something

  // Ends the connections of stopped processes, which would keep their locks for ever: those of this program that left
  // a transaction half sent for `after_ms`.
  std::function<void(std::int64_t after_ms)> end_stalled;
};

// The calls of a table that has functions of these names. REQUIRES: it outlives them.
template <class Table>
SessionBook session_book_of(Table& table) {
  return {.open = [&table](const SessionRow& session) { table.open(session); },
          .beat = [&table](SessionId session) { table.beat(session); },
          .set_alone = [&table](SessionId session, const std::string& hold) { table.set_alone(session, hold); },
          .set_begun = [&table](SessionId session,
                                const std::vector<std::string>& begun) { table.set_begun(session, begun); },
          .close = [&table](SessionId session) { table.close(session); },
          .set_home = [&table](SessionId session, const RunId& run,
                               bool is_home) { table.set_home(session, run, is_home); },
          .all = [&table] { return table.all(); },
          .held_by = [&table](SessionId session, std::int32_t limit,
                              RunShare share) { return table.held_by(session, limit, share); },
          .scan_held = [&table](SessionId session, TimeUs now_us,
                                std::int32_t limit) { return table.scan_held(session, now_us, limit); },
          .held_counts = [&table] { return table.held_counts(); },
          .end_stalled = [&table](std::int64_t after_ms) { table.end_stalled(after_ms); }};
}

}  // namespace cairn
