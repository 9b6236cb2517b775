// Why a run is not moving: one computed reason for each open step, one for each join that waits, and one for the run
// if it is paused or has ended. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/state.hpp"
#include "storage/store.hpp"

namespace cairn {

// What is to be known beside the state. The jobs are those of the run at the state's head.
struct Situation {
  std::vector<HeldJob> jobs;
  std::vector<SessionRow> sessions;
  std::vector<QueueSettings> queues;
  std::map<std::string, std::int64_t> held;  // by queue, of those that have a limit
  std::map<BranchId, std::int64_t> before;   // ready jobs that come before the branch's, where they were counted
  std::map<RunId, std::string> called;       // status words of the runs it called
  TimeUs now_us = 0;
};

struct Reason {
  enum class Kind : std::uint8_t {
    paused,       // the run is paused
    ended,        // the run has ended
    question,     // somebody has to answer
    signal,       // somebody has to send a signal
    timer,        // not due yet
    retry,        // the next attempt has its time
    child,        // the run it called goes on
    map,          // sub-goals are open
    join,         // branches have not arrived
    held,         // a worker executes it
    dead_worker,  // held by a session that is gone
    queue_paused,
    queue_limit,
    no_worker,  // nobody alive serves its queue, or has its handler or tool
    ready,      // queued, with a worker for it
    no_job,     // the queue lacks what the state says: it has to be rebuilt
  };
  Kind kind = Kind::ready;
  StepId step = 0;   // 0: the run as a whole, or a join
  std::string node;  // "" for the run as a whole
  std::string says;  // one sentence
  Json details = Json::object();
};
std::string_view to_string(Reason::Kind kind);

// The run's own reason first, then those of the steps in their order, then those of the joins.
std::vector<Reason> explain(const RunState& state, const Situation& situation);

// Branches whose jobs are due and held by nobody: what `before` is about.
std::vector<HeldJob> waiting_jobs(const Situation& situation);

// {"step", "node", "kind", "says"} and the details.
Json reason_json(const Reason& reason);

}  // namespace cairn
