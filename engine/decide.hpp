// The rules of a run (the decider): turns a command into events, or refuses it. Pure: no clock, randomness, threads,
// files, environment, logging or hashing. Not thread-safe; different threads may decide different states.
#pragma once

#include <optional>
#include <vector>

#include "engine/command.hpp"
#include "engine/graph.hpp"
#include "engine/job.hpp"
#include "engine/state.hpp"

namespace cairn {

inline constexpr std::size_t facts_max = 10'000;  // in one outcome
// Bounds what the events of one decision, and of the runs that it starts, hold of composed values, of sentences and of
// the graph's names together, and a sixteenth of RunState::referred_bytes; the run fails when more would follow. One
// value more may be over it.
inline constexpr std::size_t decision_bytes_max = 4 * composed_bytes_max;

// The effect of a command: the events in order, with their numbers, and the branches whose job may have changed.
struct Decision {
  std::vector<Event> events;
  std::vector<BranchId> touched;  // sorted, each once
  // A run that this one called: written in the same commit, under the same verdict. If it ended at once, this run's
  // events already say so and it needs no parent_notice.
  struct Child {
    RunState state;
    std::vector<Event> events;
    std::vector<BranchId> touched;
  };
  std::vector<Child> children;
  // The name of a graph that was to be called and that `graphs` lacks: the call failed. A caller whose graphs may be
  // out of date drops the state, and decides again with those that are current.
  std::string lacks_graph = {};
};

// Decides the command and evolves the state with each event. Every decision ends settled: `follow` has nothing more
// to say of any branch. A refusal leaves the state untouched.
//
// Refuses: `not_found` (step, question, graph, node), `stale` (attempt is not the open one), `closed` (run, step or
// question has ended), `invalid` (input, value, early Due), `conflict` (already paused, a child that is not the
// step's, a loss of a step that runs alone and had not begun), `limit` (depth of calls, names).
// A handler's unknown label, a patch that does not fit, or a fact that is none or beyond its bounds (bounds.hpp) is not
// refused: it is a failed attempt.
Result<Decision> decide(RunState& state, const Command& command, const Context& context, const Graphs& graphs);

// If the run has ended and another one called it: the command its parent must be given, in the same commit.
struct ParentNotice {
  RunId parent;
  FinishChild command;
};
std::optional<ParentNotice> parent_notice(const RunState& state);

}  // namespace cairn
