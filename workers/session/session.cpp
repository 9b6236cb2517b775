#include "workers/session/session.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/graph_parsing.hpp"

namespace cairn {
namespace {

constexpr TimeUs second_us = 1'000'000;
constexpr TimeUs lacking_pause_us = 1 * second_us;  // a step whose handler is not here
constexpr TimeUs broken_pause_us = 30 * second_us;  // a run that cannot be read
constexpr TimeUs refused_pause_us = 2 * second_us;
constexpr TimeUs drain_us = 20 * second_us;  // then what still runs is let go
constexpr TimeUs graphs_every_us = 5 * second_us;
constexpr TimeUs open_pause_us = second_us / 5;  // longer with each try
constexpr int open_pauses_max = 5;
constexpr std::int32_t strays_max = 200;
constexpr std::int64_t young_events = 16;  // of a run whose history comes with the claim
constexpr TimeUs jobs_look_share = 50;     // looking at all held jobs may take one part in so many of the time
constexpr TimeUs jobs_look_pause_max_us = 60 * second_us;
constexpr std::size_t histories_max = 100;  // in one call
constexpr std::size_t children_looks = 50;
constexpr TimeUs children_every_us = second_us / 2;
constexpr Ticket errand_tickets = Ticket{1} << 63;  // not a slot's

PoolOptions pool_options(const SessionOrigin& origin, const WorkerOptions& options) {
  return {.shards = origin.shards,
          .concurrency = std::max(1, options.concurrency),
          .poll_us = options.poll_ms * 1000,
          .keep_steps = options.keep_steps,
          .keep = options.keep,
          .only_runs = options.only_runs};
}

}  // namespace

Session::Session(SessionOrigin origin, WorkerOptions options, const Executor& executor, const ToolTable& tools)
    : origin_(std::move(origin)),
      options_(std::move(options)),
      executor_(executor),
      tools_(tools),
      pool_(pool_options(origin_, options_)),
      committer_(committer_options()),
      sweeper_(origin_.self.id, options_.dead_after_ms * 1000),
      queues_(options_.queues.begin(), options_.queues.end()),
      last_errand_(errand_tickets) {}

CommitterOptions Session::committer_options() {
  CommitterOptions of;
  of.shards = origin_.shards;
  of.lanes = std::max(1, options_.database_lanes);
  of.fuse_steps = options_.fuse_steps;
  of.runs_max = options_.runs_max;
  of.snapshot_events = options_.snapshot_events;
  of.actor = "worker:" + std::to_string(id());
  of.session = id();
  of.tools = &tools_;
  of.new_id = origin_.new_id;
  of.draw = origin_.draw;
  of.new_commit = origin_.new_commit;
  of.stays = [this](const Job& job, bool born) { return stays(job, born); };
  of.fuse = [this](const RunState& state, const Job& job) { return fused(state, job); };
  return of;
}

// --- time, opening, closing -----------------------------------------------------------------------------------------

void Session::tick(TimeUs steady_us) {
  steady_ = std::max(steady_, steady_us);
  if (!is_open_) return open();
  now_ = clock_.now(steady_);
  committer_.tick(now_);
  pool_.tick(now_);
  expire();
  look_after();
}

void Session::wake() { pool_.hint(); }

void Session::drain() {
  if (pool_.is_draining()) return;
  pool_.drain();
  drain_until_ = steady_ + drain_us;
}

void Session::open() {
  if (is_opening_ || pool_.is_draining() || steady_ < open_at_) return;
  ++openings_;
  introduce();
}

void Session::look_after() {
  if (steady_ >= next_sweep_ && sweeps()) {
    is_sweeping_ = true;
    call(LookAround{id(), 2 * options_.concurrency + strays_max, now_, steady_ >= next_jobs_look_});
  }
  if (steady_ >= next_graphs_ && !pool_.is_draining()) {
    next_graphs_ = steady_ + graphs_every_us;
    call(ReadGraphs{});
  }
}

SessionActions Session::take() {
  bool is_busy = is_open_;
  while (is_busy) {
    is_busy = take_from(committer_.take());
    is_busy = take_from(pool_.take()) || is_busy;
  }
  young_.clear();
  close_when_idle();
  return std::exchange(actions_, {});
}

void Session::close_when_idle() {
  if (!is_open_ || !pool_.is_draining() || is_closing_) return;
  if (!pool_.is_idle() || !committer_.idle() || under_way_ > 0) return;
  is_closing_ = true;
  call(CloseSession{id()});
}

bool Session::is_finished() const {
  if (!pool_.is_draining()) return false;
  if (!is_open_) return under_way_ == 0;
  return is_closed_ || steady_ >= drain_until_ + drain_us / 4;
}

TimeUs Session::due_us() const {
  if (!is_open_) return is_opening_ ? never_us : open_at_;
  TimeUs due = std::min(committer_.due_us(), pool_.due_us());
  if (!deadlines_.empty()) due = std::min(due, deadlines_.begin()->first);
  if (due != never_us) due = std::max(steady_, steady_ + (due - now_));
  if (sweeps()) due = std::min(due, next_sweep_);
  if (!pool_.is_draining()) return std::min(due, next_graphs_);
  return std::min(due, steady_ < drain_until_ ? drain_until_ : drain_until_ + drain_us / 4);
}

WorkerReport Session::report() const {
  const CommitterCounts& counts = committer_.counts();
  return {.steps = steps_,
          .commits = counts.batches,
          .conflicts = counts.conflicts,
          .stale = late_,
          .lost_swept = lost_swept_,
          .forgotten = counts.forgotten};
}

SessionRow Session::row() const {
  SessionRow made = origin_.self;
  made.queues.assign(queues_.begin(), queues_.end());
  return made;
}

void Session::introduce() {
  if (std::exchange(is_opening_, true)) return;
  said_queues_ = queues_.size();
  call(OpenSession{row()});
}

// When it serves more than it said: others are told by its row why a step does not move.
void Session::introduce_again() {
  if (is_open_ && queues_.size() != said_queues_ && !pool_.is_draining()) introduce();
}

void Session::call(StoreCall call) {
  ++under_way_;
  actions_.calls.push_back(std::move(call));
}

void Session::note(Note::Level level, std::string text) { actions_.notes.push_back({level, std::move(text)}); }

void Session::learn(const std::vector<GraphRow>& rows) {
  for (const GraphRow& row : rows) {
    GraphRef graph = committer_.graphs().by_version(row.version);
    try {
      if (graph == nullptr) graph = stored_graph(parse_stored(row.text), row.version);
    } catch (const std::exception& bad) {
      note(Note::Level::warning, "Expected to read graph " + row.name + ", but " + bad.what());
      continue;
    }
    committer_.add_graph(graph, row.current);
    if (!options_.queues.empty() || !graph_versions_.insert(row.version).second) continue;
    for (const Node& node : graph->nodes)
      if (const auto* work = node.as<DoNode>()) queues_.insert(work->queue);
  }
  if (!options_.queues.empty()) return;
  queues_.insert({"default", std::string(timer_queue)});
  for (const auto& [name, tool] : tools_) queues_.insert(tool.queue);
}

void Session::learn(const std::vector<QueueSettings>& settings) {
  const std::set<std::string, std::less<>> before = std::exchange(limited_queues_, {});
  for (const QueueSettings& one : settings)
    if (one.is_limited()) limited_queues_.insert(one.name);
  if (limited_queues_ != before) pool_.wake();
}

// --- between pool and committer -------------------------------------------------------------------------------------

bool Session::take_from(CommitterActions actions) {
  if (actions.empty()) return false;
  read(std::move(actions.loads));
  for (const CommitBatch& batch : actions.commits) call(Commit{batch});
  for (PutSnapshot& one : actions.snapshots) call(std::move(one));
  for (const auto& [caller, called] : actions.children)
    if (pool_.executes(caller)) pool_.add_run(called);
  for (const Offered& offered : actions.offered)
    if (queues_.contains(offered.queue)) pool_.due(offered.run_at_us);
  for (HeldJob& job : actions.born) pool_.born(std::move(job));
  for (Reply& reply : actions.replies) replied(std::move(reply));
  return true;
}

void Session::read(std::vector<Load> loads) {
  ReadHistories together;
  for (Load& load : loads) {
    const auto young = load.after_seq == 0 && !load.graphs ? young_.extract(load.run) : decltype(young_)::node_type();
    if (!young.empty()) {
      committer_.history(std::move(young.mapped()));
      continue;
    }
    if (load.alone) {
      call(ReadHistories{{load}});
      continue;
    }
    together.loads.push_back(load);
    if (together.loads.size() == histories_max) call(std::exchange(together, {}));
  }
  if (!together.loads.empty()) call(std::move(together));
}

bool Session::take_from(Pool::Actions actions) {
  if (actions.empty()) return false;
  for (Pool::Claim& one : actions.claims) claim(std::move(one));
  for (Pool::Start& one : actions.starts) begin(std::move(one));
  if (!actions.releases.empty()) release(std::move(actions.releases));
  return true;
}

void Session::claim(Pool::Claim claim) {
  ClaimRequest request;
  request.shard = claim.shard;
  request.queues.assign(queues_.begin(), queues_.end());
  request.session = id();
  request.limit = claim.limit;
  request.now_us = now_;
  request.default_timeout_ms = options_.default_timeout_ms;
  request.only_runs = std::move(claim.only_runs);
  request.short_history_max = young_events;
  request.notified_only = claim.notified_only;
  call(std::move(request));
}

void Session::release(std::vector<Pool::Release> releases) {
  std::map<TimeUs, std::vector<std::pair<RunId, Fence>>> by_time;
  for (const Pool::Release& one : releases) by_time[one.run_at_us].emplace_back(one.run, one.fence);
  for (auto& [run_at, holds] : by_time) call(LetGo{std::move(holds), run_at});
}

void Session::replied(Reply reply) {
  if (reply.ticket < errand_tickets) return reported(reply.ticket, std::move(reply));
  const auto errand = errands_.extract(reply.ticket);
  if (!errand.empty()) errand_done(errand.mapped(), reply);
}

void Session::reported(Ticket slot, Reply reply) {
  const auto found = flights_.find(slot);
  if (found == flights_.end()) return;
  if (reply.looked) {
    if (!reply.refused) return execute(slot);
    note(Note::Level::error, "Expected to execute step " + std::to_string(found->second.job.job.step) + " of run " +
                                 to_string(found->second.job.run) + ", but: " + reply.refused->message);
    return let_go(slot, now_ + broken_pause_us);
  }
  if (is_limited(found->second.job.job.queue)) pool_.wake();  // one more of its queue may be claimed
  if (!reply.refused) {
    flights_.erase(found);
    return reply.next ? pool_.goes_on(slot, *std::move(reply.next)) : pool_.done(slot);
  }
  const Code code = reply.refused->code;
  const bool is_broken = code == Code::corrupt || code == Code::unsupported;
  note(is_broken ? Note::Level::error : Note::Level::debug, reply.refused->message);
  if (code == Code::stale || code == Code::closed) {
    ++late_;
    flights_.erase(found);
    return pool_.done(slot);
  }
  if (code == Code::corrupt && !std::exchange(found->second.was_unfit, true)) {
    const Job& job = found->second.job.job;
    return submit(
        slot,
        FailStep{job.step, job.attempt, {"invalid", reply.refused->message, true, {}}, id(), found->second.started_at});
  }
  let_go(slot, now_ + (is_broken ? broken_pause_us : refused_pause_us));
}

std::optional<TimeUs> Session::stays(const Job& job, bool born) const {
  if (!options_.keep || pool_.is_draining() || job.queue == timer_queue) return std::nullopt;
  if (!serves(job) || is_limited(job.queue) || job.run_at_us > now_) return std::nullopt;
  if (born && pool_.free_slots() <= committer_.born_under_way()) return std::nullopt;
  const std::int64_t timeout_ms = job.timeout_ms > 0 ? job.timeout_ms : options_.default_timeout_ms;
  return timeout_ms > 0 ? now_ + (timeout_ms + deadline_grace_ms) * 1000 : never_us;
}

std::optional<Command> Session::fused(const RunState& state, const Job& job) {
  if (!serves(job) || is_limited(job.queue) || job.run_at_us > now_ || pool_.is_draining()) return std::nullopt;
  std::optional<Command> command = executor_.fused(state, job, now_);
  steps_ += command ? 1 : 0;
  return command;
}

// --- executing ------------------------------------------------------------------------------------------------------

void Session::begin(Pool::Start start) {
  Flight& flight = flights_[start.slot];
  flight.job = std::move(start.job);
  committer_.look(start.slot, flight.job.run, flight.job.run_head);
}

// The flight ends here; an effect of it is stopped.
void Session::land(Ticket slot) {
  const auto found = flights_.find(slot);
  if (found->second.is_running) actions_.cancelled.push_back(slot);
  deadlines_.erase({found->second.deadline, slot});
  flights_.erase(found);
}

void Session::let_go(Ticket slot, TimeUs run_at_us) {
  if (!flights_.contains(slot)) return;
  land(slot);
  pool_.give_back(slot, run_at_us);
}

void Session::execute(Ticket slot) {
  if (pool_.is_draining()) return let_go(slot, now_);
  Flight& flight = flights_.at(slot);
  const RunState* state = committer_.state(flight.job.run);
  if (state == nullptr) return let_go(slot, now_ + refused_pause_us);  // it has ended
  Prepared prepared = NotOpen{};
  try {
    prepared = executor_.prepare(*state, flight.job.job);
  } catch (const std::exception& thrown) {  // resolved inputs that went missing: the attempt fails
    prepared = Command(
        FailStep{flight.job.job.step, flight.job.job.attempt, {"invalid", thrown.what(), false, {}}, id(), now_});
  }
  if (std::holds_alternative<NotOpen>(prepared)) return let_go(slot, now_ + refused_pause_us);
  if (const auto* missing = std::get_if<Missing>(&prepared)) {
    note(Note::Level::debug, "Step " + std::to_string(flight.job.job.step) + " of run " + to_string(flight.job.run) +
                                 " is given back: there is no " + missing->what + " here.");
    land(slot);
    return pool_.pass_on(slot, now_ + lacking_pause_us);
  }
  ++steps_;
  flight.started_at = now_;
  if (auto* command = std::get_if<Command>(&prepared)) return submit(slot, std::move(*command));
  flight.graph = state->graph;
  Work& work = std::get<Work>(prepared);
  if (work.blobs.empty() && !work.recorded) return run_work(slot, std::move(work));
  const Shard shard = shard_of(flight.job.run, origin_.shards);
  Graphs graphs = work.recorded ? committer_.graphs() : Graphs{};
  call(ReadBlobs{slot, shard, std::make_shared<Work>(std::move(work)), std::move(graphs), &executor_.handlers(),
                 records_});
}

void Session::run_work(Ticket slot, Work work) {
  Flight& flight = flights_.at(slot);
  if (work.handler != nullptr && work.handler->is_pure()) return finished(slot, Executor::run_pure(work));
  const std::int64_t timeout_ms = work.timeout_ms > 0 ? work.timeout_ms : options_.default_timeout_ms;
  if (timeout_ms > 0) {
    flight.deadline = flight.started_at + timeout_ms * 1000;
    deadlines_.emplace(flight.deadline, slot);
  }
  flight.is_running = true;
  actions_.effects.push_back({slot, std::move(work)});
}

void Session::ended(Ticket slot, StepResult result) {
  const auto found = flights_.find(slot);
  if (found == flights_.end() || !found->second.is_running) return;  // too late: it has been reported otherwise
  finished(slot, std::move(result));
}

void Session::finished(Ticket slot, StepResult result) {
  Flight& flight = flights_.at(slot);
  flight.is_running = false;
  if (flight.deadline != never_us) deadlines_.erase({flight.deadline, slot});
  std::vector<Blob> blobs;
  Command command = executor_.report(flight.job.job, flight.started_at, std::move(result), *flight.graph, blobs);
  if (blobs.empty()) return submit(slot, std::move(command));
  call(KeepBlobs{slot, shard_of(flight.job.run, origin_.shards), std::move(blobs), std::move(command)});
}

void Session::submit(Ticket slot, Command command) {
  const auto found = flights_.find(slot);
  if (found == flights_.end()) return;
  const HeldJob& job = found->second.job;
  committer_.submit({.ticket = slot,
                     .run = job.run,
                     .command = std::move(command),
                     .fence = Fence{job.job.branch, job.session, job.epoch, job.job.step},
                     .keep_in = pool_.may_keep(slot) ? job.job.queue : ""});
}

// Steps past their time fail; what they still bring is dropped.
void Session::expire() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_) {
    const Ticket slot = deadlines_.begin()->second;
    const Flight& flight = flights_.at(slot);
    const std::int64_t after_ms = (flight.deadline - flight.started_at) / 1000;
    actions_.cancelled.push_back(slot);
    finished(slot, Failure{"timeout", "Expected an outcome within " + std::to_string(after_ms) + " ms.", true, {}});
  }
  if (!pool_.is_draining() || steady_ < drain_until_) return;
  std::vector<Ticket> running;
  for (const auto& [slot, flight] : flights_)
    if (flight.is_running) running.push_back(slot);
  for (const Ticket slot : running) let_go(slot, now_);
}

// --- answers of the store -------------------------------------------------------------------------------------------

struct Session::Answering {
  Session& self;
  StoreAnswer& answer;

  template <class Answer>
  Answer& got() const {
    return std::get<Answer>(answer);
  }
  void operator()(const OpenSession&) const { self.came(got<SessionOpened>()); }
  void operator()(const CloseSession&) const { self.is_closed_ = true; }
  void operator()(const ReadGraphs&) const {
    self.learn(got<std::vector<GraphRow>>());
    self.introduce_again();
  }
  void operator()(const ReadHistories&) const { self.came(std::move(got<HistoriesRead>())); }
  void operator()(const Commit& call) const {
    self.committer_.verdicts(call.batch.batch, std::move(got<std::vector<Verdict>>()));
  }
  void operator()(const PutSnapshot&) const {}
  void operator()(const ClaimRequest& call) const { self.came(call.shard, std::move(got<ClaimedBatch>())); }
  void operator()(const LetGo&) const {}
  void operator()(const ReadBlobs& call) const {
    if (self.flights_.contains(call.slot)) self.run_work(call.slot, std::move(*call.work));
  }
  void operator()(const KeepBlobs& call) const { self.submit(call.slot, call.command); }
  void operator()(const LookAround&) const { self.came(got<Seen>()); }
  void operator()(const Bury&) const { self.lose(got<std::vector<HeldJob>>(), "Its worker died."); }
};

struct Session::Failing {
  Session& self;

  void operator()(const OpenSession&) const {
    self.is_opening_ = false;
    self.said_queues_ = 0;
    self.open_at_ = self.steady_ + open_pause_us * std::min(self.openings_, open_pauses_max);
  }
  void operator()(const CloseSession&) const { self.is_closed_ = true; }  // the others see it standing still
  void operator()(const ReadGraphs&) const {}
  void operator()(const ReadHistories& call) const {
    for (const Load& load : call.loads) self.committer_.load_failed(load.run);
  }
  void operator()(const Commit& call) const { self.committer_.batch_failed(call.batch.batch); }
  void operator()(const PutSnapshot&) const {}
  void operator()(const ClaimRequest& call) const { self.pool_.claim_failed(call.shard); }
  void operator()(const LetGo& call) const {
    if (!self.pool_.is_draining()) self.call(call);
  }
  void operator()(const ReadBlobs& call) const { self.let_go(call.slot, self.now_ + refused_pause_us); }
  void operator()(const KeepBlobs& call) const { self.let_go(call.slot, self.now_ + refused_pause_us); }
  void operator()(const LookAround&) const {
    self.is_sweeping_ = false;
    self.next_sweep_ = self.steady_ + second_us;
  }
  void operator()(const Bury&) const {}
};

void Session::answered(const StoreCall& call, StoreAnswer answer) {
  --under_way_;
  std::visit(Answering{*this, answer}, call);
}

void Session::failed(const StoreCall& call) {
  --under_way_;
  std::visit(Failing{*this}, call);
}

void Session::came(const SessionOpened& opened) {
  is_opening_ = false;
  is_open_ = true;
  clock_.observe(opened.database_us, opened.steady_us, opened.steady_us);
  now_ = clock_.now(steady_);
  learn(opened.graphs);
  learn(opened.queue_settings);
  introduce_again();
}

void Session::came(HistoriesRead read) {
  if (!read.graphs.empty()) learn(read.graphs);
  for (History& history : read.histories) committer_.history(std::move(history));
}

void Session::came(Shard shard, ClaimedBatch claimed) {
  pool_.claimed(shard, std::move(claimed.jobs));
  for (ShortHistory& young : claimed.histories)
    young_.insert_or_assign(young.run, History{.run = young.run, .snapshot = {}, .rows = std::move(young.events)});
  if (!options_.only_runs.empty() && pool_.finds_nothing()) find_children();
}

void Session::came(const Seen& seen) {
  is_sweeping_ = false;
  next_sweep_ = steady_ + std::clamp<TimeUs>(options_.dead_after_ms * 1000 / 5, 20'000, 2 * second_us);
  clock_.observe(seen.database_us, seen.steady_us, seen.steady_us);
  learn(seen.queue_settings);
  if (seen.jobs_took_us > 0) looked_at_jobs(seen.jobs_took_us);
  std::vector<Sweeper::Executing> executing;
  executing.reserve(flights_.size());
  for (const auto& [slot, flight] : flights_)
    executing.push_back(
        {slot, {flight.job.run, flight.job.job.branch, flight.job.epoch}, flight.is_running, flight.started_at});
  Sweeper::Findings found = sweeper_.seen(seen, executing, steady_);
  for (const Ticket slot : found.stopped) {
    land(slot);
    pool_.done(slot);
  }
  if (!found.releases.empty()) release(std::move(found.releases));
  if (pool_.is_draining()) return;
  for (const SessionId dead : found.dead) call(Bury{dead});
  lose(seen.held.overdue, "Its worker did not report in time.");
  lose(seen.held.unowned, "Its worker is gone.");
  cancel_orphans(seen.orphans);
  if (!found.is_forgotten) return;
  note(Note::Level::warning,
       "Session " + std::to_string(id()) + " was declared dead while it lives; opening it again.");
  introduce();
}

// Twice in a row it has to be dear: one look may have waited for something else.
void Session::looked_at_jobs(TimeUs took_us) {
  const TimeUs usual = std::min(std::exchange(jobs_took_us_, took_us), took_us);
  next_jobs_look_ = steady_ + std::min(jobs_look_share * usual, jobs_look_pause_max_us);
}

// --- errands --------------------------------------------------------------------------------------------------------

Ticket Session::errand(Errand::Kind kind, const RunId& run, const Fence& fence) {
  errands_.emplace(++last_errand_, Errand{kind, run, fence});
  return last_errand_;
}

void Session::errand_done(const Errand& errand, const Reply& reply) {
  switch (errand.kind) {
    case Errand::Kind::orphan:
      return sweeper_.settled({errand.run, 0, 0});
    case Errand::Kind::child_look:
      return child_looked(errand.run);
    case Errand::Kind::loss:
      sweeper_.settled({errand.run, errand.fence.branch, errand.fence.epoch});
      lost_swept_ += reply.refused ? 0 : 1;
      if (!reply.refused || reply.refused->code == Code::stale) return;
      return release({{errand.run, errand.fence, now_ + broken_pause_us}});  // a run that cannot be read
  }
}

void Session::lose(const std::vector<HeldJob>& jobs, const std::string& says) {
  Sweeper::Lost lost = sweeper_.lose(jobs, says, now_);
  for (Loss& loss : lost.losses) {
    const Ticket ticket = errand(Errand::Kind::loss, loss.run, loss.fence);
    committer_.submit({.ticket = ticket, .run = loss.run, .command = *std::move(loss.command), .fence = loss.fence});
  }
  if (!lost.timers.empty()) release(std::move(lost.timers));
}

void Session::cancel_orphans(const std::vector<RunId>& orphans) {
  for (const RunId& run : orphans)
    if (sweeper_.orphan(run))
      committer_.submit({.ticket = errand(Errand::Kind::orphan, run),
                         .run = run,
                         .command = Cancel{"The run that called it has ended."}});
}

// Runs that ours had called before this session began are ours too.
void Session::find_children() {
  if (steady_ < next_children_ || pool_.is_draining()) return;
  next_children_ = steady_ + children_every_us;
  for (std::size_t n = 0; n < std::min(children_looks, options_.only_runs.size()); ++n) {
    const RunId run = options_.only_runs[next_child_look_++ % options_.only_runs.size()];
    committer_.look(errand(Errand::Kind::child_look, run), run, 0);
  }
}

void Session::child_looked(const RunId& run) {
  const RunState* state = committer_.state(run);
  if (state == nullptr || is_ended(state->status)) return;
  for (const auto& [id, step] : state->steps) {
    if (step.child.is_nil()) continue;
    if (!pool_.executes(step.child)) options_.only_runs.push_back(step.child);
    pool_.add_run(step.child);
  }
}

}  // namespace cairn
