// One start of a worker, from its opening to its closing: joins the pool, the committer, the executor and the sweeper
// into one state machine without I/O, threads or clock. Whoever drives it (the worker, the simulator) gives it the
// time, carries out its actions and brings back what came of them, in any order, late, or never.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/clock.hpp"
#include "workers/session/committer.hpp"
#include "workers/session/executor.hpp"
#include "workers/session/pool.hpp"
#include "workers/session/store_calls.hpp"
#include "workers/session/sweeper.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {

// What a session may not make up itself.
struct SessionOrigin {
  SessionRow self;  // id, host, pid
  std::int32_t shards = 1;
  std::function<RunId()> new_id;
  std::function<double()> draw;              // in [0,1)
  std::function<std::int64_t()> new_commit;  // the id of a batch
};

struct Effect {
  Ticket slot = 0;
  Work work;
};
struct Note {  // for the log
  enum class Level : std::uint8_t { debug, warning, error };
  Level level = Level::debug;
  std::string text;
};
struct SessionActions {
  std::vector<StoreCall> calls;   // each answered once by answered() or failed()
  std::vector<Effect> effects;    // each answered by ended(), unless it is cancelled
  std::vector<Ticket> cancelled;  // effects that are to stop; what they still bring is dropped
  std::vector<Note> notes;
  bool empty() const { return calls.empty() && effects.empty() && cancelled.empty() && notes.empty(); }
};

class Session {
 public:
  // The executor and the tools outlive the session.
  Session(SessionOrigin origin, WorkerOptions options, const Executor& executor, const ToolTable& tools);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void tick(TimeUs steady_us);  // monotonic; only differences mean something
  void wake();                  // a hint came: something may be ready
  void drain();                 // finishes what runs, commits it, offers the rest, closes; may be called again

  void answered(const StoreCall& call, StoreAnswer answer);
  void failed(const StoreCall& call);  // the store was unavailable: it happened or not
  void ended(Ticket slot, StepResult result);

  SessionActions take();
  TimeUs due_us() const;     // steady: when take() is worth a call although nothing came
  bool is_finished() const;  // drained and closed, or the store does not come back
  bool beats() const { return is_open_; }
  WorkerReport report() const;
  SessionId id() const { return origin_.self.id; }

 private:
  // One step being executed or reported.
  struct Flight {
    HeldJob job;
    GraphRef graph;
    TimeUs started_at = 0;
    TimeUs deadline = never_us;
    bool is_running = false;
    bool was_unfit = false;  // its outcome could not be written; the attempt is reported as failed
  };
  // What is submitted or looked at for the session itself.
  struct Errand {
    enum class Kind : std::uint8_t { loss, orphan, child_look };
    Kind kind = Kind::loss;
    RunId run;
    Fence fence;
  };

  // --- time, opening, closing ---
  void look_after();
  void open();
  void introduce();
  void introduce_again();
  void close_when_idle();
  bool sweeps() const { return !is_sweeping_ && (!pool_.is_draining() || !deadlines_.empty()); }
  SessionRow row() const;
  void learn(const std::vector<GraphRow>& rows);
  void learn(const std::vector<QueueSettings>& settings);
  void call(StoreCall call);
  void note(Note::Level level, std::string text);

  // --- between pool and committer ---
  bool take_from(CommitterActions actions);
  bool take_from(Pool::Actions actions);
  void claim(Pool::Claim claim);
  void release(std::vector<Pool::Release> releases);
  void replied(Reply reply);
  void reported(Ticket slot, Reply reply);
  std::optional<TimeUs> stays(const Job& job, bool born) const;
  std::optional<Command> fused(const RunState& state, const Job& job);
  bool serves(const Job& job) const { return queues_.contains(job.queue); }
  // Has a limit or a pause: every step of it is claimed.
  bool is_limited(const std::string& queue) const { return limited_queues_.contains(queue); }
  CommitterOptions committer_options();

  // --- executing ---
  void begin(Pool::Start start);
  void execute(Ticket slot);
  void run_work(Ticket slot, Work work);
  void finished(Ticket slot, StepResult result);
  void submit(Ticket slot, Command command);
  void expire();
  void land(Ticket slot);
  void let_go(Ticket slot, TimeUs run_at_us);

  // --- answers ---
  struct Answering;
  struct Failing;
  void came(const SessionOpened& opened);
  void came(HistoriesRead read);
  void read(std::vector<Load> loads);
  void came(Shard shard, ClaimedBatch claimed);
  void came(const Seen& seen);
  void looked_at_jobs(TimeUs took_us);
  void lose(const std::vector<HeldJob>& jobs, const std::string& says);
  void cancel_orphans(const std::vector<RunId>& orphans);
  void find_children();
  void child_looked(const RunId& run);
  void errand_done(const Errand& errand, const Reply& reply);
  Ticket errand(Errand::Kind kind, const RunId& run, const Fence& fence = {});

  SessionOrigin origin_;
  WorkerOptions options_;
  const Executor& executor_;
  const ToolTable& tools_;
  const std::shared_ptr<StepRecords> records_ = std::make_shared<StepRecords>();
  DatabaseClock clock_;
  TimeUs steady_ = 0;
  TimeUs now_ = 0;  // the database's

  bool is_open_ = false;
  bool is_opening_ = false;
  std::size_t said_queues_ = 0;  // how many it said it serves
  bool is_closing_ = false;
  bool is_closed_ = false;
  bool is_sweeping_ = false;
  int openings_ = 0;
  TimeUs open_at_ = 0;  // these are steady
  TimeUs next_sweep_ = 0;
  TimeUs next_jobs_look_ = 0;
  TimeUs jobs_took_us_ = 0;  // the latest look
  TimeUs next_graphs_ = 0;
  TimeUs next_children_ = 0;
  TimeUs drain_until_ = never_us;
  std::int64_t under_way_ = 0;  // store calls

  Pool pool_;
  Committer committer_;
  Sweeper sweeper_;
  std::set<std::string, std::less<>> queues_;
  std::set<std::string, std::less<>> limited_queues_;
  std::set<std::string, std::less<>> graph_versions_;
  std::unordered_map<Ticket, Flight> flights_;
  std::set<std::pair<TimeUs, Ticket>> deadlines_;
  std::unordered_map<RunId, History> young_;  // came with a claim; for the loads of this turn
  std::unordered_map<Ticket, Errand> errands_;
  Ticket last_errand_;
  std::size_t next_child_look_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t lost_swept_ = 0;
  std::int64_t late_ = 0;
  SessionActions actions_;
};

}  // namespace cairn
