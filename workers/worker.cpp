#include "workers/worker.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <random>
#include <set>
#include <spdlog/spdlog.h>
#include <unistd.h>
#include <unordered_map>

#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/clock.hpp"
#include "workers/committer.hpp"
#include "workers/executor.hpp"
#include "workers/history.hpp"
#include "workers/lanes.hpp"
#include "workers/pool.hpp"
#include "workers/sweep.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr TimeUs second_us = 1'000'000;
constexpr TimeUs look_around_us = 20'000;           // how often stop() and `until` are asked
constexpr TimeUs lacking_pause_us = 1 * second_us;  // a step whose handler is not here
constexpr TimeUs broken_pause_us = 30 * second_us;  // a run that cannot be read
constexpr TimeUs refused_pause_us = 2 * second_us;
constexpr TimeUs drain_us = 20 * second_us;  // then what still runs is let go
constexpr TimeUs graphs_every_us = 5 * second_us;
constexpr std::int32_t sweep_rows = 200;
constexpr std::size_t children_looks = 50;
constexpr TimeUs children_every_us = second_us / 2;
constexpr Ticket own_tickets = Ticket{1} << 63;  // not a slot's

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

// One step being executed or reported.
struct Flight {
  HeldJob job;
  GraphRef graph;
  TimeUs started_at = 0;
  TimeUs deadline = never_us;
  bool is_running = false;
  bool was_unfit = false;  // its outcome could not be written; the attempt is reported as failed
  // Shared with the coroutine's completion, which may come after the flight has ended.
  std::shared_ptr<asio::cancellation_signal> cancel;
};

}  // namespace

struct Worker::Parts {
  Parts(Store& store, Catalogue& catalogue, WorkerOptions options);

  WorkerReport run();
  std::atomic<bool> stopping{false};

 private:
  // --- threads ---
  // Does `work` on a lane, then `then(result)` on the Asio thread; `failed()` there if the store is unavailable.
  template <class Work, class Then, class Failed>
  void on_lane(const char* what, Work work, Then then, Failed failed);
  void complain(const char* what, const std::string& says);
  bool open();
  long beat();
  long await_wake();

  // --- the loop ---
  void soon();
  void turn();
  void turn_until_quiet();
  void arm();
  void look_around();
  bool is_finished() const;

  // --- carrying out ---
  bool carry_out(CommitterActions actions);
  bool carry_out(Pool::Actions actions);
  void load(const Load& load);
  void commit(const CommitBatch& batch);
  void claim(Pool::Claim claim);
  void release(std::vector<Pool::Release> releases);
  void answered(Reply reply);
  void reported(Ticket slot, Reply reply);

  // --- executing ---
  void begin(Pool::Start start);
  void execute(Ticket slot);
  void run_work(Ticket slot, Work work);
  void read_blobs(Ticket slot, Work work);
  void finished(Ticket slot, StepResult result);
  void submit(Ticket slot, Command command);
  void expire();
  void let_go(Ticket slot, TimeUs run_at_us);
  std::optional<TimeUs> stays(const Job& job, bool born);
  bool serves(const Job& job) const;
  bool is_bound(const std::string& queue) const;
  void learn(const std::vector<QueueSettings>& settings);

  // --- sweeping ---
  struct Seen {
    std::vector<SessionRow> sessions;
    std::vector<HeldJob> overdue;
    std::vector<HeldJob> nobodys;
    std::vector<HeldJob> ours;
    TimeUs now_us = 0;
    std::vector<RunId> orphans;
    std::vector<QueueSettings> queue_settings;
    TimeUs database_us = 0;
    TimeUs asked_us = 0;
    TimeUs answered_us = 0;
  };
  void sweep();
  void swept(const Seen& seen);
  void check_holds(const Seen& seen);
  void bury(SessionId session);
  void lose(const std::vector<HeldJob>& jobs, const std::string& says);
  void cancel_orphans(const std::vector<RunId>& orphans);
  void find_children();
  void learn(const std::vector<GraphRow>& rows);
  void refresh_graphs();
  Ticket own_ticket(std::function<void(const Reply&)> then);
  SessionRow session_row() const;
  std::int32_t holds_max() const;

  Store& store_;
  Catalogue& catalogue_;
  WorkerOptions options_;
  SessionId session_;
  DatabaseClock clock_;
  std::mt19937_64 random_{std::random_device{}()};
  WorkerReport report_;

  asio::io_context io_;
  asio::steady_timer timer_{io_};
  bool turn_posted_ = false;
  TimeUs drain_until_ = never_us;
  std::int64_t under_way_ = 0;  // on lanes

  Ports ports_;
  Executor executor_;
  Pool pool_;
  std::optional<Committer> committer_;
  Sweep sweep_;
  std::set<std::string, std::less<>> queues_;
  std::set<std::string, std::less<>> bound_queues_;  // have a limit or a pause
  std::set<std::string, std::less<>> graph_versions_;
  std::unordered_map<Ticket, Flight> flights_;
  std::set<std::pair<TimeUs, Ticket>> deadlines_;
  std::unordered_map<Ticket, std::function<void(const Reply&)>> own_;
  Ticket last_own_ = own_tickets;
  TimeUs next_sweep_ = 0;
  TimeUs next_graphs_ = 0;
  bool is_sweeping_ = false;
  std::set<std::tuple<RunId, BranchId, std::int64_t>> losing_;  // under way through the committer
  std::size_t next_child_look_ = 0;
  TimeUs next_children_ = 0;
  std::map<std::tuple<RunId, BranchId, std::int64_t>, TimeUs> strays_;  // held by us, it says, and when we saw it first
  TimeUs complained_at_ = 0;
  std::optional<Lanes> lanes_;
};

Worker::Parts::Parts(Store& store, Catalogue& catalogue, WorkerOptions options)
    : store_(store),
      catalogue_(catalogue),
      options_(std::move(options)),
      session_(new_session_id()),
      ports_(*catalogue.model, *catalogue.tools),
      executor_(catalogue.handlers, ports_, session_),
      pool_({.shards = store.shards(),
             .concurrency = std::max(1, options_.concurrency),
             .poll_us = options_.poll_ms * 1000,
             .keep_steps = options_.keep_steps,
             .keep = options_.keep,
             .only_runs = options_.only_runs}),
      sweep_(session_, options_.dead_after_ms * 1000, std::max<TimeUs>(options_.dead_after_ms * 1000 / 2, 1)) {
  CommitterOptions of;
  of.shards = store.shards();
  of.lanes = std::max(1, options_.database_lanes);
  of.fuse_steps = options_.fuse_steps;
  of.actor = "worker:" + std::to_string(session_);
  of.session = session_;
  of.tools = &catalogue.tools->table();
  of.new_id = new_run_id;
  of.draw = [this] { return std::uniform_real_distribution<double>(0, 1)(random_); };
  of.stays = [this](const Job& job, bool born) { return stays(job, born); };
  of.fuse = [this](const RunState& state, const Job& job) -> std::optional<Command> {
    if (!serves(job) || is_bound(job.queue) || job.run_at_us > clock_.now() || pool_.is_draining()) return std::nullopt;
    std::optional<Command> command = executor_.fused(state, job, clock_.now());
    report_.steps += command ? 1 : 0;
    return command;
  };
  committer_.emplace(std::move(of));
  queues_.insert(options_.queues.begin(), options_.queues.end());
}

// --- threads --------------------------------------------------------------------------------------------------------

template <class Work, class Then, class Failed>
void Worker::Parts::on_lane(const char* what, Work work, Then then, Failed failed) {
  ++under_way_;
  lanes_->post([this, what, work = std::move(work), then = std::move(then), failed = std::move(failed)]() mutable {
    std::function<void()> after;
    try {
      // Shared only because std::function must be copyable.
      auto result = std::make_shared<decltype(work())>(work());
      after = [then = std::move(then), result]() mutable { then(std::move(*result)); };
    } catch (const std::exception& thrown) {
      after = [this, what, says = std::string(thrown.what()), failed = std::move(failed)]() mutable {
        complain(what, says);
        failed();
      };
    }
    asio::post(io_, [this, after = std::move(after)] {
      --under_way_;
      after();
      soon();
    });
  });
}

// At most one line a second: an outage makes every call fail.
void Worker::Parts::complain(const char* what, const std::string& says) {
  const TimeUs now = steady_us();
  if (now - complained_at_ < second_us) return;
  complained_at_ = now;
  spdlog::warn("Expected to {}, but {}; trying again.", what, says);
}

SessionRow Worker::Parts::session_row() const {
  SessionRow row;
  row.id = session_;
  row.host = host_name();
  row.pid = getpid();
  row.queues.assign(queues_.begin(), queues_.end());
  row.started_at = 0;
  return row;
}

// False if it was stopped before the database answered.
bool Worker::Parts::open() {
  for (int tries = 0; !stopping; ++tries) {
    try {
      const TimeUs asked = steady_us();
      clock_.observe(store_.database_time(), asked, steady_us());
      learn(store_.graphs());
      learn(store_.queue_settings());
      SessionRow row = session_row();
      row.started_at = clock_.now();
      store_.open_session(row);
      return true;
    } catch (const std::exception& thrown) {
      complain("open a session", thrown.what());
      std::mutex mutex;
      std::unique_lock lock(mutex);
      const auto is_stopped = [this] { return stopping.load(); };
      for (int i = 0; i < 10 * std::min(tries + 1, 5) && !is_stopped(); ++i)
        std::condition_variable().wait_for(lock, std::chrono::milliseconds(20), is_stopped);
    }
  }
  return false;
}

long Worker::Parts::beat() {
  try {
    store_.beat(session_);
  } catch (const std::exception& thrown) {
    asio::post(io_, [this, says = std::string(thrown.what())] { complain("beat", says); });
  }
  return static_cast<long>(options_.beat_ms);
}

long Worker::Parts::await_wake() {
  const std::int64_t wait_ms = 50;  // and so long does stopping take
  const TimeUs asked = steady_us();
  try {
    if (store_.await_wake(wait_ms)) {
      asio::post(io_, [this] {
        pool_.wake();
        soon();
      });
      return 0;
    }
  } catch (const std::exception& thrown) {
    asio::post(io_, [this, says = std::string(thrown.what())] { complain("listen", says); });
    return static_cast<long>(options_.poll_ms);
  }
  const bool has_waited = steady_us() - asked > wait_ms * 1000 / 2;
  return has_waited ? 0 : static_cast<long>(wait_ms);
}

// --- the loop -------------------------------------------------------------------------------------------------------

WorkerReport Worker::Parts::run() {
  if (!open()) return report_;
  lanes_.emplace(std::max(1, options_.database_lanes) + 1);
  {
    const Repeating heart([this] { return beat(); });
    const Repeating ear([this] { return await_wake(); });
    const auto work = asio::make_work_guard(io_);
    soon();
    io_.run();
  }
  lanes_.reset();
  try {
    store_.close_session(session_);
  } catch (const std::exception& thrown) {
    complain("close the session", thrown.what());  // the others see it standing still
  }
  report_.commits = committer_->counts().batches;
  report_.conflicts = committer_->counts().conflicts;
  report_.stale = committer_->counts().stale;
  return report_;
}

void Worker::Parts::soon() {
  if (std::exchange(turn_posted_, true)) return;
  asio::post(io_, [this] {
    turn_posted_ = false;
    turn();
  });
}

void Worker::Parts::turn() {
  look_around();
  turn_until_quiet();
  if (is_finished()) return io_.stop();
  arm();
}

void Worker::Parts::turn_until_quiet() {
  const TimeUs now = clock_.now();
  committer_->tick(now);
  pool_.tick(now);
  expire();
  bool is_busy = true;
  while (is_busy) {
    is_busy = carry_out(committer_->take());
    is_busy = carry_out(pool_.take()) || is_busy;
  }
}

void Worker::Parts::look_around() {
  const bool is_over = stopping || (options_.until && options_.until());
  if (is_over && !pool_.is_draining()) {
    pool_.drain();
    drain_until_ = steady_us() + drain_us;
  }
  const TimeUs now = steady_us();
  if (now >= next_sweep_ && !is_sweeping_ && (!pool_.is_draining() || !deadlines_.empty())) sweep();
  if (now >= next_graphs_ && !pool_.is_draining()) refresh_graphs();
}

void Worker::Parts::arm() {
  const TimeUs due = std::min({committer_->due_us(), pool_.due_us(), clock_.now() + look_around_us,
                               deadlines_.empty() ? never_us : deadlines_.begin()->first});
  timer_.expires_after(std::chrono::microseconds(std::max<TimeUs>(due - clock_.now(), 100)));
  timer_.async_wait([this](const boost::system::error_code& fault) {
    if (!fault) soon();
  });
}

bool Worker::Parts::is_finished() const {
  if (!pool_.is_draining()) return false;
  if (steady_us() >= drain_until_ + drain_us / 4) return true;  // the database does not come back
  return pool_.is_idle() && committer_->idle() && under_way_ == 0;
}

// --- carrying out ---------------------------------------------------------------------------------------------------

bool Worker::Parts::carry_out(CommitterActions actions) {
  if (actions.empty()) return false;
  for (const Load& one : actions.loads) load(one);
  for (const CommitBatch& batch : actions.commits) commit(batch);
  for (PutSnapshot& one : actions.snapshots)
    on_lane(
        "keep a snapshot",
        [this, one = std::move(one)] {
          store_.put_snapshot(one.run, one.row);
          return true;
        },
        [](bool) {}, [] {});
  for (const auto& [caller, called] : actions.children)
    if (pool_.executes(caller)) pool_.add_run(called);
  for (const Offered& offered : actions.offered)
    if (queues_.contains(offered.queue)) pool_.due(offered.run_at_us);
  for (HeldJob& job : actions.born) pool_.born(std::move(job));
  for (Reply& reply : actions.replies) answered(std::move(reply));
  return true;
}

bool Worker::Parts::carry_out(Pool::Actions actions) {
  if (actions.empty()) return false;
  for (Pool::Claim& one : actions.claims) claim(std::move(one));
  for (Pool::Start& one : actions.starts) begin(std::move(one));
  if (!actions.releases.empty()) release(std::move(actions.releases));
  return true;
}

void Worker::Parts::load(const Load& load) {
  struct Read {
    History history;
    std::vector<GraphRow> graphs;
  };
  on_lane(
      "read a history",
      [this, load] {
        Read read;
        if (load.graphs) read.graphs = store_.graphs();
        read.history = read_history(store_, load);
        return read;
      },
      [this](Read read) {
        if (!read.graphs.empty()) learn(read.graphs);
        committer_->history(std::move(read.history));
      },
      [this, run = load.run] { committer_->load_failed(run); });
}

void Worker::Parts::commit(const CommitBatch& batch) {
  on_lane(
      "commit",
      [this, batch, now = clock_.now()] {
        std::vector<Verdict> verdicts = store_.commit(batch.shard, *batch.entries);
        const auto is_offer = [now](const JobWrite& write) {
          return write.op == JobWrite::Op::offer && write.job.run_at_us <= now;
        };
        const bool wakes = std::any_of(batch.entries->begin(), batch.entries->end(), [&](const Entry& entry) {
          return std::any_of(entry.jobs.begin(), entry.jobs.end(), is_offer);
        });
        if (wakes) store_.wake();
        return verdicts;
      },
      [this, id = batch.batch](std::vector<Verdict> verdicts) { committer_->verdicts(id, std::move(verdicts)); },
      [this, id = batch.batch] { committer_->batch_failed(id); });
}

void Worker::Parts::claim(Pool::Claim claim) {
  ClaimRequest request;
  request.shard = claim.shard;
  request.queues.assign(queues_.begin(), queues_.end());
  request.session = session_;
  request.limit = claim.limit;
  request.now_us = clock_.now();
  request.default_timeout_ms = options_.default_timeout_ms;
  request.only_runs = std::move(claim.only_runs);
  const Shard shard = request.shard;
  on_lane(
      "claim", [this, request = std::move(request)] { return store_.claim(request); },
      [this, shard](std::vector<HeldJob> jobs) {
        pool_.claimed(shard, std::move(jobs));
        if (!options_.only_runs.empty() && pool_.finds_nothing()) find_children();
      },
      [this, shard] { pool_.claim_failed(shard); });
}

void Worker::Parts::release(std::vector<Pool::Release> releases) {
  std::map<TimeUs, std::vector<std::pair<RunId, Fence>>> by_time;
  for (const Pool::Release& one : releases) by_time[one.run_at_us].emplace_back(one.run, one.fence);
  on_lane(
      "let go of steps",
      [this, by_time = std::move(by_time)] {
        for (const auto& [run_at, holds] : by_time) store_.release(holds, run_at);
        store_.wake();
        return true;
      },
      [](bool) {},
      [this, releases] {
        if (!pool_.is_draining()) release(releases);
      });
}

void Worker::Parts::answered(Reply reply) {
  if (reply.ticket < own_tickets) return reported(reply.ticket, std::move(reply));
  auto then = own_.extract(reply.ticket);
  if (!then.empty() && then.mapped()) then.mapped()(reply);
}

void Worker::Parts::reported(Ticket slot, Reply reply) {
  const auto found = flights_.find(slot);
  if (found == flights_.end()) return;
  if (reply.looked) {
    if (!reply.refused) return execute(slot);
    spdlog::error("Expected to execute step {} of run {}, but: {}", found->second.job.job.step,
                  to_string(found->second.job.run), reply.refused->message);
    return let_go(slot, clock_.now() + broken_pause_us);
  }
  if (is_bound(found->second.job.job.queue)) pool_.wake();  // one more of its queue may be claimed
  if (!reply.refused) {
    flights_.erase(found);
    return reply.next ? pool_.goes_on(slot, *std::move(reply.next)) : pool_.done(slot);
  }
  const Code code = reply.refused->code;
  spdlog::debug("{}", reply.refused->message);
  if (code == Code::stale || code == Code::closed) {
    flights_.erase(found);
    return pool_.done(slot);
  }
  if (code == Code::corrupt && !std::exchange(found->second.was_unfit, true)) {
    const Job& job = found->second.job.job;
    return submit(
        slot,
        FailStep{
            job.step, job.attempt, {"invalid", reply.refused->message, true, {}}, session_, found->second.started_at});
  }
  const bool is_broken = code == Code::corrupt || code == Code::unsupported;
  if (is_broken) spdlog::error("{}", reply.refused->message);
  let_go(slot, clock_.now() + (is_broken ? broken_pause_us : refused_pause_us));
}

// --- executing ------------------------------------------------------------------------------------------------------

void Worker::Parts::begin(Pool::Start start) {
  Flight& flight = flights_[start.slot];
  flight.job = std::move(start.job);
  committer_->look(start.slot, flight.job.run, flight.job.run_head);
}

void Worker::Parts::let_go(Ticket slot, TimeUs run_at_us) {
  const auto found = flights_.find(slot);
  if (found == flights_.end()) return;
  if (found->second.cancel) found->second.cancel->emit(asio::cancellation_type::terminal);
  deadlines_.erase({found->second.deadline, slot});
  flights_.erase(found);
  pool_.give_back(slot, run_at_us);
}

void Worker::Parts::execute(Ticket slot) {
  if (pool_.is_draining()) return let_go(slot, clock_.now());
  Flight& flight = flights_.at(slot);
  const RunState* state = committer_->state(flight.job.run);
  if (state == nullptr) return let_go(slot, clock_.now() + refused_pause_us);  // it has ended
  Prepared prepared = NotOpen{};
  try {
    prepared = executor_.prepare(*state, flight.job.job);
  } catch (const std::exception& thrown) {  // resolved inputs that went missing: the attempt fails
    prepared = Command(FailStep{
        flight.job.job.step, flight.job.job.attempt, {"invalid", thrown.what(), false, {}}, session_, clock_.now()});
  }
  if (std::holds_alternative<NotOpen>(prepared)) return let_go(slot, clock_.now() + refused_pause_us);
  if (const auto* missing = std::get_if<Missing>(&prepared)) {
    spdlog::debug("Step {} of run {} is given back: there is no {} here.", flight.job.job.step,
                  to_string(flight.job.run), missing->what);
    return let_go(slot, clock_.now() + lacking_pause_us);
  }
  ++report_.steps;
  flight.started_at = clock_.now();
  if (auto* command = std::get_if<Command>(&prepared)) return submit(slot, std::move(*command));
  flight.graph = state->graph;
  Work& work = std::get<Work>(prepared);
  if (!work.blobs.empty()) return read_blobs(slot, std::move(work));
  run_work(slot, std::move(work));
}

void Worker::Parts::run_work(Ticket slot, Work work) {
  Flight& flight = flights_.at(slot);
  if (work.handler != nullptr && work.handler->is_pure()) return finished(slot, Executor::run_pure(work));
  const std::int64_t timeout_ms = work.timeout_ms > 0 ? work.timeout_ms : options_.default_timeout_ms;
  if (timeout_ms > 0) {
    flight.deadline = flight.started_at + timeout_ms * 1000;
    deadlines_.emplace(flight.deadline, slot);
  }
  flight.is_running = true;
  flight.cancel = std::make_shared<asio::cancellation_signal>();
  const auto ended = [this, slot, cancel = flight.cancel](std::exception_ptr thrown, StepResult result) {
    const auto found = flights_.find(slot);
    if (found == flights_.end() || !found->second.is_running) return;  // too late: it has been reported otherwise
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const std::exception& says) {
      result = Failure{"error", says.what(), true, {}};
    } catch (...) {
      result = Failure{"error", "The handler threw something that is no exception.", true, {}};
    }
    finished(slot, std::move(result));
    soon();
  };
  asio::co_spawn(io_, executor_.run_effect(std::move(work)),
                 asio::bind_cancellation_slot(flight.cancel->slot(), ended));
}

void Worker::Parts::read_blobs(Ticket slot, Work work) {
  const Flight& flight = flights_.at(slot);
  const Shard shard = shard_of(flight.job.run, store_.shards());
  on_lane(
      "read large values",
      [this, shard, work = std::move(work)]() mutable {
        const auto read = [this, shard](const Hash& hash) { return store_.blob(shard, hash); };
        for (Json* part : {&work.input.with, &work.input.data, &work.input.given, &work.input.inputs})
          put_back(*part, read);
        for (GoalView& goal : work.input.plan) {
          put_back(goal.inputs, read);
          put_back(goal.outputs, read);
        }
        return std::move(work);
      },
      [this, slot](Work ready) {
        if (flights_.contains(slot)) run_work(slot, std::move(ready));
      },
      [this, slot] { let_go(slot, clock_.now() + refused_pause_us); });
}

void Worker::Parts::finished(Ticket slot, StepResult result) {
  Flight& flight = flights_.at(slot);
  flight.is_running = false;
  flight.cancel.reset();
  if (flight.deadline != never_us) deadlines_.erase({flight.deadline, slot});
  std::vector<Blob> blobs;
  Command command = executor_.report(flight.job.job, flight.started_at, std::move(result), *flight.graph, blobs);
  if (blobs.empty()) return submit(slot, std::move(command));
  on_lane(
      "keep large values",
      [this, shard = shard_of(flight.job.run, store_.shards()), blobs = std::move(blobs)] {
        for (const Blob& blob : blobs) store_.put_blob(shard, blob.hash, blob.bytes);
        return true;
      },
      [this, slot, command](bool) mutable { submit(slot, std::move(command)); },
      [this, slot] { let_go(slot, clock_.now() + refused_pause_us); });
}

void Worker::Parts::submit(Ticket slot, Command command) {
  const auto found = flights_.find(slot);
  if (found == flights_.end()) return;
  const HeldJob& job = found->second.job;
  committer_->submit({.ticket = slot,
                      .run = job.run,
                      .command = std::move(command),
                      .fence = Fence{job.job.branch, job.session, job.epoch, job.job.step},
                      .keep_in = pool_.may_keep(slot) ? job.job.queue : ""});
}

// Steps past their time fail; what they still bring is dropped.
void Worker::Parts::expire() {
  const TimeUs now = clock_.now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const Ticket slot = deadlines_.begin()->second;
    const Flight& flight = flights_.at(slot);
    const std::int64_t after_ms = (flight.deadline - flight.started_at) / 1000;
    const std::shared_ptr<asio::cancellation_signal> cancel = flight.cancel;
    finished(slot, Failure{"timeout", "Expected an outcome within " + std::to_string(after_ms) + " ms.", true, {}});
    if (cancel) cancel->emit(asio::cancellation_type::terminal);
  }
  if (!pool_.is_draining() || steady_us() < drain_until_) return;
  std::vector<Ticket> running;
  for (const auto& [slot, flight] : flights_)
    if (flight.is_running) running.push_back(slot);
  for (const Ticket slot : running) let_go(slot, now);
}

bool Worker::Parts::serves(const Job& job) const { return queues_.contains(job.queue); }

// Has a limit or a pause: every step of it is claimed.
bool Worker::Parts::is_bound(const std::string& queue) const { return bound_queues_.contains(queue); }

void Worker::Parts::learn(const std::vector<QueueSettings>& settings) {
  const std::set<std::string, std::less<>> before = std::exchange(bound_queues_, {});
  for (const QueueSettings& one : settings)
    if (one.binds()) bound_queues_.insert(one.name);
  if (bound_queues_ != before) pool_.wake();
}

std::optional<TimeUs> Worker::Parts::stays(const Job& job, bool born) {
  const TimeUs now = clock_.now();
  if (!options_.keep || pool_.is_draining() || job.queue == timer_queue) return std::nullopt;
  if (!serves(job) || is_bound(job.queue) || job.run_at_us > now) return std::nullopt;
  if (born && pool_.free_slots() <= committer_->born_under_way()) return std::nullopt;
  const std::int64_t timeout_ms = job.timeout_ms > 0 ? job.timeout_ms : options_.default_timeout_ms;
  return timeout_ms > 0 ? now + (timeout_ms + deadline_grace_ms) * 1000 : never_us;
}

// --- sweeping -------------------------------------------------------------------------------------------------------

Ticket Worker::Parts::own_ticket(std::function<void(const Reply&)> then) {
  own_.emplace(++last_own_, std::move(then));
  return last_own_;
}

void Worker::Parts::sweep() {
  is_sweeping_ = true;
  const TimeUs now = clock_.now();
  on_lane(
      "look after the others",
      [this, now] {
        Seen seen;
        seen.now_us = now;
        seen.ours = store_.held_by(session_, holds_max());
        seen.asked_us = steady_us();
        seen.database_us = store_.database_time();
        seen.answered_us = steady_us();
        seen.sessions = store_.sessions();
        seen.overdue = store_.overdue(now, sweep_rows);
        seen.nobodys = store_.held_by_nobody(sweep_rows);
        seen.orphans = store_.orphans(sweep_rows);
        seen.queue_settings = store_.queue_settings();
        return seen;
      },
      [this](const Seen& seen) {
        is_sweeping_ = false;
        next_sweep_ = steady_us() + std::clamp<TimeUs>(options_.dead_after_ms * 1000 / 5, 20'000, 2 * second_us);
        swept(seen);
      },
      [this] {
        is_sweeping_ = false;
        next_sweep_ = steady_us() + second_us;
      });
}

void Worker::Parts::swept(const Seen& seen) {
  clock_.observe(seen.database_us, seen.asked_us, seen.answered_us);
  learn(seen.queue_settings);
  check_holds(seen);
  if (pool_.is_draining()) return;
  for (const SessionId dead : sweep_.seen(seen.sessions, steady_us())) bury(dead);
  lose(seen.overdue, "Its worker did not report in time.");
  lose(seen.nobodys, "Its worker is gone.");
  cancel_orphans(seen.orphans);
  const bool is_known = std::any_of(seen.sessions.begin(), seen.sessions.end(),
                                    [this](const SessionRow& row) { return row.id == session_; });
  if (is_known) return;
  spdlog::warn("Session {} was declared dead while it lives; opening it again.", session_);
  SessionRow row = session_row();
  row.started_at = clock_.now();
  on_lane(
      "open the session again",
      [this, row] {
        store_.open_session(row);
        return true;
      },
      [](bool) {}, [] {});
}

std::int32_t Worker::Parts::holds_max() const { return 2 * options_.concurrency + sweep_rows; }

// A step that runs although its hold is gone (its run was cancelled, it was given up for lost) is stopped. A hold that
// nothing here knows of (the answer to its claim was lost) is let go.
void Worker::Parts::check_holds(const Seen& seen) {
  if (static_cast<std::int32_t>(seen.ours.size()) >= holds_max()) return;
  using Key = std::tuple<RunId, BranchId, std::int64_t>;
  std::set<Key> held;
  for (const HeldJob& job : seen.ours) held.emplace(job.run, job.job.branch, job.epoch);
  std::set<Key> known;
  std::vector<Ticket> stopped;
  for (const auto& [slot, flight] : flights_) {
    const Key key{flight.job.run, flight.job.job.branch, flight.job.epoch};
    known.insert(key);
    if (flight.is_running && flight.started_at < seen.now_us && !held.contains(key)) stopped.push_back(slot);
  }
  for (const Ticket slot : stopped) {
    Flight flight = std::move(flights_.at(slot));
    flights_.erase(slot);
    deadlines_.erase({flight.deadline, slot});
    flight.cancel->emit(asio::cancellation_type::terminal);
    pool_.done(slot);
  }
  std::map<Key, TimeUs> strays;
  for (const HeldJob& job : seen.ours) {
    const Key key{job.run, job.job.branch, job.epoch};
    if (known.contains(key)) continue;
    const auto before = strays_.find(key);
    const TimeUs first = before == strays_.end() ? seen.now_us : before->second;
    strays.emplace(key, first);
    if (seen.now_us - first >= options_.dead_after_ms * 1000 / 2)
      release({{job.run, {job.job.branch, job.session, job.epoch, job.job.step}, seen.now_us}});
  }
  strays_ = std::move(strays);
}

// What a dead session held is lost; when it holds nothing any more its row goes.
void Worker::Parts::bury(SessionId session) {
  on_lane(
      "bury a session",
      [this, session] {
        std::vector<HeldJob> held = store_.held_by(session, sweep_rows);
        if (held.empty()) store_.close_session(session);
        return held;
      },
      [this](const std::vector<HeldJob>& held) { lose(held, "Its worker died."); }, [] {});
}

void Worker::Parts::lose(const std::vector<HeldJob>& jobs, const std::string& says) {
  std::vector<Pool::Release> timers;
  for (const HeldJob& job : jobs) {
    Loss loss = loss_of(job, says);
    if (!loss.command) {
      timers.push_back({loss.run, loss.fence, clock_.now()});
      continue;
    }
    const auto key = std::make_tuple(job.run, job.job.branch, job.epoch);
    if (!losing_.insert(key).second) continue;
    const Ticket ticket = own_ticket([this, key, fence = loss.fence](const Reply& reply) {
      losing_.erase(key);
      report_.lost_swept += reply.refused ? 0 : 1;
      if (!reply.refused || reply.refused->code == Code::stale) return;
      release({{std::get<RunId>(key), fence, clock_.now() + broken_pause_us}});  // a run that cannot be read
    });
    committer_->submit({.ticket = ticket, .run = loss.run, .command = *loss.command, .fence = loss.fence});
  }
  if (!timers.empty()) release(std::move(timers));
  soon();
}

void Worker::Parts::cancel_orphans(const std::vector<RunId>& orphans) {
  for (const RunId& run : orphans) {
    const auto key = std::make_tuple(run, BranchId{0}, std::int64_t{0});
    if (!losing_.insert(key).second) continue;
    const Ticket ticket = own_ticket([this, key](const Reply&) { losing_.erase(key); });
    committer_->submit({.ticket = ticket, .run = run, .command = Cancel{"The run that called it has ended."}});
  }
}

// Runs that ours had called before this worker began are ours too.
void Worker::Parts::find_children() {
  const TimeUs now = steady_us();
  if (now < next_children_ || pool_.is_draining()) return;
  next_children_ = now + children_every_us;
  for (std::size_t n = 0; n < std::min(children_looks, options_.only_runs.size()); ++n) {
    const RunId run = options_.only_runs[next_child_look_++ % options_.only_runs.size()];
    committer_->look(own_ticket([this, run](const Reply&) {
                       const RunState* state = committer_->state(run);
                       if (state == nullptr) return;
                       for (const auto& [id, step] : state->steps) {
                         if (step.child.is_nil() || is_ended(state->status)) continue;
                         const bool is_new = !pool_.executes(step.child);
                         pool_.add_run(step.child);
                         if (is_new) options_.only_runs.push_back(step.child);
                       }
                     }),
                     run, 0);
  }
}

void Worker::Parts::learn(const std::vector<GraphRow>& rows) {
  for (const GraphRow& row : rows) {
    GraphRef graph = committer_->graphs().by_version(row.version);
    try {
      if (graph == nullptr) graph = stored_graph(parse_stored(row.text), row.version);
    } catch (const std::exception& bad) {
      complain("read a graph", bad.what());
      continue;
    }
    committer_->add_graph(graph, row.current);
    if (!options_.queues.empty() || !graph_versions_.insert(row.version).second) continue;
    for (const Node& node : graph->nodes)
      if (node.verb == Verb::do_) queues_.insert(node.queue);
  }
  if (!options_.queues.empty()) return;
  queues_.insert({"default", std::string(timer_queue)});
  for (const auto& [name, tool] : catalogue_.tools->table()) queues_.insert(tool.queue);
}

void Worker::Parts::refresh_graphs() {
  next_graphs_ = steady_us() + graphs_every_us;
  on_lane(
      "read the graphs", [this] { return store_.graphs(); }, [this](const std::vector<GraphRow>& rows) { learn(rows); },
      [] {});
}

// --------------------------------------------------------------------------------------------------------------------

Worker::Worker(Store& store, Catalogue& catalogue, WorkerOptions options)
    : parts_(std::make_unique<Parts>(store, catalogue, std::move(options))) {}
Worker::~Worker() = default;
WorkerReport Worker::run() { return parts_->run(); }
void Worker::stop() { parts_->stopping = true; }

}  // namespace cairn
