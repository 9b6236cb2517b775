// Handlers: plain functions from a step's input to its outcome. A handler may run more than once for one step (at least
// once delivery), so effects pass `StepInput::key` on as idempotency key. Plain values; a table is safe from any thread
// once it is built.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/command.hpp"
#include "engine/graph.hpp"
#include "engine/graph_check.hpp"
#include "engine/result.hpp"
#include "engine/state.hpp"

namespace cairn {

class Ports;

// A sub-goal as a handler sees it: its place in the plan, and its status.
struct GoalView {
  std::string id;
  std::string tool;
  Json inputs;
  GoalStatus status = GoalStatus::planned;
  Json outputs;  // object when it succeeded
  std::string error;
  std::string message;
  std::int32_t attempts = 0;
  std::string title = {};
  std::string parent = {};  // "" at the top
  std::vector<std::string> after = {};
  Json context = nullptr;
};

// A sub-goal that the engine rejected, and the reason.
struct RejectedView {
  std::string id;
  std::string tool;
  std::string reason;  // one sentence
};

// Everything that a step may know: its own copy, frozen when the step opened.
struct StepInput {
  RunId run;
  StepId step = 0;
  std::int32_t attempt = 1;
  std::string graph;
  std::string node;
  Tags tags;                                    // of the run
  std::string key;                              // "RUN/STEP"
  std::int64_t timeout_ms = 0;                  // the node's, for the attempt; 0: it has none
  Json with;                                    // the node's settings, "$channel" replaced
  Json data;                                    // the channels that the handler declares; absent ones are missing
  std::vector<GoalView> plan;                   // if the handler declares that it reads the plan
  std::vector<RejectedView> rejected;           // likewise, in the order of their rejection
  Json given;                                   // the opening event's value: an answer, a signal ...; null: none
  std::map<std::string, std::int64_t> budgets;  // used counts when the step opened
  std::map<std::string, std::int64_t> caps;     // of the same budgets
  std::int64_t plan_version = 0;                // likewise; 0: the run has no plan
  std::int64_t elapsed_ms = 0;                  // from the run's start to the step's opening; not for a cached step
  std::int32_t errors = 0;                      // failed attempts before this one, without lost ones
  std::string fault;                            // message of the previous, failed attempt; "" at the first
  std::string fault_error;                      // its one word: bad_reply, timeout, lost ...
  std::string sub_goal;                         // for a tool's step: the sub-goal, its tool and its resolved inputs
  std::string tool;
  Json inputs;
};

// The outcome of an attempt, or why it failed.
using StepResult = Result<Outcome, Failure>;

// Pure: no clock, no I/O, no randomness. Runs on the thread that holds the state and must be quick.
using PureHandler = std::function<StepResult(const StepInput&)>;
// An effect: a coroutine that waits without a thread. A thrown exception is a failed attempt.
using EffectHandler = std::function<boost::asio::awaitable<StepResult>(StepInput, Ports&)>;

struct Handler {
  std::string name;                 // "planner.node"
  std::vector<std::string> labels;  // by which it may leave
  bool labels_from_node = false;    // a node's own "labels" take the place of `labels`, if it has any
  std::vector<std::string> reads;   // channels; "*": all
  bool reads_plan = false;
  std::int32_t version = 1;  // raised when its meaning changes; part of the cache's key
  std::variant<PureHandler, EffectHandler> run;
  std::optional<std::vector<HandlerSetting>> settings = {};  // all keys of its "with"; nothing: any
  Status (*check)(const Json& with) = nullptr;               // see HandlerLabels
  bool is_here = true;  // false: known, but this process is not configured for it, and gives its steps to others
  std::vector<std::string> (*doubts)(const Json& with) = nullptr;  // these see HandlerLabels
  std::vector<ValuePart> (*parts)(const Json& with) = nullptr;
  std::string need = {};

  bool is_pure() const { return std::holds_alternative<PureHandler>(run); }
};

// One handler of a planner, as its registration table lists it.
struct HandlerRow {
  std::string node;
  std::vector<std::string> labels;
  std::vector<std::string> reads;
  std::variant<PureHandler, EffectHandler> run;
  bool reads_plan = false;
};
inline constexpr bool reads_the_plan = true;  // as a row's last word

// Handlers by name. Immutable once the program runs: safe from any thread.
class HandlerTable {
 public:
  void add(Handler handler);                                           // CHECKs that the name is new
  void add(const std::string& planner, std::vector<HandlerRow> rows);  // each as PLANNER.NODE
  const Handler* find(std::string_view name) const;
  Handlers labels() const;                // what graph_faults needs
  std::vector<std::string> here() const;  // the names of those that this process executes

 private:
  std::map<std::string, Handler, std::less<>> by_name_;
};

// A copy of the parts of the state that the handler declares. Refuses `limit`: references compose more than
// CompositionBound allows. REQUIRES: the step is open.
Result<StepInput> step_input(const RunState& state, const Step& step, const Handler* handler);

}  // namespace cairn
