// The words of a blame (blame.hpp): what a handler reads, kinds of outcomes, the ways in which one depends on an
// earlier one, and a slice. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/state.hpp"

namespace cairn {

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

}  // namespace cairn
