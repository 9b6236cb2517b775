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

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/state.hpp"

namespace cairn {

class BlameRecord;

// The reads of a handler besides the references in its settings.
struct HandlerReads {
  std::vector<std::string> channels;
  bool all = false;      // every channel: which ones it used is not on record
  bool plan = false;     // the sub-goals that its branch sees; with `all`: perhaps
  bool given = true;     // the value that its step's opening event brought
  bool is_pure = false;  // a rule, that would decide the same again
};
using ReadsOf = std::function<HandlerReads(const std::string& handler)>;

enum class BlameKind : std::uint8_t {
  input,    // of the start
  origin,   // the state that a fork took over
  edit,     // channels that a person set
  answer,   // of a person or a system, to a question
  unasked,  // the default of a question, or its expiry
  signal,
  timer,
  child,   // the end of a run that it called
  model,   // a step in which a model was called
  tool,    // a step or a sub-goal in which a tool was called
  work,    // a step of a handler that is no rule, without a record of a call
  rule,    // a step of a pure handler
  engine,  // what follows from the graph: a step that could not open, a budget that was used up, a skipped sub-goal
  end,
};
std::string_view to_string(BlameKind kind);
// Whether it came from outside of the rules, and so could have been another under the same graph.
bool is_from_outside(BlameKind kind);

// How an outcome depends on an earlier one.
enum class BlameWay : std::uint8_t {
  passed,   // through the engine, of itself
  channel,  // read a channel that the earlier one wrote; `name`: the channel
  given,    // was opened with the value that it brought
  edge,     // was reached by the edge that it chose; `name`: the label
  plan,     // was planned by it, or read the plan that it changed
  slot,     // read the outputs of a sub-goal; `name`: its id
  failure,  // ended, or left by a label for failures, because it failed
  budget,   // found a budget used up that it had used; `name`: the budget
  waited,   // ended by its time while that was open
};
std::string_view to_string(BlameWay way);

struct BlameLink {
  std::int64_t seq = 0;  // of the later outcome
  BlameWay way = BlameWay::passed;
  std::string name;
  bool operator==(const BlameLink&) const = default;
};

struct BlamedOutcome {
  std::int64_t seq = 0;  // of its event
  StepId step = 0;       // 0: none
  std::string node;      // "": none
  BlameKind kind = BlameKind::engine;
  std::string who;            // the model, tool, handler, person or graph; "": none is on record
  std::string sub_goal;       // whose end it is; "": none
  std::string decision;       // the action that the step put on record as decided; "": none
  std::optional<RunId> run;   // the child, the origin, or the run that called this one
  std::int32_t distance = 0;  // outcomes from the one that is explained: 1 is the nearest
  bool is_certain = true;     // false: only by a handler that may have read it
  std::vector<BlameLink> leads_to;
};

struct BlameSlice {
  BlamedOutcome of;                   // what is explained
  std::vector<BlamedOutcome> causes;  // the certain ones first; then by distance, and the latest first
  std::int64_t left_out = 0;          // causes beyond those that were asked for
};

// The target of an explanation: the end of the run, or one of these.
struct BlameTarget {
  std::optional<StepId> step = {};
  std::optional<std::int64_t> seq = {};  // an event; one that only notes something stands for its step
};

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
