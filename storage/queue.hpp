// The job queue's values: who holds a job, how a commit changes its row, what a claim asks for and gets, and what
// operators set for a queue. Plain values.
//
// A hold is the field's lease: `session` owns the row, `epoch` rises each time the row changes hands, and `deadline_us`
// says when its step counts as hung. Session, epoch and step together are the fencing token (Fence): a commit whose
// fence no longer matches the row is refused, so a worker that lost its hold cannot write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/id.hpp"
#include "engine/job.hpp"
#include "storage/log.hpp"

namespace cairn {

// The fencing token: what a worker must still hold for its outcome to count.
struct Fence {
  BranchId branch = 0;
  SessionId session = 0;
  std::int64_t epoch = 0;
  StepId step = 0;
};

// The notifications that a thread waits for.
enum class NotifiedBy : std::uint8_t { this_process, any_process };

// The state of a hold now: the session that got it may have lost it.
enum class HoldStanding : std::uint8_t {
  held,
  lost,    // the row changed hands
  gone,    // there is no row: the branch or its run has ended
  unsaid,  // held, but not begun for release_unbegun: of standing_begun alone
};

struct HeldJob {
  RunId run;
  Job job;
  SessionId session = 0;  // 0: unowned
  std::int64_t epoch = 0;
  TimeUs deadline_us = never_us;
  SessionId home = 0;         // jobs(): the one session that finds it, see SessionBook::set_home(); 0: all do
  std::int64_t run_head = 0;  // by which a worker recognizes that its cached state is stale
  std::string key = {};       // by which a queue with keys counts it, as it was claimed; "" elsewhere
};

struct JobWrite {
  enum class Op : std::uint8_t {
    offer,        // the row becomes as `job` says, unowned, with a new epoch
    keep,         // the held row moves on to `job` under the same session and epoch (a HOT update)
    insert_held,  // a new row that `session` holds from the start, with epoch 1
    adjust,       // queue, priority, run_at and timeout as `job` says; of a held row once it is released
    drop,         // no row
  };
  Op op = Op::offer;
  Job job;                        // for drop: only `branch`
  SessionId session = 0;          // for insert_held
  TimeUs deadline_us = never_us;  // for keep and insert_held: when the step counts as hung
};

// A claimed job's deadline is so much later than its timeout, because the worker's own timeout comes first.
inline constexpr std::int64_t deadline_grace_ms = 5'000;

// The time-out of an attempt: the step's own, or else the default. 0: none.
inline std::int64_t timeout_of(std::int64_t own_ms, std::int64_t default_ms) {
  return own_ms > 0 ? own_ms : default_ms;
}

struct ClaimRequest {
  Shard shard = 0;
  std::vector<std::string> queues;
  SessionId session = 0;
  std::int32_t limit = 1;               // over all queues
  TimeUs now_us = 0;                    // only jobs with run_at <= now
  std::int64_t default_timeout_ms = 0;  // deadline = now + the job's timeout (or this) + grace; 0: no deadline
  std::vector<RunId> only_runs;         // not empty: claim from these runs and no others
  std::vector<RunId> not_of;            // from any runs but these
  std::int64_t short_history_max = 0;   // histories of at most this many events come with the claim
  bool notified_only = false;           // made because of a notification: the one job it names is enough
};

// All events of a run that has few. They come with the claim of its job, because no worker can have it cached.
struct ShortHistory {
  RunId run;
  std::vector<EventRow> events;
};

// No one waits in a limited queue, as far as a claim from it saw.
struct NoOneWaits {
  std::string queue;
  bool for_place = false;  // its concurrency has places left, and so has that of each key whose jobs the claim left
  // The claim left no job of its shard that is due. It does not see those that wait for their home, or that another
  // claim has locked.
  bool for_turn = false;
  std::optional<std::string> but_of = {};  // of a queue with keys: it left jobs of this one key, and no others
};

struct ClaimedBatch {
  std::vector<HeldJob> jobs;
  std::vector<ShortHistory> histories;        // of the jobs' runs that are short, each once
  std::vector<NoOneWaits> no_one_waits = {};  // of other queues nothing is known
};

struct QueueRow {
  std::string name;
  std::int64_t ready = 0;  // due and unowned
  std::int64_t later = 0;  // not yet due
  std::int64_t held = 0;
  std::optional<TimeUs> oldest_us;  // run_at of the oldest ready one
};

}  // namespace cairn
