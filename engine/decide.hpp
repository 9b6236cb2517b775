// The rules of a run. Pure: no clock, randomness, threads, files, environment, logging or hashing.
// Not thread-safe; different states may be decided by different threads.
#pragma once

#include <optional>
#include <vector>

#include "engine/command.hpp"
#include "engine/evolve.hpp"
#include "engine/graph.hpp"
#include "engine/job.hpp"
#include "engine/state.hpp"

namespace cairn {

inline constexpr std::int32_t call_depth_max = 16;
inline constexpr std::size_t facts_max = 10'000;  // in one outcome

// What a command came to: the events in order, with their numbers, and the branches whose job may have changed.
struct Decision {
  std::vector<Event> events;
  std::vector<BranchId> touched;  // sorted, each once
  // A run this one called: written in the same commit, under the same verdict. If it ended as it began, this one's
  // events tell so already (no parent_notice for it).
  struct Child {
    RunState state;
    std::vector<Event> events;
    std::vector<BranchId> touched;
  };
  std::vector<Child> children;
};

// Decides the command and evolves the state with each event. Every decision ends settled: `follow` has nothing more
// to say of any branch. A refusal leaves the state untouched.
//
// Refuses: `not_found` (step, question, graph, node), `stale` (attempt is not the open one), `closed` (run, step or
// question has ended), `invalid` (input, value, early Due), `conflict` (already paused, a child that is not the
// step's), `limit` (depth of calls, facts).
// A handler's unknown label, a patch that does not fit, or a fact that is none is not refused: it is a failed attempt.
Result<Decision> decide(RunState& state, const Command& command, const Context& context, const Graphs& graphs);

// What the state alone implies for the branch, as the next event body and its step; nothing when it is settled.
struct Implied {
  StepId step = 0;
  EventBody body;
};
std::optional<Implied> follow(const RunState& state, BranchId branch);

// If the run has ended and another one called it: the command its parent must be given, in the same commit.
struct ParentNotice {
  RunId parent;
  FinishChild command;
};
std::optional<ParentNotice> parent_notice(const RunState& state);

}  // namespace cairn
