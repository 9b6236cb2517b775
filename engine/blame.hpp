// The blame of a run: the earlier outcomes on which its end, or one of its steps, depends, found in the record alone.
// It is a dynamic backward slice. Nothing is run again, nothing is asked, and nothing outside is called. Followed back
// are the channels that a step read to the outcomes that wrote them, as its branch saw them, and the steps whose choice
// of an edge decided that it was reached (route_choices.hpp), down to what came from outside: the input, an answer, a
// signal, a model's reply, a tool's output, a timer.
//
// The rules of the slice:
// - A channel that keeps the last value has one writer. One that appends, merges, adds or takes the largest has all
//   since it was last set, whichever parts of it were used. At a join the branches count in edge order.
// - A step on a handler depends on the references in its settings and on the channels that the handler declares. One
//   whose handler reads every channel, or lives elsewhere, may have used each of them: such outcomes are not certain.
// - A failed attempt that was tried again does not count, the one after it does.
// - A sub-goal depends on the step that planned it, on the sub-goals whose slots its inputs name, and, where it was
//   skipped, on those that did not succeed. A reader of the plan depends on all sub-goals that it saw.
// - A map depends on its items or sub-goals where it left as `partial`, its results on all of them.
// - A run that was called is one outcome, with its id: its own causes are in its own slice. A fork has what its origin
//   had as one outcome, with the origin's id.
// - An end depends on what its reason and its output name; a run that is done and whose end names no output, on all
//   channels. The end that comes first closes the other branches: that they were slower is no cause.
// - Counts of budgets that a handler was given, pauses, moves and reopenings are not followed.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/blame_words.hpp"

namespace cairn {

class BlameRecord;

class Blame {
 public:
  static constexpr std::size_t causes_max = 1'000;
  static constexpr std::size_t links_max = 8;                // of one outcome
  static constexpr std::size_t name_shown_max = 200;         // bytes
  static constexpr std::size_t dependences_max = 4'000'000;  // of one run, with each write of a channel

  Blame(const RunId& run, const Graphs& graphs, ReadsOf reads, std::size_t dependences_most = dependences_max);
  Blame(Blame&&) noexcept;
  ~Blame();

  // Folds the next event. Throws CorruptHistory as evolve; then it must be dropped.
  void add(const Event& event);

  const RunState& state() const;

  // The slice of what was added so far, with at most `most` causes. Refuses `invalid`: a run that has not ended, where
  // neither a step nor an event is asked for; a step or an event that it does not have, or that nothing led to;
  // `limit`: more than `dependences_most`; from then on a record grows no more.
  Result<BlameSlice> slice(const BlameTarget& target, std::size_t most = causes_max) const;

 private:
  std::unique_ptr<BlameRecord> record_;
};

}  // namespace cairn
