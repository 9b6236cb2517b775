// The steps that a session executes, each from its held job to the report of its outcome: prepared, run with a
// deadline, reported; or let go. Steps that read large values, or whose references compose much, begin one after
// another as there is room for these; one that has waited for long is given back. A state machine without I/O: it is
// given states, results and refusals. Effects, calls and notes go straight into the session's actions, as every step
// makes some; actions that concern the other parts are drained. Not thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workers/runs/executor.hpp"
#include "workers/session/session_actions.hpp"
#include "workers/session/sweeper.hpp"

namespace cairn {

struct StepOptions {
  SessionId session = 0;
  std::int32_t shards = 1;
  std::int64_t default_timeout_ms = 0;
  std::size_t values_bytes_max = 256u << 20;  // memory of the large values that steps have before them, by an estimate
};

class StepsInFlight {
 public:
  // A report to be submitted; its reply comes back as committed() or refused().
  struct Report {
    Ticket slot = 0;
    Command command;
  };
  // A branch that is held no more by this session, or will not be.
  struct Ended {
    enum class How : std::uint8_t {
      done,                // nothing of it is held any more
      given_back,          // offered again at that time, also to us
      left_to_others,      // the same, but not for us
      run_left_to_others,  // the same at once, and no job of its run is claimed here for a growing while
      fell_short,          // left to others, and fewer jobs are claimed here
    };
    Ticket slot = 0;
    How how = How::done;
    TimeUs run_at_us = 0;
  };
  struct Actions {
    std::vector<Report> reports;
    std::vector<Ended> ended;
    std::vector<RunId> room_for;          // given back, because others run: to be claimed again when none does
    std::vector<RunId> doubted;           // the store offered a step that is not open in the folded state
    std::vector<std::string> lacking_in;  // queues of steps that this process has no handler or tool for
    std::vector<Ticket> with_room;        // execute() is to be called again: there is room for what it composes
  };

  // The executor and `outside` outlive this.
  StepsInFlight(const Executor& executor, StepOptions options, SessionActions& outside);

  // Deadlines are on the first clock, times of offers and events on the database's.
  void tick(TimeUs steady_us, TimeUs database_us) {
    steady_ = steady_us;
    now_ = database_us;
  }
  void drain() { is_draining_ = true; }  // from now on nothing is executed
  // "handler NAME" and "tool NAME" that workers over HTTP have: their steps are left to them at once.
  void set_elsewhere(std::set<std::string> elsewhere) { elsewhere_ = std::move(elsewhere); }

  // A new step; execute() is called when its run's state is at hand. Returns the job.
  const HeldJob& begin(Ticket slot, HeldJob job);
  const HeldJob* job(Ticket slot) const;  // null: it is not in flight
  // `state` null: the run has ended.
  void execute(Ticket slot, const RunState* state, const Graphs& graphs);
  // Its run. One whose history is `corrupt` stops: no worker claims its steps until the queue is rebuilt.
  void cannot_be_read(Ticket slot, const Error& error);
  void blobs_read(const ReadBlobs& call);
  void blobs_kept(const KeepBlobs& call);
  void blobs_failed(Ticket slot);
  void ended(Ticket slot, StepResult result);  // of an effect
  // The effect could not do its work, because this process lacks means for it: no attempt, and a line once a second.
  void fell_short(Ticket slot, const std::string& lacking);
  // The effect needs what another session has and this one lacks ("tool NAME"): no attempt.
  void yielded(Ticket slot, const std::string& lacking);

  // A step that was lost twice is executed alone: what is held then and has not begun is left to others, and the
  // session's row says which hold it is (SetAlone), so that a worker that dies of it charges no other.
  bool has_alone() const { return alone_.has_value(); }  // it executes one, or its row may still say so
  std::string alone() const;                             // as SessionRow::alone has it
  Ticket alone_slot() const { return alone_ ? alone_->slot : 0; }
  // Returns the job whose state execute() is to be called with again, if it may begin now.
  const HeldJob* alone_set(const SetAlone& call);
  void alone_not_set(const SetAlone& call);

  // A step that may not be lost begins once the session's row says so (SetBegun): if the worker dies, such steps that
  // had not begun are offered again. After begun_set(), execute() is to be called again for the call's slots.
  std::vector<std::string> said_begun() const;  // as SessionRow::begun has it
  void begun_set(const SetBegun& call);
  void begun_not_set(const SetBegun& call);

  // Texts of running steps; those of others are dropped. One call of the store at a time keeps them, with the ends of
  // the steps that had said something.
  void said(std::vector<ProgressBoard::Said> texts);
  bool is_keeping_progress() const { return is_keeping_progress_; }
  void progress_kept() { is_keeping_progress_ = false; }
  void progress_not_kept(const KeepProgress& call);

  void committed(Ticket slot);
  // `state`: of its run, as the committer knows it; null: not at hand.
  void refused(Ticket slot, const Error& error, const RunState* state);

  // Steps past their time fail; what their effects still bring is dropped.
  void expire();
  void stop_running();     // every effect is cancelled and its step given back
  void stop(Ticket slot);  // the hold is gone: the effect is cancelled, nothing is reported

  // Into `drained`, which is emptied first and keeps its memory from one call to the next.
  void drain_actions(Actions& drained);
  TimeUs due_us() const;  // steady
  bool has_deadlines() const { return !deadlines_.empty(); }
  std::vector<Sweeper::Executing> executing() const;
  bool is_empty() const { return steps_.empty(); }
  std::int64_t begun() const { return begun_; }  // attempts run
  std::int64_t late() const { return late_; }    // reports refused because the hold was lost or the run had ended

 private:
  // A step's way: forward only, and from each of them out of flight. One without an effect skips `running`.
  enum class At : std::uint8_t {
    preparing,  // waits for its state, its turn, room or large values
    running,    // its effect is under way, with a deadline if it has one
    ended,      // its effect is over: the outcome is on its way into the history
    failing,    // that outcome could not be written: the attempt is reported as failed instead
  };
  // Whether the session's row says that this attempt has begun; only of a step that may not be lost.
  enum class RowSays : std::uint8_t {
    nothing,
    perhaps,  // a call that says so is under way
    begun,
  };
  struct Step {
    At at = At::preparing;
    RowSays row_says = RowSays::nothing;
    HeldJob job;
    GraphRef graph;
    TimeUs started_at = 0;         // the database's
    TimeUs began = 0;              // the same moment, steady
    NodeIndex node = -1;           // of `graph`
    std::int64_t timeout_ms = 0;   // of its effect, from when that begins
    TimeUs deadline = never_us;    // steady
    bool has_progress = false;     // the store keeps a text of it
    std::size_t values_bytes = 0;  // its part of values_bytes_
    std::string trace = {};        // that its run was started under; "": the run's own
  };
  struct WaitsForRoom {
    TimeUs since = 0;  // steady
    std::size_t bytes = 0;
    Ticket slot = 0;
    std::optional<ReadBlobs> call;  // nothing: its input is composed again, so that only those that have room hold it
  };
  struct Alone {
    Ticket slot = 0;
    std::string hold;
    bool may_begin = false;  // the row says it
  };
  Step* running(Ticket slot);  // null: it runs no more, or never did
  bool may_begin(Ticket slot, const RunState& state);
  bool is_any_begun() const;
  void clear_alone();
  bool waits_for_row(Ticket slot, const RunState& state);
  void say_begun();
  void forget(Ticket slot);
  Prepared prepared(const Step& step, const RunState& state) const;
  bool waits_for_room(Ticket slot, const Work& work);
  bool has_room(std::size_t bytes) const;
  void take_room(Step& step, std::size_t bytes);
  void read_values(Ticket slot, Work work, const Graphs& graphs);
  void begin_reading();
  void drop_values(Step& step);
  void run_work(Ticket slot, Work work);
  void report_result(Ticket slot, StepResult result);
  void submit(Ticket slot, Command command);
  void give_back(Ticket slot, TimeUs run_at_us);
  void leave_to_others(Ticket slot, const Missing& missing);
  void finish(Ticket slot, Ended::How how, TimeUs run_at_us);
  void note(Note::Level level, std::string text, const Step& step);
  Json fields_of(const Step& step) const;
  void note_result(const Step& step, const StepResult& result);

  const Executor& executor_;
  const StepOptions options_;
  SessionActions& outside_;
  const std::shared_ptr<RecordedAnswersCache> records_ = std::make_shared<RecordedAnswersCache>();
  const std::shared_ptr<BlobTexts> texts_ = std::make_shared<BlobTexts>();
  TimeUs steady_ = 0;
  TimeUs now_ = 0;  // the database's
  bool is_draining_ = false;
  std::set<std::string> elsewhere_;
  std::unordered_map<Ticket, Step> steps_;
  std::set<std::pair<TimeUs, Ticket>> deadlines_;
  std::optional<Alone> alone_;    // until the row says otherwise again
  std::vector<Ticket> to_begin_;  // steps that may not be lost, before the row says that they begin
  bool is_saying_begun_ = false;
  bool is_keeping_progress_ = false;
  std::vector<ProgressPlace> said_no_more_;  // ended steps that had said something
  std::deque<WaitsForRoom> waiting_;
  std::size_t values_bytes_ = 0;
  TimeUs shortage_reported_at_ = never_us;  // steady; `never_us`: not yet
  std::int64_t unreported_shortages_ = 0;
  std::int64_t begun_ = 0;
  std::int64_t late_ = 0;
  Actions actions_;
};

}  // namespace cairn
