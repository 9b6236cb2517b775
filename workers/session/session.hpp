// A session: one start of a worker, from its opening to its closing. Joins the parts, each a state machine of its own:
// the lifecycle, the pool (what is held), the steps in flight, the committer (what is written) and the sweeping. It
// gives them the time, passes their actions on, and dispatches the answers of the store. No I/O, threads or clock: its
// driver (the worker, the simulator) gives the time, carries out the actions and returns their results, in any order,
// late, or never.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/clock.hpp"
#include "workers/runs/committer.hpp"
#include "workers/runs/executor.hpp"
#include "workers/runs/loads_after_names.hpp"
#include "workers/session/crowd.hpp"
#include "workers/session/other_sessions.hpp"
#include "workers/session/own_row.hpp"
#include "workers/session/paced_starts.hpp"
#include "workers/session/pool.hpp"
#include "workers/session/session_actions.hpp"
#include "workers/session/session_lifecycle.hpp"
#include "workers/session/session_queues.hpp"
#include "workers/session/steps_in_flight.hpp"
#include "workers/session/store_calls.hpp"
#include "workers/session/sweeping.hpp"
#include "workers/session/unknown_tools.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {

// The inputs that a session is given from outside: its identity, ids and random draws.
struct SessionOrigin {
  SessionRow self;  // id, host, pid
  std::int32_t shards = 1;
  std::function<RunId()> new_id;
  std::function<double()> draw;              // in [0,1)
  std::function<std::int64_t()> new_commit;  // the id of a batch
};

enum class StoreFailure : std::uint8_t {
  passing,  // it was unavailable: the call happened or not
  lasting,  // it refuses the call, and will again
  final,    // it is another store now, and no call is of use
};

class Session {
 public:
  // The executor and the tools outlive the session.
  Session(SessionOrigin origin, WorkerOptions options, const Executor& executor, const ToolTable& tools);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void tick(TimeUs steady_us);  // monotonic; only differences mean something
  void notified();              // a job may be ready
  void drain();                 // finishes what runs, commits it, offers the rest, closes; may be called again
  void hurry();                 // the same, but lets go of what runs at once and waits for the store but shortly

  void answered(StoreCall call);  // with its answer in it
  // `refusal`: the store's sentence, where it refuses.
  void failed(const StoreCall& call, StoreFailure kind = StoreFailure::passing, const std::string& refusal = {});
  void ended(Ticket slot, StepResult result);
  void fell_short(Ticket slot, const std::string& lacking);  // of means of this process: instead of ended()
  void yielded(Ticket slot, const std::string& lacking);     // to a session that has what this one lacks: likewise
  // This process keeps something open for these runs, and for no others: their steps come here first.
  void keeps(std::set<RunId> runs);
  // Takes the texts that running steps have written, or none; the next actions store them, and drop ended steps' rows.
  // REQUIRES: takes_progress().
  void said(std::vector<ProgressBoard::Said> texts) { steps_.said(std::move(texts)); }
  bool takes_progress() const { return lifecycle_.is_open() && !steps_.is_keeping_progress(); }
  // A session that serves the same steps has a language model.
  bool is_model_elsewhere() const { return others_.has_model(); }
  const OtherSessions& others() const { return others_; }
  // Begins a new scan of the others, as soon as none is under way.
  void scan_again() { sweeping_.scan_soon(); }
  // The entries of a locked commit, whose call holds its locks meanwhile.
  LockedDecision decide_locked(std::uint64_t batch, std::vector<LockedRun> runs) {
    return committer_.decide_locked(batch, std::move(runs));
  }

  SessionActions drain_actions();
  TimeUs due_us() const;  // steady: when drain_actions() is worth a call although nothing arrived
  bool is_finished() const { return lifecycle_.is_finished(); }    // drained and closed, or abandoned
  bool is_abandoned() const { return lifecycle_.is_abandoned(); }  // the store does not come back
  bool beats() const { return lifecycle_.is_open(); }
  // Notifications of other processes are for it: not for one of a large crowd, which finds their jobs by its polls.
  bool is_listener() const { return !options_.only_runs.empty() || !home_of_.empty() || crowd_.is_listener(now_); }
  WorkerReport report() const;
  SessionId id() const { return origin_.self.id; }

 private:
  // --- opening and learning ---
  void tick_parts();
  void read_graphs_if_due();
  void read_graphs();
  void close_when_idle();
  void write_row();
  void set_home(const RunId& run, bool is_home);
  void write_row_if_changed();
  void observe_clock(TimeUs database_us, TimeUs steady_us);
  void learn(const ReadGraphsOf& read, bool are_current);
  void learn(const std::vector<QueueLimits>& limits);
  void queues_changed();
  bool may_go_on(Ticket slot, const HeldJob& held);
  bool may_ask_for_others() const;
  TimeUs ask_pause_us() const { return crowd_.poll_us(QueueTurns::ask_pause_us); }
  void ask_for_others();
  void call(StoreCall call);
  void note(Note::Level level, std::string text);
  void end_if_refused(const StoreCall& call, StoreFailure kind, const std::string& refusal);
  void learn(const std::vector<SessionRow>& sessions, TimeUs scanned_at);

  // --- joining the parts: the actions of each are passed on; true: there were any ---
  void dispatch_holds();
  bool dispatch_commits();
  bool dispatch_claims();
  void begin_or_wait(Pool::Start start);
  void begin(Pool::Start start);
  void resolve(PacedStarts::Outcome outcome);
  void dispatch_steps();
  void dispatch_sweeps();
  void read(std::vector<Load> loads);
  void claim(Pool::Claim claim);
  void leave_queue(const std::string& queue);
  void replied(Reply reply);
  void replied_to_step(Ticket slot, Reply reply);
  void dispatch_report(StepsInFlight::Report report);
  void submit(StepsInFlight::Report report);
  void leave(const StepsInFlight::Ended& step);
  void update_capacity();
  Sweeper::Ours ours() const;
  // No step of it runs or waits for a scan, and it works for all.
  bool is_idle() const {
    return steps_.is_empty() && unknown_tools_.empty() && options_.only_runs.empty() && !lifecycle_.is_draining();
  }
  bool is_sweeping() const { return !lifecycle_.is_draining() || steps_.has_deadlines() || !unknown_tools_.empty(); }

  // --- answers of the store: for each call a specialization in session_answers.cpp ---
  template <typename Call>
  void on_answer(Call& call);
  template <typename Call>
  void on_failure(const Call& call);

  SessionOrigin origin_;
  WorkerOptions options_;
  const ToolTable& tools_;
  SessionQueues queues_;
  OtherSessions others_;
  UnknownTools unknown_tools_;
  DatabaseClock clock_;
  TimeUs steady_ = 0;
  TimeUs now_ = 0;              // the database's
  std::int64_t under_way_ = 0;  // store calls that were given to the driver

  SessionActions actions_;  // before steps_, which writes to it

  SessionLifecycle lifecycle_;
  Pool pool_;
  StepsInFlight steps_;
  Committer committer_;
  Sweeping sweeping_;
  PacedStarts paced_;
  Crowd crowd_;
  std::set<RunId> home_of_;  // the runs that this process keeps something open for

  std::multiset<std::pair<Shard, TimeUs>> claims_asked_;  // those under way; steady

  KnownGraphs known_graphs_;
  LoadsAfterNames after_names_;
  OwnRow own_row_;
  std::string refusal_;
  TimeUs next_graphs_ = 0;                              // steady
  std::unordered_map<RunId, History> short_histories_;  // brought by a claim; for the loads of this round
  StepsInFlight::Actions step_actions_;                 // drained; kept for its memory
};

}  // namespace cairn
