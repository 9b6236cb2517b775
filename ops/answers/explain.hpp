// Reasons why a run is not moving: one for each open step, one for each join that waits, and one for the run if it is
// paused or has ended. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/state.hpp"
#include "storage/limits/queue_room.hpp"
#include "storage/store.hpp"

namespace cairn {

// The facts around a run's state. The jobs are those of the run at the state's head.
struct Situation {
  std::vector<HeldJob> jobs;
  std::vector<SessionRow> sessions;
  std::set<SessionId> own = {};  // of those that work for some runs alone, the ones that are known to work for this one
  std::vector<QueueLimits> queues;
  std::map<std::string, QueueUse> uses;  // by queue, for queues that have a concurrency or a rate
  std::map<BranchId, std::string> keys;  // of jobs in queues with limits for each key
  std::map<std::pair<std::string, std::string>, QueueUse> key_uses;  // by queue and key
  // Ready jobs of its shard in front of the branch's job, where they were counted; not said of a queue that does not
  // begin its jobs in that order.
  std::map<BranchId, std::int64_t> before;
  std::map<RunId, std::string> called;     // status words of the called runs
  std::map<StepId, ProgressRow> progress;  // of held steps that have written something
  TimeUs now_us = 0;
  std::string (*time_said)(TimeUs) = time_text;  // in sentences; details have RFC 3339
};

struct Reason {
  enum class Kind : std::uint8_t {
    paused,       // the run is paused
    ended,        // the run has ended
    question,     // an answer is needed
    signal,       // a signal is needed
    timer,        // not due yet
    retry,        // the next attempt has its time
    child,        // the called run is still going on
    map,          // sub-goals are open
    join,         // branches have not arrived
    held,         // a worker executes it
    dead_worker,  // held by a session that is gone; its lease will expire
    queue_paused,
    queue_limit,   // the queue's concurrency
    queue_rate,    // the queue's rate: the time of its next start is known
    queue_budget,  // a budget of the queue: the next window's beginning is known
    no_worker,     // no live worker serves its queue, or has its handler or tool
    ready,         // queued, with a worker for it
    no_job,        // the queue lacks the step's job: `cairn rebuild` puts it back
    stopped,       // taken out of the queue, because a worker found the history corrupt
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

// By priority, then by time: no key has its turn, and waiting does not raise a priority.
bool begins_in_order(const QueueLimits& limits);

// The due jobs that no session holds; `before` is counted for these.
std::vector<HeldJob> waiting_jobs(const Situation& situation);

// {"step", "node", "kind", "says"} and the details.
Json reason_json(const Reason& reason);

}  // namespace cairn
