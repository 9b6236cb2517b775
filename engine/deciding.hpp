// Deciding: the way of one command through the rules, for decide alone, whose files share it: decide (events and what
// follows from them), decide_starts (new runs, forks), decide_reports (of workers and timers), decide_requests (of
// people and other systems), decide_calls (runs that a run calls). Lives for one call of decide, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/command.hpp"
#include "engine/event.hpp"
#include "engine/follow.hpp"
#include "engine/graph.hpp"
#include "engine/result.hpp"
#include "engine/state.hpp"

namespace cairn {

struct Decision;

class Deciding {
 public:
  // Writes into `decision`. `bytes_max`: of the values of its events.
  Deciding(RunState& state, const Context& context, const Graphs& graphs, Decision& decision, std::size_t bytes_max)
      : state_(state), context_(context), graphs_(graphs), decision_(decision), bytes_max_(bytes_max) {}

  // Refuse a command, or emit its own events.
  Status operator()(const StartRun& start);
  Status operator()(const CompleteStep& complete);
  Status operator()(const FailStep& fail);
  Status operator()(const Due& due);
  Status operator()(const Answer& answer);
  Status operator()(const SendSignal& signal);
  Status operator()(const Cancel& cancel);
  Status operator()(const Pause& pause);
  Status operator()(const Resume& resume);
  Status operator()(const Reopen& reopen);
  Status operator()(const FinishChild& finish);
  Status operator()(const EditChannels& edit);
  Status operator()(const MoveRun& move);
  // Everything the events imply, branch by branch, until nothing follows: then the decision is whole. REQUIRES: once,
  // after a command that was not refused.
  void follow_all();

  // The bytes of its values and its children's. References that were read and composed count for less, whether their
  // values are recorded or not: a question that cannot be asked costs as much as one that can.
  std::size_t bytes() const { return bytes_ + (state_.referred_bytes - referred_before_) / referred_share; }

 private:
  // --- events: decide.cpp ---
  void emit(StepId step, EventBody body);  // a command's own event names its actor, a step's has the step as its cause
  void emit_by(std::string actor, StepId step, EventBody body);
  void emit_implied(Implied implied);
  void check_own(const Event& event) const;
  void check_attempt(StepId id, std::int32_t attempt) const;
  EventBody failed_of(const std::string& most) const;
  std::size_t events_max() const;
  std::size_t bytes_max() const;

  // --- starts: decide_starts.cpp ---
  Status start_fork(const StartRun& start, RunStarted started, const Graph& graph);
  bool could_not_open() const;
  Status ask_again();

  // --- reports: decide_reports.cpp ---
  Json data_after(const Step& step, const Json& patch) const;
  void succeed(const Step& step, const CompleteStep& complete);
  void close_goal(const Step& step, const CompleteStep& complete);
  void fail_attempt(StepId id, const FailStep& fail);
  bool may_retry(const Step& step, const FailStep& fail) const;
  void record_use(StepId step, const std::vector<Fact>& facts);
  Status run_is_due();

  // --- calls: decide_calls.cpp ---
  void start_child(StepId id, ChildStarted child);
  void fail_call(StepId step, std::string error, std::string message);

  RunState& state_;
  const Context& context_;
  const Graphs& graphs_;
  Decision& decision_;
  std::vector<BranchId> touched_;
  std::size_t followed_ = 0;
  std::size_t events_of_children_ = 0;
  std::size_t bytes_ = 0;
  const std::size_t bytes_max_;
  static constexpr std::size_t referred_share = 16;
  const std::size_t referred_before_ = state_.referred_bytes;
};

}  // namespace cairn
