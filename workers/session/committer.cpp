#include "workers/session/committer.hpp"

#include <algorithm>
#include <utility>

#include "engine/snapshot.hpp"
#include "storage/chain.hpp"
#include "workers/session/executor.hpp"

namespace cairn {
namespace {

constexpr std::int64_t snapshot_bytes = 1'000'000;
constexpr std::int64_t open_step_bytes = 500;  // what a snapshot needs for an open step, its branch and its sub-goal
constexpr std::size_t entry_bytes_max = 512u << 20;  // a parameter of PostgreSQL may have twice as many
constexpr std::int64_t state_bytes_min = 4'000;      // of memory
constexpr TimeUs again_us = 200'000;
constexpr TimeUs again_max_us = 5'000'000;
constexpr TimeUs conflict_pause_us = 10'000;  // doubled at each conflict without progress
constexpr int conflicts_max = 9;              // after about ten seconds
constexpr TimeUs rivals_us = 2'000'000;       // after the last event of another writer
constexpr TimeUs lock_pause_share = 8;        // of the time that locking and writing took
constexpr TimeUs lock_pause_max_us = 10'000;

std::int64_t bytes_of(std::span<const EventRow> rows) {
  std::int64_t bytes = 0;
  for (const EventRow& row : rows) bytes += static_cast<std::int64_t>(row.payload.size());
  return bytes;
}

bool frees(const JobWrite& write) { return write.op == JobWrite::Op::offer || write.op == JobWrite::Op::adjust; }

bool offers(const std::vector<Entry>& entries, TimeUs now_us) {
  return std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
    return std::any_of(entry.jobs.begin(), entry.jobs.end(),
                       [&](const JobWrite& write) { return frees(write) && write.job.run_at_us <= now_us; });
  });
}

Error too_large(const RunId& run, std::size_t bytes) {
  return {Code::corrupt, "Expected one commit to add at most " + std::to_string(entry_bytes_max) + " bytes to run " +
                             to_string(run) + ", but it would add " + std::to_string(bytes) + "."};
}

bool contains(const std::vector<BranchId>& branches, BranchId branch) {
  return std::find(branches.begin(), branches.end(), branch) != branches.end();
}

}  // namespace

struct Committer::Task {
  enum class Kind : std::uint8_t {
    command,
    await_state,
    notice,       // FinishChild on behalf of a called run whose end is gathered
    tell_caller,  // of a called run whose end was committed without its caller
  };
  Kind kind = Kind::command;
  Submission what;
  std::int64_t min_head = 0;
  std::uint64_t serial = 0;  // a refusal counts only on a state read after this
  int tries = 0;

  bool begins() const { return kind == Kind::command && tries == 0 && std::holds_alternative<StartRun>(what.command); }
};

// First in, first out, with a way back to the front. It keeps its memory, because a run's queue fills and empties at
// every step.
class Committer::TaskQueue {
 public:
  bool empty() const { return begin_ == tasks_.size(); }
  std::size_t size() const { return tasks_.size() - begin_; }
  Task& front() { return tasks_[begin_]; }
  void push_back(Task task) { tasks_.push_back(std::move(task)); }
  void push_front(Task task) {
    if (begin_ > 0) {
      tasks_[--begin_] = std::move(task);
    } else {
      tasks_.insert(tasks_.begin(), std::move(task));
    }
  }
  void pop_front() {
    tasks_[begin_] = Task{};
    if (++begin_ < tasks_.size()) return;
    tasks_.clear();
    begin_ = 0;
  }
  std::vector<Task> drain() {
    tasks_.erase(tasks_.begin(), tasks_.begin() + static_cast<std::ptrdiff_t>(std::exchange(begin_, 0)));
    return std::exchange(tasks_, {});
  }
  template <class Which>
  std::size_t erase_if(Which which) {
    std::vector<Task> tasks = drain();
    const std::size_t erased = std::erase_if(tasks, which);
    tasks_ = std::move(tasks);
    return erased;
  }

 private:
  std::vector<Task> tasks_;
  std::size_t begin_ = 0;
};

struct Committer::Run {
  enum class At : std::uint8_t { idle, loading, gathered, to_lock, under_way };
  RunId id;
  RunState state;
  bool loaded = false;
  At at = At::idle;
  std::int64_t head = 0;  // committed; state.seq is beyond it while an entry is gathered or under way
  Hash chain{};
  JobRows rows;             // at `head`
  std::uint64_t fresh = 0;  // when what is known of the run's head was asked for
  std::uint64_t asked = 0;  // the same of the load or commit that is under way
  TaskQueue waiting;
  std::optional<EntryBuilder> entry;
  std::vector<Task> decided;        // in the entry
  std::uint32_t group = 0;          // entries that share a verdict
  bool awaits_parent = false;       // its end is to be decided on the run that called it before it may leave
  RunId ended_by{};                 // the run that it called, if that one's end ended it; in the entry
  std::int64_t conflict_head = -1;  // the committed head at the last conflict
  int conflicts = 0;                // one after another without a move of that head
  TimeUs not_before = 0;            // when its tasks are decided again
  TimeUs rivals_until = 0;          // others write it, too: it is locked before its tasks are decided
  bool is_locked = false;           // now
  bool has_missed = false;          // its last lock brought events of others along
  TimeUs lock_after = 0;            // until then its tasks gather
  bool one_by_one = false;          // the database refused an entry: its tasks leave alone, so that the others pass
  std::int64_t folded_events = 0;   // since the last snapshot
  std::int64_t folded_bytes = 0;
  std::int64_t snapshot_size = 0;  // of the last one known of
  std::int64_t added_bytes = 0;    // of events, since that snapshot
  std::int64_t measured = 0;       // its part of states_bytes_
  std::uint64_t kept_until = 0;    // the draining of actions after which its state is not read any more
  std::size_t open_steps_max = 0;  // since then: what they were about is in the state, though they have ended
  std::list<Run*>::iterator use;

  bool processing = false;

  bool is_busy() const { return at != At::idle || !waiting.empty() || processing; }
  void drop_state() {
    state = RunState{};
    state.id = id;
    loaded = false;
    head = 0;
    chain = {};
    rows.clear();
    folded_events = folded_bytes = snapshot_size = added_bytes = 0;
    open_steps_max = 0;
  }
};

struct Committer::Batch {
  std::uint64_t id = 0;
  Shard shard = 0;
  std::vector<Entry> entries;
  std::vector<Run*> runs;
  std::size_t bytes = 0;      // of the entries' events
  bool is_undecided = false;  // its runs are to be locked first
  TimeUs locked_at = 0;       // when that was asked for; 0: they are not
  TimeUs retry_at = never_us;
  int failures = 0;
};

// Events that would be read again without a new snapshot.
void Committer::count_folded(Run& run, const std::vector<EventRow>& rows) {
  run.folded_events += static_cast<std::int64_t>(rows.size());
  run.folded_bytes += bytes_of(rows);
}

bool CommitterActions::empty() const {
  return loads.empty() && commits.empty() && locked_commits.empty() && snapshots.empty() && without_snapshots.empty() &&
         replies.empty() && created_held.empty() && children.empty() && offered.empty();
}

Committer::Committer(CommitterOptions options, Graphs graphs)
    : options_(std::move(options)),
      graphs_(std::move(graphs)),
      keep_rules_(options_.keep, options_.default_timeout_ms),
      gathered_(static_cast<std::size_t>(options_.shards)),
      to_lock_(static_cast<std::size_t>(options_.shards)) {}
Committer::~Committer() = default;

void Committer::tick(TimeUs steady_us, TimeUs database_us) {
  now_ = std::max(now_, steady_us);
  database_ = database_us;
  keep_rules_.tick(database_);
}

// --- runs -----------------------------------------------------------------------------------------------------------

Committer::Run* Committer::find(const RunId& id) const {
  const auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : found->second.get();
}

Committer::Run& Committer::run_of(const RunId& id) {
  std::unique_ptr<Run>& slot = runs_[id];
  if (slot != nullptr) {
    by_use_.splice(by_use_.begin(), by_use_, slot->use);
    return *slot;
  }
  slot = std::make_unique<Run>();
  slot->id = slot->state.id = id;
  by_use_.push_front(slot.get());
  slot->use = by_use_.begin();
  Run& made = *slot;
  shrink();
  return made;
}

void Committer::forget(Run& run) {
  CHECK(!run.is_busy());
  states_bytes_ -= run.measured;
  by_use_.erase(run.use);
  runs_.erase(RunId(run.id));
}

// Never the one just used. Busy ones stay, so the bound is exceeded only by what is under way; at most 64 are tried,
// because a cache full of busy runs would otherwise be walked at every use.
void Committer::shrink() {
  auto oldest = by_use_.end();
  const auto is_too_much = [this] {
    return runs_.size() > options_.runs_max || states_bytes_ > options_.states_bytes_max;
  };
  for (int tried = 0; is_too_much() && tried < 64; ++tried) {
    if (oldest == by_use_.begin() || --oldest == by_use_.begin()) return;
    Run& run = **oldest;
    if (run.is_busy() || drains_ <= run.kept_until) continue;
    ++oldest;
    forget(run);
    ++counts_.forgotten;
  }
}

// An estimate: the state is about as large as its last snapshot with the events that followed; parsed values and the
// parts around them take as much again. Exact sizes would cost a walk through the state for every commit.
void Committer::measure(Run& run) {
  const std::int64_t bytes = run.loaded ? state_bytes_min + 2 * (run.snapshot_size + run.added_bytes) : 0;
  states_bytes_ += bytes - std::exchange(run.measured, bytes);
}

const RunState* Committer::state(const RunId& id) const {
  const Run* run = find(id);
  return run != nullptr && run->loaded && run->state.seq > 0 ? &run->state : nullptr;
}

void Committer::enqueue(Run& run, Task task) {
  task.serial = ++serial_;
  run.waiting.push_back(std::move(task));
  ++waiting_;
}

void Committer::submit(Submission submission) {
  Run& run = run_of(submission.run);
  Task task;
  task.what = std::move(submission);
  enqueue(run, std::move(task));
  process(run);
}

void Committer::await_state(Ticket ticket, const RunId& id, std::int64_t min_head) {
  Run& run = run_of(id);
  if (run.loaded && run.head > 0 && run.head >= min_head) {
    run.kept_until = drains_ + 1;
    actions_.replies.push_back({.ticket = ticket, .status = {}, .is_state = true, .head = run.head, .next = {}});
    return;
  }
  Task task;
  task.kind = Task::Kind::await_state;
  task.what.ticket = ticket;
  task.min_head = min_head;
  enqueue(run, std::move(task));
  process(run);
}

void Committer::finish_call(Ticket ticket, const RunId& child) {
  Run& run = run_of(child);
  Task task;
  task.kind = Task::Kind::tell_caller;
  task.what.ticket = ticket;
  enqueue(run, std::move(task));
  process(run);
}

void Committer::reply(const Task& task, const Run& run, Status status) {
  if (task.what.ticket == 0) return;
  actions_.replies.push_back({.ticket = task.what.ticket,
                              .status = std::move(status),
                              .is_state = task.kind == Task::Kind::await_state,
                              .head = run.head,
                              .next = {}});
}

// --- loading --------------------------------------------------------------------------------------------------------

void Committer::load(Run& run, bool snapshot, bool graphs) {
  run.at = Run::At::loading;
  // Now, not when the answer comes: what is read may be older than a task that arrives meanwhile, and a refusal of that
  // task must not rest on it.
  run.asked = ++serial_;
  // The last known event is read again: a server that took over without it, or a restored backup, has another one or
  // none, and then the state is of a history that is no more.
  if (run.state.seq == 1) run.drop_state();
  actions_.loads.push_back({run.id, std::max<std::int64_t>(run.state.seq - 1, 0), snapshot, graphs, false});
}

void Committer::load_anew(Run& run) {
  run.drop_state();
  load(run, true, false);
}

void Committer::doubt(const RunId& id) {
  Run* run = find(id);
  if (run == nullptr || run->at != Run::At::idle) return;
  run->drop_state();
  if (!run->is_busy()) forget(*run);
}

// Whether the rows, read after the state or from its last event on, are of the history that the state was folded from.
bool Committer::continues(const Run& run, std::span<const EventRow> rows, Shard shard) {
  if (run.head == 0 || rows.empty()) return true;
  const EventRow& first = rows.front();
  if (first.seq == run.head) return first.chain_hash == run.chain;
  return first.seq == run.head + 1 && first.chain_hash == chain_next(run.chain, shard, run.id, first);
}

void Committer::load_failed(const RunId& id) {
  Run* run = find(id);
  if (run == nullptr || run->at != Run::At::loading) return;
  loads_again_.push_back({now_ + again_us, {id, std::max<std::int64_t>(run->state.seq - 1, 0), true, false, true}});
}

void Committer::history(History history) {
  Run* run = find(history.run);
  if (run == nullptr || run->at != Run::At::loading) return;
  run->at = Run::At::idle;
  const std::int64_t head_before = run->head;
  // At least the last known event was asked for.
  if (history.fits && run->head > 0 && history.rows.empty()) return load_anew(*run);
  const Status folded = history.fits ? fold(*run, history) : Status(no_memory());
  if (run->at == Run::At::loading) return;
  if (!folded) return fail(*run, folded.error());
  const bool is_new = !run->loaded;
  if (is_new) count_folded(*run, history.rows);
  if (!history.complete) return load(*run, false, false);
  if (is_new || run->head > head_before) note_rivals(*run);
  if (is_new && has_rivals(*run))
    run->folded_events = run->folded_bytes = 0;  // their snapshot is their writers' affair
  run->loaded = true;
  run->fresh = run->asked;
  measure(*run);
  if (run->head == 0 && !run->waiting.empty() && !std::holds_alternative<StartRun>(run->waiting.front().what.command))
    return fail(*run, no_such_run(to_string(run->id)));
  process(*run);
}

// False if the history cannot be folded now and is read again. Refuses what never will be folded.
Result<bool> Committer::restore(Run& run, const History& history) {
  Result<RunState> restored = restored_state(*history.snapshot, graphs_);
  if (restored) {
    run.state = *std::move(restored);
    run.head = history.snapshot->seq;
    run.chain = history.snapshot->chain_hash;
    run.snapshot_size = static_cast<std::int64_t>(history.snapshot->state.size());
    run.added_bytes = 0;
    run.rows.assign(run.state);
    return true;
  }
  const bool lacks_graph = restored.error().code == Code::unsupported;
  const bool lacks_memory = restored.error().code == Code::limit;
  if ((lacks_graph && history.graphs) || lacks_memory) return restored.error();
  load(run, lacks_graph, lacks_graph);
  return false;
}

// ok: folded, or loading again.
Status Committer::fold(Run& run, const History& history) {
  if (!continues(run, history.rows, shard_of(run.id, options_.shards))) {
    load_anew(run);
    return Done{};
  }
  if (history.snapshot && run.state.seq == 0) {
    const Result<bool> restored = restore(run, history);
    if (!restored) return restored.error();
    if (!*restored) return Done{};
  }
  std::span<const EventRow> rows = history.rows;
  if (!rows.empty() && rows.front().seq == run.head) rows = rows.subspan(1);
  std::vector<BranchId> touched;
  if (const Status folded = fold_rows(run.state, rows, graphs_, touched); !folded) {
    if (folded.error().code != Code::unsupported || history.graphs) return folded.error();
    run.drop_state();
    load(run, true, true);
    return Done{};
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  run.rows.assign(run.state, touched);
  if (!rows.empty()) {
    run.head = rows.back().seq;
    run.chain = rows.back().chain_hash;
  }
  run.added_bytes += bytes_of(rows);
  return Done{};
}

bool Committer::has_rivals(const Run& run) const { return now_ < run.rivals_until; }

// Others have written it, and there is more than one branch for them to go on with.
void Committer::note_rivals(Run& run) {
  if (run.rows.size() > 1) run.rivals_until = now_ + rivals_us;
}

// The run cannot be read: all that waits for it is refused; nothing else is disturbed.
void Committer::fail(Run& run, const Error& error) {
  const std::vector<Task> tasks = run.waiting.drain();
  waiting_ -= static_cast<std::int64_t>(tasks.size());
  run.drop_state();
  for (const Task& task : tasks) refuse(task, run, error);
  if (!run.is_busy()) forget(run);
}

// `run` cannot be read. A called run's end waits for it, unless there is no such run.
void Committer::refuse(const Task& task, const Run& run, const Error& error) {
  if (task.kind != Task::Kind::notice) return reply(task, run, error);
  error.code == Code::not_found ? free_child(task) : hold_up_child(task, error);
}

// --- deciding -------------------------------------------------------------------------------------------------------

// REQUIRES: nothing of `run` is used afterwards; it may be forgotten.
void Committer::process(Run& run) {
  if (run.processing || now_ < run.not_before) return;
  if (run.conflicts >= conflicts_max) return give_up(run);
  run.processing = true;
  while (!run.waiting.empty() && process_front(run)) {
  }
  run.processing = false;
  if (!run.is_busy() && (run.head == 0 || is_ended(run.state.status))) forget(run);
}

// True if the next in line may be tried.
bool Committer::process_front(Run& run) {
  if (run.at == Run::At::loading || run.at == Run::At::under_way) return false;
  const Task& task = run.waiting.front();
  if (!run.loaded && !task.begins()) {
    load(run, true, false);
    return false;
  }
  run.loaded = true;  // a new run has no history to read; if its id is taken after all, the commit is a conflict
  if (task.kind == Task::Kind::await_state) return answer_front(run);
  if (task.kind == Task::Kind::tell_caller) return tell_caller(run);
  if (run.at == Run::At::idle && !run.is_locked && has_rivals(run)) await_lock(run);
  if (run.at == Run::At::to_lock) return false;
  // Nothing joins an entry that ends its run: whatever comes then is decided on the committed end. Nor a large one.
  const bool is_full = run.at == Run::At::gathered && run.entry->bytes() >= options_.batch_bytes_max;
  if (run.at == Run::At::gathered && (is_full || run.one_by_one || is_ended(run.state.status))) return false;
  return decide_front(run);
}

bool Committer::answer_front(Run& run) {
  const Task& task = run.waiting.front();
  const bool seen = run.head >= task.min_head || run.fresh > task.serial;
  if (!seen && run.at == Run::At::idle) load(run, true, false);
  if (!seen) return false;
  reply(task, run, {});
  run.kept_until = drains_ + 1;
  run.waiting.pop_front();
  --waiting_;
  return true;
}

// The decision refuses an end that the caller's history has already.
bool Committer::tell_caller(Run& run) {
  if (run.at != Run::At::idle) return false;
  const Task task = std::move(run.waiting.front());
  run.waiting.pop_front();
  --waiting_;
  if (std::optional<ParentNotice> notice = parent_notice(run.state))
    submit({.ticket = task.what.ticket, .run = notice->parent, .command = std::move(notice->command)});
  else
    reply(task, run, {});
  return true;
}

Context Committer::context_for(const Run& run) {
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

bool Committer::decide_front(Run& run) {
  run.decided.push_back(std::move(run.waiting.front()));
  run.waiting.pop_front();
  --waiting_;
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

bool Committer::decide_last(Run& run) {
  const Task::Kind kind = run.decided.back().kind;
  const bool tells_caller = !run.decided.back().what.caller_has_ended;
  const std::optional<Fence> fence = run.decided.back().what.fence;
  const BranchId last_branch = run.state.last_branch;
  // Before deciding: a join removes the branches that it ends.
  std::vector<BranchId> above = fence ? branches_above(run.state, fence->branch) : std::vector<BranchId>();
  Result<Decision> decision = decide(run.state, run.decided.back().what.command, context_for(run), graphs_);
  if (!decision) return refuse_last(run, decision.error());
  gather(run, last_branch);
  if (fence) run.entry->fence({*fence, run.decided.back().what.keep_in, std::move(above)});
  absorb(run, *std::move(decision));
  if (kind == Task::Kind::notice) {
    const Task notice = std::move(run.decided.back());
    run.decided.pop_back();  // decided again when the called run's end is
    free_child(notice);
    const RunId child = std::get<FinishChild>(notice.what.command).child;
    link(run, *find(child));
    if (is_ended(run.state.status)) run.ended_by = child;
  }
  const bool may_fuse = options_.pure_steps != nullptr && !run.one_by_one;
  if (fence && fence->session == options_.session && may_fuse) fuse(run, fence->branch);
  if (is_ended(run.state.status) && tells_caller) notify_parent(run);
  if (kind != Task::Kind::notice && run.entry && run.entry->bytes() > entry_bytes_max) {
    scrap(run, too_large(run.id, run.entry->bytes()));
    return false;
  }
  return true;
}

// A refusal stands only when the state is known to be no older than the command.
bool Committer::refuse_last(Run& run, const Error& error) {
  Task task = std::move(run.decided.back());
  run.decided.pop_back();
  const bool is_known = run.at == Run::At::idle && (run.fresh > task.serial || task.begins());
  if (!is_known) {
    run.waiting.push_front(std::move(task));
    ++waiting_;
    if (run.at == Run::At::idle) load(run, true, false);
    return false;
  }
  if (task.kind == Task::Kind::notice) {
    free_child(task);
  } else {
    reply(task, run, error);
  }
  return true;
}

// The command that could not be decided is refused; what was gathered with it is decided again.
void Committer::scrap(Run& run, const Error& error) {
  const Task culprit = std::move(run.decided.back());
  run.decided.pop_back();
  refuse(culprit, run, error);
  if (run.at != Run::At::idle) return take_back_group(run);
  run.drop_state();
  again_.push_back(run.id);  // for the tasks that wait behind it
}

void Committer::gather(Run& run, BranchId last_branch) {
  if (run.entry) return;
  run.entry.emplace(run.id, run.head, run.chain, last_branch);
  run.at = Run::At::gathered;
  gathered_[static_cast<std::size_t>(shard_of(run.id, options_.shards))].push_back(&run);
}

void Committer::absorb(Run& run, Decision decision) {
  run.entry->add(std::move(decision.events), decision.touched);
  for (Decision::Child& child : decision.children) start_child(run, std::move(child));
}

// Consecutive pure steps of a branch go into the same entry; what follows is the same history as without.
void Committer::fuse(Run& run, BranchId branch) {
  for (int steps = 1; steps < options_.fuse_steps; ++steps) {
    const std::optional<Job> job = job_of(run.state, branch);
    if (!job || !keep_rules_.may_execute(*job)) return;
    const std::optional<Command> command =
        options_.pure_steps->pure_report(run.state, *job, std::max(database_, run.state.last_at));
    if (!command) return;
    ++counts_.fused;
    Result<Decision> decision = decide(run.state, *command, context_for(run), graphs_);
    if (!decision) return;
    absorb(run, *std::move(decision));
  }
}

// --- runs that call runs --------------------------------------------------------------------------------------------

void Committer::start_child(Run& caller, Decision::Child child) {
  Run& run = run_of(child.state.id);
  run.state = std::move(child.state);
  run.loaded = true;
  gather(run, 0);
  run.entry->add(std::move(child.events), child.touched);
  link(caller, run);
}

void Committer::notify_parent(Run& child) {
  std::optional<ParentNotice> notice = parent_notice(child.state);
  if (!notice) return;
  child.awaits_parent = true;
  Task task;
  task.kind = Task::Kind::notice;
  task.what.run = notice->parent;
  task.what.command = std::move(notice->command);
  Run& parent = run_of(notice->parent);
  enqueue(parent, std::move(task));
  process(parent);
}

void Committer::free_child(const Task& notice) {
  Run* child = find(std::get<FinishChild>(notice.what.command).child);
  if (child != nullptr) child->awaits_parent = false;
}

// The caller cannot be read here, so that the called run's end waits: it would leave the caller waiting for ever. The
// task that ended it is decided again alone, so that what went before it passes, and then refused. (A run that was
// ended by the end of one it had called itself waits with that one.)
void Committer::hold_up_child(const Task& notice, const Error& error) {
  Run* child = find(std::get<FinishChild>(notice.what.command).child);
  if (child == nullptr || !child->awaits_parent) return;
  Run* ender = child;
  while (!ender->ended_by.is_nil()) ender = find(ender->ended_by);
  if (std::exchange(ender->one_by_one, true) && !ender->decided.empty()) {
    const Task culprit = std::move(ender->decided.back());
    ender->decided.pop_back();
    reply(culprit, *ender,
          Error{Code::unsupported, "Expected to end run " + to_string(child->id) + " together with run " +
                                       to_string(notice.what.run) +
                                       ", which called it, but that one cannot be read here: " + error.message});
  }
  take_back_group(*child);
}

// The entries of a group share one verdict, so joining two runs joins all members of their groups.
void Committer::link(Run& one, Run& other) {
  if (one.group != 0 && one.group == other.group) return;
  for (Run* run : {&one, &other}) {
    if (run->group != 0) continue;
    run->group = ++last_group_;
    groups_[run->group] = {run};
  }
  std::vector<Run*> joining = std::move(groups_.extract(other.group).mapped());
  std::vector<Run*>& members = groups_.at(one.group);
  for (Run* run : joining) {
    run->group = one.group;
    members.push_back(run);
  }
}

// --- batches --------------------------------------------------------------------------------------------------------

CommitterActions Committer::drain_actions() {
  ++drains_;
  shrink();
  for (const RunId& id : std::exchange(again_, {}))
    if (Run* run = find(id)) process(*run);
  std::erase_if(loads_again_, [this](const std::pair<TimeUs, Load>& again) {
    if (again.first > now_) return false;
    actions_.loads.push_back(again.second);
    return true;
  });
  std::erase_if(backing_off_, [this](const std::pair<TimeUs, RunId>& later) {
    if (later.first > now_) return false;
    if (Run* run = find(later.second)) process(*run);
    return true;
  });
  for (auto& [id, batch] : batches_) {
    if (batch->retry_at > now_) continue;
    batch->retry_at = never_us;
    // The failed call may have committed: by the batch's id the store finds that out.
    for (Entry& entry : batch->entries) entry.in_doubt = entry.commit != 0;
    send(*batch);
  }
  depart();
  return std::exchange(actions_, {});
}

void Committer::depart() {
  const std::size_t shards = gathered_.size();
  for (std::size_t tried = 0; tried < shards; ++tried) {
    if (batches_.size() >= static_cast<std::size_t>(options_.lanes)) return;
    shard_next_ = (shard_next_ + 1) % shards;
    const auto shard = static_cast<Shard>(shard_next_);
    locked_first_ = !locked_first_;
    const bool has_departed =
        locked_first_ ? depart_locked(shard) || depart(shard) : depart(shard) || depart_locked(shard);
    if (has_departed) tried = 0;
  }
}

void Committer::send(const Batch& batch) {
  if (!batch.is_undecided)
    return actions_.commits.push_back({batch.id, batch.shard, &batch.entries, offers(batch.entries, database_)});
  LockedCommit& commit = actions_.locked_commits.emplace_back();
  commit.batch = batch.id;
  commit.shard = batch.shard;
  for (const Run* run : batch.runs) commit.runs.push_back({run->id, run->head});
}

void Committer::set_commit_id(Batch& batch) {
  if (!options_.new_commit) return;
  const std::int64_t commit = options_.new_commit();
  for (Entry& entry : batch.entries) entry.commit = commit;
}

bool Committer::depart(Shard shard) {
  std::deque<Run*>& queue = gathered_[static_cast<std::size_t>(shard)];
  if (queue.empty()) return false;
  auto batch = std::make_unique<Batch>();
  batch->entries.reserve(std::min(queue.size(), options_.batch_max));
  batch->runs.reserve(batch->entries.capacity());
  std::deque<Run*> left;
  while (!queue.empty() && batch->entries.size() < options_.batch_max) {
    Run* run = queue.front();
    queue.pop_front();
    if (run->at != Run::At::gathered) continue;  // it has left with its group
    const std::vector<Run*> leaving = leaving_with(*run);
    const bool fits = has_room(*batch, leaving);
    if (leaving.empty() || !fits) left.push_back(run);
    if (!fits) break;
    for (Run* member : leaving) {
      if (member->group != 0) std::erase(queue, member);
      add_to_batch(*member, *batch);
    }
  }
  queue.insert(queue.begin(), left.begin(), left.end());
  if (batch->entries.empty()) return false;
  batch->id = ++last_batch_;
  set_commit_id(*batch);
  batch->shard = shard;
  ++counts_.batches;
  send(*batch);
  batches_.emplace(batch->id, std::move(batch));
  return true;
}

// For one entry there always is, however large.
bool Committer::has_room(const Batch& batch, const std::vector<Run*>& leaving) const {
  std::size_t bytes = batch.bytes;
  for (const Run* member : leaving) bytes += member->entry->bytes();
  return batch.entries.empty() || bytes <= options_.batch_bytes_max;
}

// All that must share the run's verdict, or nothing while one of them waits for its caller.
std::vector<Committer::Run*> Committer::leaving_with(Run& run) const {
  std::vector<Run*> members = run.group == 0 ? std::vector<Run*>{&run} : groups_.at(run.group);
  // A child's end that left before its parent's step would leave the parent waiting for ever if this process died.
  const bool is_held_up =
      std::any_of(members.begin(), members.end(), [](const Run* one) { return one->awaits_parent; });
  if (is_held_up) members.clear();
  return members;
}

void Committer::add_to_batch(Run& run, Batch& batch) {
  CHECK(run.at == Run::At::gathered && run.entry);
  batch.bytes += run.entry->bytes();
  batch.entries.push_back(run.entry->build(run.state, run.rows, options_.session, keep_rules_));
  batch.entries.back().link = run.group;
  batch.entries.back().caller_knows = run.state.parent && is_ended(run.state.status);
  batch.runs.push_back(&run);
  run.at = Run::At::under_way;
  run.asked = ++serial_;
  groups_.erase(run.group);
}

// --- runs with rivals -----------------------------------------------------------------------------------------------
// An entry that was decided on a head that others move is mostly in vain, and so is the state that it evolved: nothing
// is decided before the run is locked.

void Committer::await_lock(Run& run) {
  run.at = Run::At::to_lock;
  to_lock_[static_cast<std::size_t>(shard_of(run.id, options_.shards))].push_back(&run);
}

// One lane stays free for runs without rivals, as the others wait for locks. A run waits until its tasks have gathered.
bool Committer::depart_locked(Shard shard) {
  std::deque<Run*>& queue = to_lock_[static_cast<std::size_t>(shard)];
  const auto waiting =
      std::count_if(batches_.begin(), batches_.end(), [](const auto& entry) { return entry.second->is_undecided; });
  if (queue.empty() || waiting >= std::max(options_.lanes - 1, 1)) return false;
  auto batch = std::make_unique<Batch>();
  std::erase_if(queue, [&](Run* run) {
    if (run->lock_after > now_ || batch->runs.size() >= options_.batch_max) return false;
    run->at = Run::At::under_way;
    batch->runs.push_back(run);
    return true;
  });
  if (batch->runs.empty()) return false;
  batch->id = ++last_batch_;
  batch->shard = shard;
  batch->is_undecided = true;
  batch->locked_at = now_;
  ++counts_.batches;
  send(*batch);
  batches_.emplace(batch->id, std::move(batch));
  return true;
}

LockedDecision Committer::decide_locked(std::uint64_t id, std::vector<LockedRun> locked) {
  const auto found = batches_.find(id);
  if (found == batches_.end() || !found->second->is_undecided || found->second->retry_at != never_us) return {};
  Batch& batch = *found->second;
  batch.is_undecided = false;
  const std::vector<Run*> runs = std::exchange(batch.runs, {});
  CHECK(locked.size() == runs.size());
  for (std::size_t place = 0; place < runs.size(); ++place) decide_locked(*runs[place], locked[place], batch);
  set_commit_id(batch);
  return {batch.entries, {.notify = offers(batch.entries, database_)}};
}

void Committer::decide_locked(Run& run, const LockedRun& locked, Batch& batch) {
  CHECK(run.at == Run::At::under_way && !run.entry);
  run.at = Run::At::idle;
  again_.push_back(run.id);
  if (!catch_up(run, locked)) return;
  run.is_locked = run.processing = true;
  while (!run.waiting.empty() && process_front(run)) {
  }
  run.is_locked = run.processing = false;
  if (run.at != Run::At::gathered) return;  // nothing is to be written
  const std::vector<Run*> leaving = leaving_with(run);
  if (!has_room(batch, leaving)) return;  // it leaves as others do
  for (Run* member : leaving) {
    std::erase(gathered_[static_cast<std::size_t>(batch.shard)], member);
    add_to_batch(*member, batch);
  }
}

// False: the run cannot be decided now. It is read again, because its lock brought too many events for one answer or
// contradicts what is known of it; or it cannot be read.
bool Committer::catch_up(Run& run, const LockedRun& locked) {
  const Hash chain = locked.missed.empty() ? run.chain : locked.missed.back().chain_hash;
  const bool is_whole = locked.head == run.head + std::ssize(locked.missed);
  if (!is_whole || chain != locked.chain_hash) {
    ++counts_.conflicts;
    back_off(run);
    is_whole || locked.head < run.head ? load_anew(run) : load(run, true, false);
    return false;
  }
  run.has_missed = !locked.missed.empty();
  if (run.has_missed) run.rivals_until = now_ + rivals_us;
  const Status folded = fold(run, {run.id, {}, locked.missed, true, false});
  if (run.at == Run::At::loading) return false;
  run.fresh = ++serial_;
  if (!folded) fail(run, folded.error());
  return folded.ok();
}

// --- verdicts -------------------------------------------------------------------------------------------------------

void Committer::batch_failed(std::uint64_t id) {
  const auto found = batches_.find(id);
  if (found == batches_.end()) return;
  Batch& batch = *found->second;
  if (batch.runs.empty()) return void(batches_.erase(found));  // there was nothing to write
  const TimeUs pause = std::min(again_max_us, again_us << std::min(batch.failures++, 5));
  batch.retry_at = now_ + pause / 2 + static_cast<TimeUs>(static_cast<double>(pause / 2) * options_.draw());
}

void Committer::verdicts(std::uint64_t id, std::vector<Verdict> verdicts) {
  const auto found = batches_.find(id);
  if (found == batches_.end()) return;
  const std::unique_ptr<Batch> batch = std::move(found->second);
  batches_.erase(found);
  CHECK(verdicts.size() == batch->runs.size());
  for (std::size_t place = 0; place < verdicts.size(); ++place) {
    Run& run = *batch->runs[place];
    CHECK(run.at == Run::At::under_way && run.entry);  // as add_to_batch() left it: nothing else touches it meanwhile
    keep_rules_.released(run.entry->created_held().size());
    if (verdicts[place].kind == Verdict::Kind::committed) {
      apply_verdict(run, batch->entries[place], verdicts[place]);
    } else if (verdicts[place].kind == Verdict::Kind::refused) {
      refuse_entry(run, verdicts[place].fault);
    } else if (verdicts[place].kind == Verdict::Kind::archived) {
      refuse_decided(run, {Code::closed, verdicts[place].fault});
      take_back(run);
    } else {
      // An entry that is refused because of another one, linked to it, stands at the right head itself.
      const Entry& entry = batch->entries[place];
      const bool is_behind =
          verdicts[place].head != entry.head_before || verdicts[place].chain_hash != entry.chain_before;
      if (verdicts[place].kind == Verdict::Kind::conflict && is_behind) {
        back_off(run);
        run.rivals_until = now_ + rivals_us;
      }
      undo(run, verdicts[place]);
    }
    run.group = 0;
    if (batch->locked_at > 0 && run.has_missed) gather_for_a_while(run, now_ - batch->locked_at);
  }
  for (const Run* run : batch->runs) again_.push_back(run->id);
}

// The dearer its lock, the longer do its tasks gather before the next one: the writers of a run share its row, and none
// of them spends most of its time on it.
void Committer::gather_for_a_while(Run& run, TimeUs took_us) const {
  run.lock_after = now_ + std::min(lock_pause_share * took_us, lock_pause_max_us);
}

void Committer::apply_verdict(Run& run, const Entry& entry, const Verdict& verdict) {
  CHECK(verdict.head == run.state.seq);
  run.at = Run::At::idle;
  run.head = verdict.head;
  run.chain = verdict.chain_hash;
  run.rows.apply(entry.jobs);
  run.fresh = run.asked;
  count_folded(run, entry.events);
  run.added_bytes += bytes_of(entry.events);
  if (entry.head_before == 0 && entry.run.parent) actions_.children.emplace_back(*entry.run.parent, run.id);
  for (const JobWrite& write : entry.jobs)
    if (frees(write) && write.job.run_at_us < never_us)
      actions_.offered.push_back({write.job.queue, write.job.run_at_us});
  for (const Task& task : run.decided) {
    if (task.what.ticket == 0) continue;
    reply(task, run, {});
    if (!task.what.fence) continue;
    const auto kept = run.entry->kept().extract(task.what.fence->branch);
    if (!kept.empty()) actions_.replies.back().next = std::move(kept.mapped());
  }
  for (HeldJob& job : run.entry->created_held()) actions_.created_held.push_back(std::move(job));
  run.decided.clear();
  run.entry.reset();
  run.ended_by = {};
  run.one_by_one = run.one_by_one && !run.waiting.empty();
  run.open_steps_max = std::max(run.open_steps_max, run.state.steps.size());
  if (is_ended(run.state.status) && std::exchange(run.snapshot_size, 0) > 0)
    actions_.without_snapshots.push_back(run.id);
  if (is_worth_a_snapshot(run)) keep_snapshot(run);
  measure(run);
}

// A large state is not written for fewer bytes of events than it has itself: what snapshots cost stays in proportion to
// what they save.
bool Committer::is_worth_a_snapshot(const Run& run) const {
  const bool is_much = run.folded_events > options_.snapshot_events || run.folded_bytes > snapshot_bytes;
  const std::int64_t open_bytes = static_cast<std::int64_t>(run.open_steps_max) * open_step_bytes;
  return is_much && run.folded_bytes >= std::max(run.snapshot_size, open_bytes);
}

void Committer::keep_snapshot(Run& run) {
  run.folded_events = run.folded_bytes = 0;
  run.open_steps_max = 0;
  if (is_ended(run.state.status)) return;
  SnapshotRow row;
  row.seq = run.head;
  row.fold_version = fold_version;
  row.chain_hash = run.chain;
  row.state = canonical(snapshot_json(run.state));
  run.snapshot_size = static_cast<std::int64_t>(row.state.size());
  run.added_bytes = 0;
  actions_.snapshots.push_back({run.id, std::move(row)});
}

// Not written. A report whose fence failed is refused: its hold is lost. Everything else is decided again on the run as
// it is now.
void Committer::undo(Run& run, const Verdict& verdict) {
  const bool is_stale = verdict.kind == Verdict::Kind::stale;
  const bool is_closed = verdict.kind == Verdict::Kind::closed;
  ++(is_stale ? counts_.stale : counts_.conflicts);
  std::erase_if(run.decided, [&](const Task& task) {
    if (!task.what.fence || !(is_stale || is_closed)) return false;
    const Fence& fence = *task.what.fence;
    if (!contains(verdict.stale, fence.branch)) return false;
    const std::string expected = "Expected to complete step " + std::to_string(fence.step) + " of run " +
                                 to_string(run.id) + " with epoch " + std::to_string(fence.epoch) + ", but ";
    reply(task, run,
          is_closed ? Error{Code::closed, expected + "the run has ended."}
                    : Error{Code::stale, expected + "the branch is no longer held so."});
    return true;
  });
  take_back(run);
}

// Another writer's commit moves the head. Where conflicts come without that, the run's row and its events contradict
// each other: it is tried again with growing pauses, and then not at all.
void Committer::back_off(Run& run) {
  const bool has_moved = std::exchange(run.conflict_head, run.head) != run.head;
  run.conflicts = has_moved ? 0 : run.conflicts + 1;
  if (run.conflicts == 0 || run.conflicts >= conflicts_max) return;
  run.not_before = now_ + (conflict_pause_us << run.conflicts);
  backing_off_.emplace_back(run.not_before, run.id);
}

void Committer::give_up(Run& run) {
  run.conflicts = 0;
  fail(run,
       {Code::corrupt, "Expected the row of run " + to_string(run.id) + " to agree with its events, which end at " +
                           std::to_string(run.conflict_head) + ", but it does not."});
}

// The database will never take the entry. Its tasks are decided again one by one, which shows the one at fault: a task
// that is refused alone is answered so.
void Committer::refuse_entry(Run& run, const std::string& fault) {
  ++counts_.refused;
  const bool is_alone = std::exchange(run.one_by_one, true);
  if (is_alone)
    refuse_decided(run, {Code::corrupt, "Expected the database to take what run " + to_string(run.id) +
                                            " gains, but it refuses: " + fault});
  take_back(run);
}

void Committer::take_back_group(Run& run) {
  const std::vector<Run*> members = run.group == 0 ? std::vector<Run*>{&run} : groups_.at(run.group);
  for (Run* member : members) take_back(*member);
}

void Committer::refuse_decided(Run& run, const Error& error) {
  for (const Task& task : run.decided) reply(task, run, error);
  run.decided.clear();
}

// Decided tasks wait again, first in line and in their order, and the state is read again: it holds events that were
// not committed.
void Committer::take_back(Run& run) {
  if (run.at == Run::At::gathered)
    std::erase(gathered_[static_cast<std::size_t>(shard_of(run.id, options_.shards))], &run);
  if (run.awaits_parent)
    if (Run* parent = run.state.parent ? find(run.state.parent->run) : nullptr)
      waiting_ -= static_cast<std::int64_t>(parent->waiting.erase_if([&run](const Task& task) {
        return task.kind == Task::Kind::notice && std::get<FinishChild>(task.what.command).child == run.id;
      }));
  groups_.erase(run.group);
  run.group = 0;
  run.awaits_parent = false;
  run.ended_by = {};
  run.at = Run::At::idle;
  run.entry.reset();
  run.drop_state();
  for (auto task = run.decided.rbegin(); task != run.decided.rend(); ++task) {
    ++task->tries;
    run.waiting.push_front(std::move(*task));
    ++waiting_;
  }
  run.decided.clear();
  again_.push_back(run.id);
}

bool Committer::idle() const {
  return waiting_ == 0 && batches_.empty() && again_.empty() && actions_.empty() &&
         std::all_of(gathered_.begin(), gathered_.end(), [](const auto& queue) { return queue.empty(); }) &&
         std::all_of(to_lock_.begin(), to_lock_.end(), [](const auto& queue) { return queue.empty(); });
}

TimeUs Committer::due_us() const {
  TimeUs due = again_.empty() ? never_us : now_;
  for (const auto& [at, load] : loads_again_) due = std::min(due, at);
  for (const auto& [at, run] : backing_off_) due = std::min(due, at);
  for (const auto& [id, batch] : batches_) due = std::min(due, batch->retry_at);
  for (const std::deque<Run*>& queue : to_lock_)
    for (const Run* run : queue)
      if (run->lock_after > now_) due = std::min(due, run->lock_after);
  return due;
}

}  // namespace cairn
