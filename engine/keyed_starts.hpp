// Scheduling of starts that share a key, under a graph's start policy (singleton, debounce, batch): which run has the
// key, which starts wait, and what begins now. Pure: workers/starts keeps the state and carries out what is decided.
// Plain values, safe to read from any thread.
//
// A start waits, is starting (it is decided, and its run is begun, perhaps more than once under one id, until that is
// confirmed), and is forgotten once its run has begun.
//
// Invariants: a singleton's key has at most one holder, from the decision to begin its run until that is seen to have
// ended. Each start that was taken is in one group, and a group is one run. Numbers of starts begin again at 1 once a
// key is forgotten, so a number names a start only together with its run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/id.hpp"
#include "engine/json.hpp"
#include "engine/start_policy.hpp"

namespace cairn {

// Starts that one run stands for: those with the numbers `first` to `last` that are kept. Without numbers: a run that
// processes begin or reopen otherwise, see take_key().
struct StartGroup {
  RunId run;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t count = 1;  // of a batch; else the last one counts; without numbers, the processes that have taken it
  std::int64_t bytes = 0;  // of their inputs
  TimeUs first_at = 0;
  TimeUs due_at = 0;      // never_us: when the key is free; of one that is starting: when it was decided
  std::size_t rule = 0;   // of StartPolicy::rule, by which it was made
  bool is_named = false;  // see AskedStart
  bool operator==(const StartGroup&) const = default;
};

struct KeyedStarts {
  std::optional<RunId> holder;  // the run of a singleton that has the key
  TimeUs held_since = 0;
  std::vector<StartGroup> starting;
  std::optional<StartGroup> group;  // takes starts, until it is due
  std::int64_t waiting = 0;         // starts after those, that wait for their turn
  bool operator==(const KeyedStarts&) const = default;
};

Json keyed_starts_json(const KeyedStarts& state);
KeyedStarts read_keyed_starts(const Json& stored);  // REQUIRES: of keyed_starts_json

// The situation in which a key is decided on.
struct StartsSeen {
  TimeUs now_us = 0;
  bool holder_ended = false;                                 // false without a holder
  std::optional<std::pair<std::int64_t, RunId>> front = {};  // the number and run of the first start that waits
};

// A start that is asked for.
struct AskedStart {
  std::int64_t number = 0;  // greater than that of any earlier one of the key
  RunId run;                // that it begins, if it begins one
  std::int64_t bytes = 0;   // of its input
  bool is_named = false;    // the run's id was chosen by the caller, so that no other start may have it
};

enum class StartStanding : std::uint8_t {
  started,  // decided: the run begins now
  waits,    // the run begins later
  skipped,  // nothing begins; the run is the one that has the key
};
std::string_view to_string(StartStanding standing);

struct StartDecision {
  StartStanding standing = StartStanding::started;
  RunId run;
  std::optional<std::int64_t> drops = {};  // the number of a start that counts no more: this one has taken its place
  bool existed = false;                    // an earlier start has named this run: nothing is added
};

// Decides on one more start. A group that collects by another rule, of an earlier version of the graph, begins at once.
// REQUIRES: decide_starts is called after it.
StartDecision ask_start(KeyedStarts& state, const StartPolicy& policy, const StartsSeen& seen, const AskedStart& asked);

// Lets those begin that are due. Times of a clock that was ahead (clock_ahead_max_us) count from now. Returns the run
// to be cancelled for the one that waits, if there is one.
std::optional<RunId> decide_starts(KeyedStarts& state, const StartsSeen& seen);

// The group's run has begun, or was refused. False: it begins no more, as another process has confirmed it, and its
// numbers may be those of later starts.
bool confirm_start(KeyedStarts& state, const StartsSeen& seen, const StartGroup& group);

// The run, which a process begins or reopens otherwise, has the key from now on, and is `starting` (a group without
// numbers) until each process that took it has released it. False: another one has the key.
bool take_key(KeyedStarts& state, const StartsSeen& seen, const RunId& run);

// After take_key(): the run was begun or reopened, or that was refused. It keeps its key while it is open.
void release_key(KeyedStarts& state, const StartsSeen& seen, const RunId& run);

// The start that waits for the run, or the group of them, is given up. REQUIRES: it waits; it is not starting.
void withdraw_start(KeyedStarts& state, const RunId& run);

// Those that should have been confirmed by now: they are to be begun again, and are waited for once more.
std::vector<StartGroup> unconfirmed_starts(KeyedStarts& state, TimeUs now_us);

// The group's run gets {"items": [input, ...]}.
bool is_batch(const StartGroup& group);
bool is_starting(const KeyedStarts& state, const RunId& run);
// Nothing is to be remembered.
bool is_idle(const KeyedStarts& state);
// When the key is to be decided on next. While a start waits for a run to end, that is a tenth of the time that the run
// has had the key, between a quarter of a second and five seconds.
TimeUs next_due_at(const KeyedStarts& state, TimeUs now_us);

}  // namespace cairn
