// The record of dependences that a slice is cut from (blame.hpp): grows with each event, next to the fold, and keeps no
// values. For Blame alone. Not thread-safe.
//
// A point is an outcome, or a place that dependences pass through (a step's opening, a call's closing), which no slice
// shows. A channel's version is its latest writer with the version before it, so that a write costs the same however
// many there were; where branches join, a version has those of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/blame_words.hpp"
#include "engine/route_choices.hpp"

namespace cairn {

using BlamePointId = std::int32_t;    // position in BlameRecord::points; -1: none
using BlameVersionId = std::int32_t;  // position in BlameRecord::versions; -1: none
using BlameNameId = std::int32_t;     // position in BlameRecord::names; 0: ""

struct BlameDependence {  // on a point, or on all points of a version
  BlamePointId point = -1;
  BlameVersionId version = -1;
  BlameWay way = BlameWay::passed;
  bool is_certain = true;
  BlameNameId name = 0;
};

struct BlamePoint {
  std::int64_t seq = 0;
  StepId step = 0;
  BlameKind kind = BlameKind::engine;
  bool is_shown = false;
  BlameNameId node = 0;
  BlameNameId who = 0;
  BlameNameId decision = 0;
  BlameNameId sub_goal = 0;
  std::vector<BlameDependence> on;
};

struct BlameVersion {
  BlamePointId point = -1;  // -1: it stands for `before` and `other`
  BlameVersionId before = -1;
  BlameVersionId other = -1;
};

class BlameRecord {
 public:
  BlameRecord(const RunId& run, const Graphs& graphs, ReadsOf reads, std::size_t dependences_most);

  void add(const Event& event);

  // The point that stands for the event or the step. Refuses as Blame::slice().
  Result<BlamePointId> point_of(const BlameTarget& target) const;

  RunState state;
  std::vector<BlamePoint> points;
  std::vector<BlameVersion> versions;
  std::vector<std::string> names;
  std::map<BlamePointId, RunId> runs;  // the run that a point names
  bool is_too_large = false;           // nothing is added any more, and no slice is cut

 private:
  using Dependences = std::vector<BlameDependence>;

  // A step of the run, also after it is closed. Number 0 stands for what the run, or its cleanup, began with.
  struct StepTrace {
    BlamePointId opened = -1;
    BlamePointId closed = -1;
    BlamePointId brought = -1;  // the answer, the signal's wait, the child's end, the timer
    BranchId branch = 0;
    StepId from = 0;  // the step whose closing opened it; 0: another event, or several at a join
    GraphRef graph;   // under which it was closed
    NodeIndex node = -1;
    BlameNameId label = 0;        // by which it left
    std::vector<StepId> choices;  // the steps whose choice of an edge decided that it was reached
    Dependences reads;            // taken when it opened, of a verb whose settings are read then
    BlamePointId list = -1;       // of a map: what its items come from
    BlameVersionId results = -1;  // of a map: what its items gave
    BlameVersionId failures = -1;
  };

  // The writers of a branch's own data, as Branch::data has their patches.
  struct BranchTrace {
    BranchId parent = 0;
    std::vector<BranchId> fan;
    std::map<std::string, BlameVersionId, std::less<>> channels;
    BlameVersionId plan = -1;
    std::vector<StepId> last;  // the steps after which the next one on the branch opens
  };

  // Notes of an attempt, which come before the event that closes it.
  struct AttemptNotes {
    BlameKind kind = BlameKind::work;  // model or tool, if one was called
    std::string who;
    std::string decision;
    bool plans = false;
  };

  // --- points, versions, names: blame_record.cpp ---
  BlameNameId named(std::string_view name);
  BlamePointId new_point(std::int64_t seq, StepId step, BlameKind kind, bool is_shown);
  void count_one();
  void depend(BlamePointId point, BlameDependence on);
  void depend_on_all(BlamePointId point, const Dependences& all);
  BlameVersionId version_of(BlamePointId point, BlameVersionId before);
  BlameVersionId joined(BlameVersionId one, BlameVersionId other);

  // --- data and plan ---
  void write(BranchId branch, std::string_view channel, BlamePointId point);
  void write_patch(BranchId branch, const JsonText& patch, BlamePointId point);
  void write_plan(BranchId branch, BlamePointId point);
  void read_channel(Dependences& into, BranchId branch, std::string_view channel, bool is_certain) const;
  void read_all(Dependences& into, BranchId branch, bool is_certain) const;
  void read_plan(Dependences& into, BranchId branch, bool is_certain) const;
  void read_setting(Dependences& into, BranchId branch, const Json& setting);
  BlameDependence on_cause(BranchId branch) const;
  void merge(BranchTrace& parent, BranchId part);
  void gather(BranchId into);

  // --- steps ---
  bool is_read_when_opened(const Step& step) const;
  Dependences reads_when_opened(const Step& step);
  Dependences reads_of_work(const Step& step);
  Dependences reads_of_end(const EndNode& end, BranchId branch, bool is_done);
  std::vector<StepId> choices_of(const std::vector<StepId>& before, const GraphRef& graph, NodeIndex node);
  void depend_on_choices(BlamePointId point, const std::vector<StepId>& choices);
  BlamePointId closed_point(StepId step) const;
  StepTrace& trace_of(const Step& step);
  void close(const Step& step, BlamePointId point, const std::string& label, const std::vector<std::string>& next);
  void close_item(const Step& step, BlamePointId point, bool has_failed);
  void write_results(const Step& map, const StepTrace& trace);

  // --- events, before they are folded: blame_events.cpp ---
  void before(const Event& event, const StepSucceeded& succeeded);
  void before(const Event& event, const StepFailed& failed);
  void before(const Event& event, const SubGoalClosed& closed);
  void before(const Event& event, const Record& record);
  void before(const Event& event, const ChannelsEdited& edited);
  void before(const Event& event, const SignalReceived& received);
  void before(const Event& event, const TimerFired& fired);
  void before(const Event& event, const ChildStarted& started);
  void before(const Event& event, const ChildFinished& finished);
  void before(const Event& event, const QuestionAsked& asked);
  void before(const Event& event, const QuestionAnswered& answered);
  void before(const Event& event, const QuestionExpired& expired);
  void before(const Event& event, const RunEnding& ending);
  void before(const Event& event, const RunFinished& finished);
  void before(const Event& event, const SubGoalOpened& opened);
  void before(const Event& event, const SubGoalRejected&) { note_plan(event.step); }
  void before(const Event& event, const PlanCreated&) { note_plan(event.step); }
  void before(const Event& event, const PlanRevised&) { note_plan(event.step); }
  void before(const Event& event, const TaskDecomposed&) { note_plan(event.step); }
  template <class Other>
  void before(const Event&, const Other&) {}
  void note_plan(StepId step) { notes_[step].plans = true; }
  BlamePointId bring(const Event& event, BlameKind kind, const std::string& who);
  BlamePointId engine_point(const Event& event, const Step& step, const StepSucceeded& succeeded);
  BlamePointId attempt_point(const Event& event, const Step& step);
  BlamePointId end_point(const Event& event, RunStatus status, const std::string& reason);
  void depend_on_end(BlamePointId point, const Event& event, RunStatus status);
  void depend_on_budget(BlamePointId point, const Step& step);
  BlamePointId goal_point(const Event& event, const SubGoal& goal, const SubGoalClosed& closed, BranchId branch);
  void depend_on_slots(BlamePointId point, const Json& inputs, BranchId branch);
  BlamePointId planner_of(const SubGoal& goal, BranchId branch) const;
  BlamePointId point_of_goal(const SubGoal* goal) const;
  BlamePointId take_signal(const Step& step);

  // --- after they are folded ---
  void begin(const Event& event, const RunStarted& started);
  void begin_as_fork(BlamePointId origin);
  void reopen(const RunReopened& reopened);
  void follow_branches(StepId closed, BranchId last_branch);
  void open_steps(StepId last_step);
  void open(const Step& step);
  void open_part(const Step& step, StepTrace& trace);
  void charge(const Step& step, const StepTrace& trace);

  const Graphs graphs_;
  const ReadsOf reads_;
  RouteChoices choices_;
  std::map<std::string, BlameNameId, std::less<>> known_names_;
  std::unordered_map<StepId, StepTrace> steps_;
  std::map<BranchId, BranchTrace> branches_;
  std::map<StepId, AttemptNotes> notes_;
  std::map<std::string, std::deque<BlamePointId>, std::less<>> signals_;  // not yet taken, by name
  std::map<std::string, BlameVersionId, std::less<>> budgets_;
  std::map<std::pair<StepId, std::string>, BlamePointId> goals_;     // closed ones, by map and id
  std::map<std::string, std::vector<StepId>, std::less<>> planned_;  // by id: the steps that planned it
  std::map<std::int64_t, BlamePointId> by_seq_;                      // points of events
  std::vector<StepId> step_at_;                                      // by event
  BlamePointId overdue_ = -1;
  BlamePointId ending_ = -1;  // where the cleanup began
  BlamePointId end_ = -1;
  const std::size_t dependences_most_;
  std::size_t dependences_ = 0;  // with the versions
  std::vector<BranchId> touched_;
};

}  // namespace cairn
