#include "workers/runs/committer_records.hpp"
#include "workers/runs/executor.hpp"

namespace cairn {
namespace {

constexpr std::size_t entry_bytes_max = 512u << 20;  // a parameter of PostgreSQL may have twice as many

Error too_large(const RunId& run, std::size_t bytes) {
  return {Code::corrupt, "Expected one commit to add at most " + std::to_string(entry_bytes_max) + " bytes to run " +
                             to_string(run) + ", but it would add " + std::to_string(bytes) + "."};
}

// False: the fence names a step that is open in another branch.
bool is_of_branch(const RunState& state, const Fence& fence) {
  const Step* step = find_step(state, fence.step);
  return step == nullptr || step->branch == fence.branch;
}

}  // namespace

bool CommitterActions::empty() const {
  return loads.empty() && commits.empty() && locked_commits.empty() && snapshots.empty() && replies.empty() &&
         created_held.empty() && children.empty() && offered.empty() && gone_back.empty();
}

Committer::Committer(CommitterOptions options, Graphs graphs)
    : Committer(options, GraphShelf(std::move(graphs), options.graphs_bytes_max)) {}
Committer::Committer(CommitterOptions options, GraphShelf shelf)
    : options_(std::move(options)),
      shelf_(std::move(shelf)),
      keep_rules_(options_.keep, options_.default_timeout_ms),
      runs_(options_.runs_max, options_.states_bytes_max),
      gathered_(static_cast<std::size_t>(options_.shards)),
      to_lock_(static_cast<std::size_t>(options_.shards)) {}
Committer::~Committer() = default;

void Committer::tick(TimeUs steady_us, TimeUs database_us) {
  now_ = std::max(now_, steady_us);
  database_ = database_us;
  keep_rules_.tick(database_);
}

// --- runs -----------------------------------------------------------------------------------------------------------

const RunState* Committer::state(const RunId& id) const {
  const CachedRun* run = runs_.find(id);
  return run != nullptr && run->loaded && run->state.seq > 0 ? &run->state : nullptr;
}

CommitterCounts Committer::counts() const {
  CommitterCounts counts = counts_;
  counts.forgotten = runs_.forgotten();
  return counts;
}

void Committer::enqueue(CachedRun& run, RunTask task) {
  task.serial = ++serial_;
  run.waiting.push_back(std::move(task));
  ++waiting_;
}

// Pairs with enqueue(): `waiting_` is the sum over all runs, and no run has more tasks than all have.
RunTask Committer::take_first(CachedRun& run) {
  CHECK(!run.waiting.empty() && waiting_ >= static_cast<std::int64_t>(run.waiting.size()));
  RunTask task = std::move(run.waiting.front());
  run.waiting.pop_front();
  --waiting_;
  return task;
}

void Committer::submit(Submission submission) {
  CachedRun& run = runs_.use(submission.run);
  RunTask task;
  task.what = std::move(submission);
  enqueue(run, std::move(task));
  process(run);
}

void Committer::await_state(Ticket ticket, const RunId& id, std::int64_t min_head) {
  CachedRun& run = runs_.use(id);
  if (run.loaded && run.head > 0 && run.head >= min_head) {
    runs_.keep_for_a_drain(run);
    ++counts_.hits;
    actions_.replies.push_back({.ticket = ticket, .status = {}, .is_state = true, .head = run.head, .next = {}});
    return;
  }
  RunTask task;
  task.kind = RunTask::Kind::await_state;
  task.what.ticket = ticket;
  task.min_head = min_head;
  enqueue(run, std::move(task));
  process(run);
}

void Committer::finish_call(Ticket ticket, const RunId& child) {
  CachedRun& run = runs_.use(child);
  RunTask task;
  task.kind = RunTask::Kind::notify_caller;
  task.what.ticket = ticket;
  enqueue(run, std::move(task));
  process(run);
}

void Committer::reply(const RunTask& task, const CachedRun& run, Status status) {
  if (task.what.ticket == 0) return;
  actions_.replies.push_back({.ticket = task.what.ticket,
                              .status = std::move(status),
                              .is_state = task.kind == RunTask::Kind::await_state,
                              .head = run.head,
                              .next = {}});
}

// --- deciding -------------------------------------------------------------------------------------------------------

// REQUIRES: nothing of `run` is used afterwards; it may be forgotten.
void Committer::process(CachedRun& run) {
  if (run.processing || now_ < run.not_before) return;
  if (run.conflicts >= conflicts_max) return give_up(run);
  run.processing = true;
  while (!run.waiting.empty() && process_front(run)) {
  }
  run.processing = false;
  if (!run.is_busy() && (run.head == 0 || is_ended(run.state.status))) runs_.forget(run);
}

// True if the next in line may be tried.
bool Committer::process_front(CachedRun& run) {
  if (run.at == CachedRun::At::loading || run.at == CachedRun::At::under_way) return false;
  const RunTask& task = run.waiting.front();
  if (run.at == CachedRun::At::idle && (run.wants_names || (!run.loaded && !task.begins()))) {
    load(run, true, run.wants_names);
    return false;
  }
  run.loaded = true;  // a new run has no history to read; if its id is taken after all, the commit is a conflict
  if (task.kind == RunTask::Kind::await_state) return answer_front(run);
  if (task.kind == RunTask::Kind::notify_caller) return notify_caller(run);
  if (run.at == CachedRun::At::idle && !run.is_locked && has_rivals(run)) await_lock(run);
  if (run.at == CachedRun::At::to_lock) return false;
  // Nothing joins an entry that ends its run: whatever comes then is decided on the committed end. Nor a large one.
  const bool is_full = run.at == CachedRun::At::gathered && run.entry->bytes() >= options_.batch_bytes_max;
  if (run.at == CachedRun::At::gathered && (is_full || run.one_by_one || is_ended(run.state.status))) return false;
  // The store compares the fence with the branch's row: one that came along with another would not be compared at all.
  if (run.entry && task.what.fence && !run.entry->takes(*task.what.fence)) return false;
  return decide_front(run);
}

bool Committer::answer_front(CachedRun& run) {
  const RunTask& task = run.waiting.front();
  const bool seen = run.head >= task.min_head || run.fresh > task.serial;
  if (!seen && run.at == CachedRun::At::idle) load(run, true, false);
  if (!seen) return false;
  reply(task, run, {});
  runs_.keep_for_a_drain(run);
  (void)take_first(run);
  return true;
}

// The decision refuses an end that the caller's history has already.
bool Committer::notify_caller(CachedRun& run) {
  if (run.at != CachedRun::At::idle) return false;
  const RunTask task = take_first(run);
  if (std::optional<ParentNotice> notice = parent_notice(run.state))
    submit({.ticket = task.what.ticket, .run = notice->parent, .command = std::move(notice->command)});
  else
    reply(task, run, {});
  return true;
}

Context Committer::context_for(const CachedRun& run) {
  Context context;
  context.now_us = std::max(database_, run.state.last_at);  // a history's times never decrease, whatever the clock does
  context.actor = options_.actor;
  context.id_base = options_.new_id();
  // The last two bytes make the shard: a child run lies in its parent's.
  std::copy(run.id.bytes.begin() + 14, run.id.bytes.end(), context.id_base.bytes.begin() + 14);
  context.draw = options_.draw();
  context.tools = options_.tools;
  return context;
}

bool Committer::decide_front(CachedRun& run) {
  run.decided.push_back(take_first(run));
  try {
    return decide_last(run);
  } catch (const std::bad_alloc&) {
    scrap(run, no_memory());
    return false;
  } catch (const std::exception& bad) {  // CorruptHistory: the state may be half evolved
    scrap(run, {Code::corrupt, bad.what()});
    return false;
  }
}

bool Committer::decide_last(CachedRun& run) {
  const RunTask::Kind kind = run.decided.back().kind;
  const bool tells_caller = !run.decided.back().what.caller_has_ended;
  const std::optional<Fence> fence = run.decided.back().what.fence;
  const std::optional<std::string> keep_in = run.decided.back().what.keep_in;
  const BranchId last_branch = run.state.last_branch;
  if (fence && !is_of_branch(run.state, *fence))
    return refuse_last(run, {Code::stale, "Expected a hold of the step's own branch, but it is of another one."});
  // Before deciding: a join removes the branches that it ends.
  std::vector<BranchId> above = fence ? branches_above(run.state, fence->branch) : std::vector<BranchId>();
  Result<Decision> decision = decide(run.state, run.decided.back().what.command, context_for(run), graphs());
  if (!decision) return refuse_last(run, decision.error());
  if (is_short_of_graph(run, *decision)) {
    decide_with_names(run);
    return false;
  }
  gather(run, last_branch);
  if (fence) run.entry->fence({*fence, keep_in, std::move(above)});
  absorb(run, *std::move(decision));
  if (kind == RunTask::Kind::notice) {
    const RunTask notice = std::move(run.decided.back());
    run.decided.pop_back();  // decided again when the called run's end is
    free_child(notice);
    const RunId child = std::get<FinishChild>(notice.what.command).child;
    CachedRun* const called = runs_.find(child);
    CHECK(called != nullptr && called->entry);  // pairs with notify_parent(): its end is in an entry that waits for us
    link(run, *called);
    if (is_ended(run.state.status)) run.ended_by = child;
  }
  const bool may_fuse = options_.pure_steps != nullptr && !run.one_by_one;
  if (fence && fence->session == options_.session && may_fuse && !fuse(run, fence->branch, keep_in)) {
    decide_with_names(run);
    return false;
  }
  if (is_ended(run.state.status) && tells_caller) notify_parent(run);
  if (kind != RunTask::Kind::notice && run.entry && run.entry->bytes() > entry_bytes_max) {
    scrap(run, too_large(run.id, run.entry->bytes()));
    return false;
  }
  return true;
}

// A refusal stands only when the state is known to be no older than the command.
bool Committer::refuse_last(CachedRun& run, const Error& error) {
  RunTask task = std::move(run.decided.back());
  run.decided.pop_back();
  const bool is_known = run.at == CachedRun::At::idle && (run.fresh > task.serial || task.begins());
  if (!is_known) {
    run.waiting.push_front(std::move(task));  // it keeps its serial: only what was asked for after it refuses it
    ++waiting_;
    if (run.at == CachedRun::At::idle) load(run, true, false);
    return false;
  }
  if (task.kind == RunTask::Kind::notice) {
    free_child(task);
  } else {
    reply(task, run, error);
  }
  return true;
}

// A graph that is called may have been added after the names were read here.
bool Committer::is_short_of_graph(const CachedRun& run, const Decision& decision) {
  return !decision.lacks_graph.empty() && !run.has_names;
}

// The names are read again, then the run, and all that was gathered with the last command is decided again.
void Committer::decide_with_names(CachedRun& run) {
  run.wants_names = true;
  if (!run.decided.empty() && run.decided.back().kind == RunTask::Kind::notice) {
    run.waiting.push_front(std::move(run.decided.back()));  // where it goes if the called run's end is taken back
    ++waiting_;
    run.decided.pop_back();
  }
  take_back_group(run);
}

// The command that could not be decided is refused; what was gathered with it is decided again.
void Committer::scrap(CachedRun& run, const Error& error) {
  const RunTask culprit = std::move(run.decided.back());
  run.decided.pop_back();
  refuse(culprit, run, error);
  if (run.at != CachedRun::At::idle) return take_back_group(run);
  run.drop_state();
  again_.push_back(run.id);  // for the tasks that wait after it
}

void Committer::gather(CachedRun& run, BranchId last_branch) {
  CHECK(run.entry.has_value() == (run.at == CachedRun::At::gathered));  // pairs with add_to_batch()
  if (run.entry) return;
  run.entry.emplace(run.id, run.head, run.chain, last_branch);
  run.at = CachedRun::At::gathered;
  gathered_[static_cast<std::size_t>(shard_of(run.id, options_.shards))].push_back(&run);
}

void Committer::absorb(CachedRun& run, Decision decision) {
  // Pairs with EntryBuilder::build(), which counts them all again.
  CHECK(decision.events.empty() || decision.events.back().seq == run.state.seq);
  run.entry->add(std::move(decision.events), decision.touched);
  for (Decision::Child& child : decision.children) start_child(run, std::move(child));
}

// Consecutive pure steps of a branch go into the same entry; what follows is the same history as without. False: the
// names must be read before it stands.
bool Committer::fuse(CachedRun& run, BranchId branch, const std::optional<std::string>& keep_in) {
  for (int steps = 1; steps < options_.fuse_steps; ++steps) {
    const std::optional<Job> job = job_of(run.state, branch);
    if (!job || !keep_rules_.may_execute(*job, keep_in)) return true;
    const std::optional<Command> command =
        options_.pure_steps->pure_report(run.state, *job, std::max(database_, run.state.last_at));
    // Reported by itself, it waits until the session knows the tools of the others as they are now.
    if (!command || (options_.tools != nullptr && plans_with_unknown_tool(*command, *options_.tools))) return true;
    ++counts_.fused;
    Result<Decision> decision = decide(run.state, *command, context_for(run), graphs());
    if (!decision) return true;
    if (is_short_of_graph(run, *decision)) return false;
    absorb(run, *std::move(decision));
  }
  return true;
}

// --- runs that call runs --------------------------------------------------------------------------------------------

void Committer::start_child(CachedRun& caller, Decision::Child child) {
  CachedRun& run = runs_.use(child.state.id);
  run.state = std::move(child.state);
  run.loaded = true;
  gather(run, 0);
  run.entry->add(std::move(child.events), child.touched);
  link(caller, run);
}

void Committer::notify_parent(CachedRun& child) {
  std::optional<ParentNotice> notice = parent_notice(child.state);
  if (!notice) return;
  child.awaits_parent = true;  // before the parent is processed: that may free it at once
  RunTask task;
  task.kind = RunTask::Kind::notice;
  task.what.run = notice->parent;
  task.what.command = std::move(notice->command);
  CachedRun& parent = runs_.use(notice->parent);
  enqueue(parent, std::move(task));
  process(parent);
}

void Committer::free_child(const RunTask& notice) {
  CachedRun* child = runs_.find(std::get<FinishChild>(notice.what.command).child);
  if (child != nullptr) child->awaits_parent = false;
}

// The caller cannot be read here, so that the called run's end waits: it would leave the caller waiting for ever. The
// task that ended it is decided again alone, so that what went before it passes, and then refused. (A run that was
// ended by the end of one it had called itself waits with that one.)
void Committer::hold_up_child(const RunTask& notice, const Error& error) {
  CachedRun* child = runs_.find(std::get<FinishChild>(notice.what.command).child);
  if (child == nullptr || !child->awaits_parent) return;
  CachedRun* ender = child;
  while (!ender->ended_by.is_nil()) {
    ender = runs_.find(ender->ended_by);
    CHECK(ender != nullptr);  // pairs with decide_last(): both are in one group, and stay until its verdict
  }
  if (std::exchange(ender->one_by_one, true) && !ender->decided.empty()) {
    const RunTask culprit = std::move(ender->decided.back());
    ender->decided.pop_back();
    reply(culprit, *ender,
          Error{Code::unsupported, "Expected to end run " + to_string(child->id) + " together with run " +
                                       to_string(notice.what.run) +
                                       ", which called it, but that one cannot be read here: " + error.message});
  }
  take_back_group(*child);
}

// The entries of a group share one verdict, so joining two runs joins all members of their groups.
void Committer::link(CachedRun& one, CachedRun& other) {
  if (one.group != 0 && one.group == other.group) return;
  for (CachedRun* run : {&one, &other}) {
    if (run->group != 0) continue;
    run->group = ++last_group_;
    groups_[run->group] = {run};
  }
  auto joined = groups_.extract(other.group);
  CHECK(!joined.empty());  // pairs with leaving_with(): a run that names a group is in it
  const std::vector<CachedRun*> joining = std::move(joined.mapped());
  std::vector<CachedRun*>& members = groups_.at(one.group);
  for (CachedRun* run : joining) {
    run->group = one.group;
    members.push_back(run);
  }
}

bool Committer::idle() const {
  return waiting_ == 0 && batches_.empty() && again_.empty() && actions_.empty() &&
         std::all_of(gathered_.begin(), gathered_.end(), [](const auto& queue) { return queue.empty(); }) &&
         std::all_of(to_lock_.begin(), to_lock_.end(), [](const auto& queue) { return queue.empty(); });
}

TimeUs Committer::unanswered_since_us(Shard shard) const {
  TimeUs since = never_us;
  for (const auto& [id, batch] : batches_)
    if (batch->shard == shard) since = std::min(since, batch->asked_at);
  return since;
}

TimeUs Committer::due_us() const {
  TimeUs due = again_.empty() ? never_us : now_;
  for (const auto& [at, load] : loads_again_) due = std::min(due, at);
  for (const auto& [at, run] : backing_off_) due = std::min(due, at);
  for (const auto& [id, batch] : batches_) due = std::min(due, batch->retry_at);
  for (const std::deque<CachedRun*>& queue : to_lock_)
    for (const CachedRun* run : queue)
      if (run->lock_after > now_) due = std::min(due, run->lock_after);
  return due;
}

}  // namespace cairn
