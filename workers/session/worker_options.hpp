// The settings of a worker, and its report. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/id.hpp"

namespace cairn {

// Without a heartbeat or any sign for so long, a session or a connection counts as dead.
inline constexpr std::int64_t session_silence_ms = 10'000;

// The time-out of a step whose node names none.
inline constexpr std::int64_t step_timeout_ms = 600'000;

struct WorkerOptions {
  std::vector<std::string> queues;                  // empty: every queue of graphs and tools, and the timers
  std::int32_t concurrency = 256;                   // branches held at once
  std::int64_t poll_ms = 500;                       // between claims, where no notification brings one earlier
  std::int64_t beat_ms = 1'000;                     // heartbeat of the session
  std::int64_t dead_after_ms = session_silence_ms;  // a session whose counter stood still that long is dead
  std::int64_t keep_steps = 64;                     // lets a branch go after this many when older work is ready
  std::int64_t default_timeout_ms = step_timeout_ms;
  std::int32_t database_lanes = 2;  // commits and claims under way at once
  std::int32_t fuse_steps = 32;     // consecutive pure steps in one commit; 1: none
  std::size_t runs_max = 20'000;    // folded states kept
  // Memory, by estimates: of folded states, which are read again when they are needed again; of the large values that
  // steps have before them, for which further steps wait.
  std::int64_t states_bytes_max = std::int64_t{256} << 20;
  std::int64_t values_bytes_max = std::int64_t{256} << 20;
  // Likewise: graph versions that are not current.
  std::int64_t graphs_bytes_max = std::int64_t{32} << 20;
  std::int64_t snapshot_events = 2'000;
  std::int64_t turn_max_ms = 60'000;  // a turn that takes longer ends the process (loop_watchdog.hpp); 0: none does
  bool keep = true;                   // keep the next step of a branch; off: offer every step
  std::vector<RunId> only_runs;       // execute these (and their children) and no others
  std::function<bool()> until;        // called now and then, by one thread at a time: return true to drain and stop
};

struct WorkerReport {
  std::int64_t steps = 0;  // attempts run
  std::int64_t commits = 0;
  std::int64_t conflicts = 0;
  std::int64_t stale = 0;  // reports refused because the hold was lost or the run had ended
  std::int64_t lost_swept = 0;
  std::int64_t forgotten = 0;   // folded states that made room for others
  std::int64_t fused = 0;       // of the steps: executed in the commit of the step before
  std::int64_t state_hits = 0;  // steps whose run's folded state was at hand
  // Now:
  std::int64_t holds = 0;         // branches held
  std::int64_t states = 0;        // folded states kept
  std::int64_t states_bytes = 0;  // their memory, by an estimate
  std::string refusal = {};       // not empty: it ended by itself, because the database takes none of its commits
};

}  // namespace cairn
