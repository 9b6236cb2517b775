// The replay check: decides a recorded run again, command by command, from its recorded outcomes. The same graph must
// give the same events; a changed one shows where the run would have gone another way. Pure: nothing outside is called
// and no handler is run unless `rerun` runs it. Not thread-safe.
//
// A command is derived from the events that it once led to; the events that the engine itself derives must then follow.
// Times, actors and ids are the recorded ones. A retry's moment is not compared because its jitter is not on record.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/decide.hpp"
#include "engine/reported_outcome.hpp"

namespace cairn {

// The first event that was not decided the same again.
struct Divergence {
  std::int64_t seq = 0;  // of the recorded event
  StepId step = 0;       // 0: none
  std::string node;      // where the step stood; "": none
  std::string type;      // of the recorded event
  std::string says;      // one sentence
  std::string decision;  // the last action that was decided before it; "": none
  std::string recorded;  // the payloads
  std::string again;     // "": no event
};

class ReplayCheck {
 public:
  // The result of a step's handler when it is run again; nothing if it cannot be run: then the record counts.
  using Rerun = std::function<std::optional<Result<Outcome, Failure>>(const RunState&, const Job&)>;

  // `graph`: decides in place of the recorded version; null: that one.
  ReplayCheck(const RunId& run, const Graphs& graphs, GraphRef graph = nullptr, Rerun rerun = {});

  // The events of one commit, in order. False once the run has diverged: then the rest is of no use.
  bool add(std::span<const Event> commit);

  const std::optional<Divergence>& divergence() const { return divergence_; }
  const RunState& state() const { return state_; }

 private:
  struct Derived {
    Command command;
    RunId id_base;
    ToolTable tools;
  };

  void note_graph(const EventBody& recorded);
  void note_decision(const EventBody& recorded);
  bool decide_from(std::span<const Event> rest);
  void call_recorded_versions(std::span<const Event> rest);
  Graphs own_graphs(const Event& first) const;
  std::optional<Derived> derive(std::span<const Event> rest) const;
  StartRun start_of(std::span<const Event> rest) const;
  bool was_open(const Origin& origin, const std::string& question) const;
  Command report_again(StepReport report) const;
  bool was_last_try(StepId id, const std::string& error) const;
  std::string key_of_outcome(StepId id, StepId recorded_by) const;
  bool rerun_agrees(const Event& at, const Command& command);
  bool matches(const Event& recorded, const Event& again) const;
  bool diverge(const Event& at, std::string says, std::string again = "");

  RunState state_;
  Graphs graphs_;
  GraphRef graph_;
  GraphRef recorded_graph_;  // what the record was decided under
  Rerun rerun_;
  std::deque<Event> expected_;  // decided again and not yet seen on record
  std::string decision_;
  std::optional<Divergence> divergence_;
};

}  // namespace cairn
