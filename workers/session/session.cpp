#include "workers/session/session.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace cairn {
namespace {

constexpr TimeUs clocks_differ_us = 2'000;  // the clock of who offers a job may be ahead of ours by this much

constexpr std::int32_t strays_max = 200;
constexpr std::int64_t short_history_events = 16;  // of a run whose history comes with the claim
constexpr TimeUs graphs_every_us = 5'000'000;

PoolOptions pool_options(const SessionOrigin& origin, const WorkerOptions& options) {
  return {.shards = origin.shards,
          .concurrency = std::max(1, options.concurrency),
          .poll_us = options.poll_ms * 1000,
          .keep_steps = options.keep_steps,
          .keep = options.keep,
          .only_runs = options.only_runs};
}

CommitterOptions committer_options(const SessionOrigin& origin, const WorkerOptions& options) {
  CommitterOptions made;
  made.shards = origin.shards;
  made.lanes = std::max(1, options.database_lanes);
  made.fuse_steps = options.fuse_steps;
  made.runs_max = options.runs_max;
  made.states_bytes_max = options.states_bytes_max;
  made.graphs_bytes_max = options.graphs_bytes_max;
  made.snapshot_events = options.snapshot_events;
  made.actor = "worker:" + std::to_string(origin.self.id);
  made.session = origin.self.id;
  made.keep = options.keep;
  made.default_timeout_ms = options.default_timeout_ms;
  made.new_id = origin.new_id;
  made.draw = origin.draw;
  made.new_commit = origin.new_commit;
  return made;
}

CommitterOptions with_handlers(CommitterOptions options, const Executor& executor, const ToolTable& tools) {
  options.pure_steps = &executor;
  options.tools = &tools;
  return options;
}

}  // namespace

Session::Session(SessionOrigin origin, WorkerOptions options, const Executor& executor, const ToolTable& tools)
    : origin_(std::move(origin)),
      options_(std::move(options)),
      tools_(tools),
      queues_(options_.queues, origin_.shards),
      others_(origin_.self.id, tools),
      pool_(pool_options(origin_, options_)),
      steps_(executor,
             {origin_.self.id, origin_.shards, options_.default_timeout_ms,
              static_cast<std::size_t>(std::max<std::int64_t>(1, options_.values_bytes_max))},
             actions_),
      committer_(with_handlers(committer_options(origin_, options_), executor, others_.known_tools())),
      sweeping_({origin_.self.id, options_.dead_after_ms * 1000, options_.default_timeout_ms,
                 2 * options_.concurrency + strays_max}),
      crowd_(origin_.self.id) {}

// --- time -----------------------------------------------------------------------------------------------------------

void Session::tick(TimeUs steady_us) {
  steady_ = std::max(steady_, steady_us);  // threads read the clock before they come here, in any order
  lifecycle_.tick(steady_);
  if (lifecycle_.begin_opening()) write_row();
  if (!lifecycle_.is_open()) return;
  tick_parts();
  steps_.expire();
  if (lifecycle_.is_drain_over()) steps_.stop_running();
  dispatch_steps();
  if (is_sweeping()) sweeping_.scan_if_due(is_idle());
  dispatch_sweeps();
  read_graphs_if_due();
}

void Session::tick_parts() {
  now_ = clock_.now(steady_);
  committer_.tick(steady_, now_);
  pool_.tick(steady_, now_);
  steps_.tick(steady_, now_);
  paced_.tick(steady_);
  sweeping_.tick(steady_, now_);
}

void Session::notified() {
  queues_.turns().notified();
  pool_.notified();
}

void Session::keeps(std::set<RunId> runs) {
  const std::set<RunId> before = std::exchange(home_of_, std::move(runs));
  for (const RunId& run : before)
    if (!home_of_.contains(run)) set_home(run, false);
  for (const RunId& run : home_of_)
    if (!before.contains(run)) set_home(run, true);
}

void Session::set_home(const RunId& run, bool is_home) {
  if (options_.only_runs.empty()) is_home ? pool_.add_home(run) : pool_.remove_home(run);
  if (lifecycle_.is_open()) call(SetHome{id(), run, is_home});
}

void Session::drain() {
  lifecycle_.drain();
  pool_.drain();
  steps_.drain();
  update_capacity();
}

void Session::hurry() {
  drain();
  lifecycle_.hurry();
}

SessionActions Session::drain_actions() {
  dispatch_holds();
  ask_for_others();
  short_histories_.clear();  // as old as their claim: a later load reads the store
  close_when_idle();
  under_way_ += static_cast<std::int64_t>(actions_.calls.size());
  if (!actions_.calls.empty()) lifecycle_.asked();
  return std::exchange(actions_, {});
}

TimeUs Session::due_us() const {
  if (!lifecycle_.is_open()) return lifecycle_.due_us();
  TimeUs due = std::min({committer_.due_us(), pool_.due_us(), steps_.due_us()});
  if (is_sweeping()) due = std::min(due, sweeping_.due_us(is_idle()));
  if (may_ask_for_others()) due = std::min(due, queues_.turns().ask_due_us(ask_pause_us()));
  return std::min(due, lifecycle_.is_draining() ? lifecycle_.due_us() : next_graphs_);
}

WorkerReport Session::report() const {
  const CommitterCounts& counts = committer_.counts();
  return {.steps = steps_.begun() + counts.fused,
          .commits = counts.batches,
          .conflicts = counts.conflicts,
          .stale = steps_.late(),
          .lost_swept = sweeping_.lost(),
          .forgotten = counts.forgotten,
          .fused = counts.fused,
          .state_hits = counts.hits,
          .holds = static_cast<std::int64_t>(pool_.held()),
          .states = static_cast<std::int64_t>(committer_.states()),
          .states_bytes = committer_.states_bytes(),
          .refusal = refusal_};
}

void Session::learn(const std::vector<SessionRow>& sessions, TimeUs scanned_at) {
  others_.seen(sessions, queues_.served(), scanned_at);
  steps_.set_elsewhere(others_.have_over_http());
  for (StepsInFlight::Report& report : unknown_tools_.after_scan(others_.scanned_at(), steps_))
    submit(std::move(report));
}

// --- opening and learning -------------------------------------------------------------------------------------------

void Session::write_row() {
  if (!own_row_.begin_writing(queues_.served().size())) return;
  SessionRow row = origin_.self;
  row.alone = steps_.alone();
  row.begun = steps_.said_begun();
  row.queues.assign(queues_.served().begin(), queues_.served().end());
  call(OpenSession{std::move(row), known_graphs_, options_.queues.empty()});
}

// Operators see by its row what it serves, and so why a step does not move.
void Session::write_row_if_changed() {
  const bool is_open = lifecycle_.state() == SessionLifecycle::State::open;
  if (is_open && !own_row_.has(queues_.served().size())) write_row();
}

void Session::close_when_idle() {
  if (lifecycle_.state() != SessionLifecycle::State::draining) return;
  const bool is_idle = pool_.is_idle() && committer_.idle() && under_way_ == 0 && actions_.calls.empty();
  // A session that is refused does not wait: with its row it leaves all that it holds to others.
  if (lifecycle_.begin_closing(is_idle || !refusal_.empty())) call(CloseSession{id()});
}

void Session::read_graphs_if_due() {
  if (steady_ < next_graphs_ || lifecycle_.is_draining()) return;
  next_graphs_ = steady_ + graphs_every_us;
  if (!after_names_.is_reading()) read_graphs();
}

void Session::read_graphs() {
  after_names_.began();
  call(ReadGraphs{known_graphs_, options_.queues.empty()});
}

void Session::observe_clock(TimeUs database_us, TimeUs steady_us) {
  const TimeUs moved = clock_.observe(database_us, steady_us, steady_us);
  if (moved == 0) return;
  sweeping_.clock_was_set();
  note(Note::Level::warning,
       "The database's clock was set " + std::string(moved > 0 ? "forward" : "back") + " by " +
           std::to_string(std::abs(moved) / 1'000'000) +
           " s. What waits here goes on; timers and retries begun meanwhile are off by that much.");
}

void Session::learn(const ReadGraphsOf& read, bool are_current) {
  for (const std::string& fault : read.faults) note(Note::Level::warning, fault);
  for (const GraphRef& graph : read.graphs) committer_.add_graph(graph, are_current);
  if (!are_current) return;
  if (options_.queues.empty()) {
    queues_.serve({read.queues.begin(), read.queues.end()});
    queues_.serve({"default", std::string(timer_queue)});
    for (const auto& [name, tool] : tools_) queues_.serve({tool.queue});
  }
  queues_changed();
}

void Session::learn(const std::vector<QueueLimits>& limits) {
  if (!queues_.learn(limits, steady_)) return;
  pool_.something_ready();  // a limit that is gone frees jobs without a commit, so without a notification
  queues_changed();
}

void Session::queues_changed() {
  ServedQueues served = queues_.served_queues();
  paced_.set_queues(served);
  committer_.set_queues(std::move(served));
}

void Session::call(StoreCall call) { actions_.calls.push_back(std::move(call)); }

void Session::note(Note::Level level, std::string text) { actions_.notes.push_back({level, std::move(text), nullptr}); }

// --- joining the parts ----------------------------------------------------------------------------------------------

void Session::update_capacity() {
  const bool is_accepting = !lifecycle_.is_draining() && !steps_.has_alone();
  committer_.set_capacity({.is_accepting = is_accepting, .free_slots = pool_.free_slots(), .refills = pool_.refills()});
}

// Commits free slots and give steps that go on, which claims must count; claims begin steps, whose states commits load:
// the two take turns until neither has anything for the other.
void Session::dispatch_holds() {
  for (bool is_busy = lifecycle_.is_open(); is_busy;) {
    update_capacity();
    is_busy = dispatch_commits();
    is_busy = dispatch_claims() || is_busy;
  }
}

bool Session::dispatch_commits() {
  CommitterActions actions = committer_.drain_actions();
  if (actions.empty()) return false;
  read(std::move(actions.loads));
  for (const CommitBatch& batch : actions.commits) call(Commit{batch});
  for (LockedCommit& commit : actions.locked_commits) call(CommitLocked{std::move(commit)});
  for (PutSnapshot& one : actions.snapshots) call(KeepSnapshot{std::move(one)});
  for (const GoneBack& one : actions.gone_back) note(Note::Level::warning, to_sentence(one));
  for (const auto& [caller, called] : actions.children)
    if (pool_.executes(caller)) pool_.add_run(called);
  for (const Offered& offered : actions.offered)
    if (queues_.serves(offered.queue)) pool_.due(offered.run_at_us);
  for (HeldJob& job : actions.created_held) pool_.created_held(std::move(job));
  for (Reply& reply : actions.replies) replied(std::move(reply));
  return true;
}

bool Session::dispatch_claims() {
  Pool::Actions actions = pool_.drain_actions();
  if (actions.empty()) return false;
  for (Pool::Claim& one : actions.claims) claim(std::move(one));
  for (Pool::Start& start : actions.starts) begin_or_wait(std::move(start));
  for (TakeStarts& one : paced_.drain_calls()) call(std::move(one));
  for (LetGo& one : calls_of(actions.releases)) call(std::move(one));
  return true;
}

void Session::begin_or_wait(Pool::Start start) {
  if (start.is_kept && queues_.must_be_claimed(start.job.job.queue, pool_.held_us(start.slot), steady_))
    return pool_.give_back(start.slot, now_);
  paced_.must_wait(start) ? paced_.wait(std::move(start)) : begin(std::move(start));
}

void Session::begin(Pool::Start start) {
  CHECK(steps_.job(start.slot) == nullptr);  // two holds in one slot would report with one fence
  const HeldJob& job = steps_.begin(start.slot, std::move(start.job));
  committer_.await_state(start.slot, job.run, job.run_head);
}

void Session::resolve(PacedStarts::Outcome outcome) {
  for (Pool::Start& start : outcome.begin) begin(std::move(start));
  for (const Pool::Start& start : outcome.give_back) pool_.give_back(start.slot, now_);
  for (TakeStarts& one : paced_.drain_calls()) call(std::move(one));
}

void Session::dispatch_steps() {
  steps_.drain_actions(step_actions_);
  for (const StepsInFlight::Ended& one : step_actions_.ended) leave(one);
  for (const RunId& run : step_actions_.room_for) pool_.make_room_for(run);
  for (const RunId& run : step_actions_.doubted) committer_.doubt(run);
  for (const std::string& queue : step_actions_.lacking_in) leave_queue(queue);
  for (const Ticket slot : step_actions_.with_room)
    if (const HeldJob* job = steps_.job(slot)) committer_.await_state(slot, job->run, job->run_head);
  pool_.bar(steps_.has_alone());
  for (StepsInFlight::Report& report : step_actions_.reports) dispatch_report(std::move(report));
}

void Session::dispatch_sweeps() {
  Sweeping::Actions actions = sweeping_.drain_actions();
  for (StoreCall& one : actions.calls) call(std::move(one));
  for (LetGo& one : calls_of(actions.releases)) call(std::move(one));
  for (Submission& one : actions.submissions) committer_.submit(std::move(one));
  for (const auto& [ticket, run] : actions.to_await) committer_.await_state(ticket, run, 0);
  for (const auto& [ticket, run] : actions.to_finish) committer_.finish_call(ticket, run);
  for (const RunId& run : actions.unreadable) pool_.leave_run(run);
  for (const Sweeping::TakenOver& one : actions.taken_over)
    actions_.notes.push_back({Note::Level::info, "A step was lost, and is taken over: " + one.why,
                              fields_of(one, committer_.state(one.run))});
}

void Session::leave(const StepsInFlight::Ended& step) {
  switch (step.how) {
    case StepsInFlight::Ended::How::done:
      return pool_.done(step.slot);
    case StepsInFlight::Ended::How::given_back:
      return pool_.give_back(step.slot, step.run_at_us);
    case StepsInFlight::Ended::How::left_to_others:
      return pool_.leave_to_others(step.slot, step.run_at_us);
    case StepsInFlight::Ended::How::run_left_to_others:
      return pool_.leave_run_to_others(step.slot);
    case StepsInFlight::Ended::How::fell_short:
      return pool_.fell_short(step.slot, step.run_at_us);
  }
}

// Before a plan hears that a tool is unknown, the other sessions are looked at again: one may have come.
void Session::dispatch_report(StepsInFlight::Report report) {
  const HeldJob* held = steps_.job(report.slot);
  CHECK(held != nullptr);
  if (!plans_with_unknown_tool(report.command, others_.known_tools())) return submit(std::move(report));
  unknown_tools_.wait(steady_, *held, std::move(report));
  scan_again();
}

void Session::submit(StepsInFlight::Report report) {
  const HeldJob* held = steps_.job(report.slot);
  CHECK(held != nullptr);
  Submission submission{.ticket = report.slot,
                        .run = held->run,
                        .command = std::move(report.command),
                        .fence = Fence{held->job.branch, held->session, held->epoch, held->job.step}};
  if (pool_.may_keep(report.slot) && may_go_on(report.slot, *held)) submission.keep_in = held->job.queue;
  committer_.submit(std::move(submission));
}

bool Session::may_go_on(Ticket slot, const HeldJob& held) {
  return queues_.may_go_on(held.job.queue,
                           {.shard = shard_of(held.run, origin_.shards),
                            .key = held.key,
                            .held_us = pool_.held_us(slot),
                            .is_short = paced_.is_short(held.job.queue, held.key),
                            .may_miss_home = !home_of_.empty() && !pool_.would_claim()},
                           steady_);
}

// Where slots are free that are worth a claim, that sees who waits.
bool Session::may_ask_for_others() const { return !lifecycle_.is_draining() && !pool_.would_claim(); }

void Session::ask_for_others() {
  if (!may_ask_for_others()) return;
  for (AskForOthers& one : queues_.turns().asks(steady_, ask_pause_us())) {
    one.now_us = now_ + clocks_differ_us;
    call(std::move(one));
  }
}

// The history that a claim brought is not read again, unless more than the run's first events is wanted. Where a graph
// is missing, what it calls may be new as well.
void Session::read(std::vector<Load> loads) {
  std::erase_if(loads, [this](const Load& load) {
    if (load.after_seq != 0 || load.graphs) return false;
    auto claimed = short_histories_.extract(load.run);
    if (claimed) committer_.history(std::move(claimed.mapped()));
    return static_cast<bool>(claimed);
  });
  after_names_.hold(loads);
  if (after_names_.wants_reading()) read_graphs();
  for (ReadHistories& one : calls_of(std::move(loads))) call(std::move(one));
}

// A queue in which this process lacks what a step needs, and which a worker over HTTP serves, is that worker's:
// claiming from it would take its steps away again and again. After a while it is tried again, for the sake of steps of
// ours.
void Session::leave_queue(const std::string& queue) {
  constexpr TimeUs left_us = 10'000'000;
  if (!others_.is_served_over_http(queue)) return scan_again();
  if (queue != "default" && queue != timer_queue) queues_.leave(queue, steady_ + left_us);
}

void Session::claim(Pool::Claim claim) {
  ClaimRequest request;
  request.shard = claim.shard;
  request.queues = queues_.to_claim_from(steady_);
  request.session = id();
  request.limit = claim.limit;
  request.now_us = now_;
  request.default_timeout_ms = options_.default_timeout_ms;
  request.only_runs = std::move(claim.only_runs);
  request.short_history_max = short_history_events;
  request.notified_only = claim.notified_only;
  request.not_of = std::move(claim.not_of);
  claims_asked_.emplace(claim.shard, steady_);
  call(ClaimJobs{.request = std::move(request), .asked_us = steady_});
}

// Steps that wait for a start of their queue are held as well. REQUIRES: what calls have brought is passed on, so that
// each hold is a step's or is still to come.
Sweeper::Ours Session::ours() const {
  Sweeper::Ours ours{steps_.executing(), {}};
  for (const Pool::Start* start : paced_.waiting())
    ours.steps.push_back({start->slot, {start->job.run, start->job.job.branch, start->job.epoch}});
  for (Shard shard = 0; shard < origin_.shards; ++shard) {
    const auto claim = claims_asked_.lower_bound({shard, 0});
    const bool is_claiming = claim != claims_asked_.end() && claim->first == shard;
    const TimeUs claims = is_claiming ? claim->second : never_us;
    ours.unanswered_since.push_back(std::min(claims, committer_.unanswered_since_us(shard)));
  }
  return ours;
}

void Session::replied(Reply reply) {
  const Ticket ticket = reply.ticket;
  if (!Sweeping::is_internal(ticket)) return replied_to_step(ticket, std::move(reply));
  const std::optional<RunId> awaited = sweeping_.replied(reply);
  dispatch_sweeps();
  const RunState* state = awaited ? committer_.state(*awaited) : nullptr;
  if (state == nullptr) return;
  for (const RunId& child : Sweeping::children_of(*state)) {
    if (!pool_.executes(child)) options_.only_runs.push_back(child);
    pool_.add_run(child);
  }
}

void Session::replied_to_step(Ticket slot, Reply reply) {
  const HeldJob* held = steps_.job(slot);
  if (held == nullptr) return;
  if (!reply.is_state && !reply.next && queues_.goes_on(held->job.queue) != GoesOn::open)
    pool_.something_ready();  // one more of its queue may be claimed
  if (reply.is_state && !reply.status) {
    steps_.cannot_be_read(slot, reply.status.error());
  } else if (reply.is_state) {
    steps_.execute(slot, committer_.state(held->run), committer_.graphs());
  } else if (!reply.status) {
    steps_.refused(slot, reply.status.error(), committer_.state(held->run));
  } else {
    pool_.committed(slot);
    steps_.committed(slot);
    reply.next ? pool_.continues(slot, *std::move(reply.next)) : pool_.done(slot);
  }
  dispatch_steps();
}

void Session::ended(Ticket slot, StepResult result) {
  steps_.ended(slot, std::move(result));
  dispatch_steps();
}

void Session::yielded(Ticket slot, const std::string& lacking) {
  steps_.yielded(slot, lacking);
  dispatch_steps();
}

void Session::fell_short(Ticket slot, const std::string& lacking) {
  steps_.fell_short(slot, lacking);
  dispatch_steps();
}

}  // namespace cairn
