// The committer's batches: which entries leave together, and what their verdicts mean.
#include "engine/snapshot.hpp"
#include "workers/runs/committer_records.hpp"

namespace cairn {
namespace {

constexpr std::int64_t snapshot_bytes = 1'000'000;
constexpr std::int64_t snapshot_spacing = 2;
constexpr std::int64_t open_step_bytes = 500;  // what a snapshot needs for an open step, its branch and its sub-goal
constexpr TimeUs again_max_us = 5'000'000;
constexpr TimeUs conflict_pause_us = 10'000;  // doubled at each conflict without progress

bool contains(const std::vector<BranchId>& branches, BranchId branch) {
  return std::find(branches.begin(), branches.end(), branch) != branches.end();
}

}  // namespace

CommitterActions Committer::drain_actions() {
  runs_.begin_drain();
  shelf_.trim();
  for (const RunId& id : std::exchange(again_, {}))
    if (CachedRun* run = runs_.find(id)) process(*run);
  std::erase_if(loads_again_, [this](const std::pair<TimeUs, Load>& again) {
    if (again.first > now_) return false;
    actions_.loads.push_back(again.second);
    return true;
  });
  std::erase_if(backing_off_, [this](const std::pair<TimeUs, RunId>& later) {
    if (later.first > now_) return false;
    if (CachedRun* run = runs_.find(later.second)) process(*run);
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
  for (const CachedRun* run : batch.runs) commit.runs.push_back({run->id, run->head});
}

void Committer::set_commit_id(Batch& batch) {
  if (!options_.new_commit) return;
  const std::int64_t commit = options_.new_commit();
  for (Entry& entry : batch.entries) entry.commit = commit;
}

bool Committer::depart(Shard shard) {
  std::deque<CachedRun*>& queue = gathered_[static_cast<std::size_t>(shard)];
  if (queue.empty()) return false;
  auto batch = std::make_unique<Batch>();
  batch->entries.reserve(std::min(queue.size(), options_.batch_max));
  batch->runs.reserve(batch->entries.capacity());
  std::deque<CachedRun*> left;
  while (!queue.empty() && batch->entries.size() < options_.batch_max) {
    CachedRun* run = queue.front();
    queue.pop_front();
    if (run->at != CachedRun::At::gathered) continue;  // it has left with its group
    const std::vector<CachedRun*> leaving = leaving_with(*run);
    const bool fits = has_room(*batch, leaving);
    if (leaving.empty() || !fits) left.push_back(run);
    if (!fits) break;
    for (CachedRun* member : leaving) {
      if (member->group != 0) std::erase(queue, member);
      add_to_batch(*member, *batch);
    }
  }
  queue.insert(queue.begin(), left.begin(), left.end());
  if (batch->entries.empty()) return false;
  batch->id = ++last_batch_;
  set_commit_id(*batch);
  batch->shard = shard;
  batch->asked_at = now_;
  ++counts_.batches;
  send(*batch);
  batches_.emplace(batch->id, std::move(batch));
  return true;
}

// There always is room for one entry, however large.
bool Committer::has_room(const Batch& batch, const std::vector<CachedRun*>& leaving) const {
  std::size_t bytes = batch.bytes;
  for (const CachedRun* member : leaving) bytes += member->entry->bytes();
  return batch.entries.empty() || bytes <= options_.batch_bytes_max;
}

// All that must share the run's verdict, or nothing while one of them waits for its caller.
std::vector<CachedRun*> Committer::leaving_with(CachedRun& run) const {
  std::vector<CachedRun*> members = run.group == 0 ? std::vector<CachedRun*>{&run} : groups_.at(run.group);
  // A child's end that left before its parent's step would leave the parent waiting for ever if this process died.
  const bool is_held_up =
      std::any_of(members.begin(), members.end(), [](const CachedRun* one) { return one->awaits_parent; });
  if (is_held_up) members.clear();
  return members;
}

void Committer::add_to_batch(CachedRun& run, Batch& batch) {
  CHECK(run.at == CachedRun::At::gathered && run.entry);
  batch.bytes += run.entry->bytes();
  batch.entries.push_back(run.entry->build(run.state, run.rows, options_.session, keep_rules_));
  batch.entries.back().link = run.group;
  batch.entries.back().caller_knows = run.state.parent && is_ended(run.state.status);
  batch.entries.back().drops_snapshots = is_ended(run.state.status) && may_have_snapshots(run);
  batch.runs.push_back(&run);
  run.at = CachedRun::At::under_way;
  run.asked = ++serial_;
  groups_.erase(run.group);
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

int Committer::batch_refused(std::uint64_t id) {
  const auto found = batches_.find(id);
  return found == batches_.end() ? 0 : ++found->second->refusals;
}

void Committer::verdicts(std::uint64_t id, std::vector<Verdict> verdicts) {
  const auto found = batches_.find(id);
  if (found == batches_.end()) return;
  const std::unique_ptr<Batch> batch = std::move(found->second);
  batches_.erase(found);
  CHECK(verdicts.size() == batch->runs.size());
  for (std::size_t place = 0; place < verdicts.size(); ++place) {
    CachedRun& run = *batch->runs[place];
    CHECK(run.at == CachedRun::At::under_way &&
          run.entry);  // as add_to_batch() left it: nothing else touches it meanwhile
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
    if (batch->is_locked && run.has_missed) gather_for_a_while(run, now_ - batch->asked_at);
  }
  for (const CachedRun* run : batch->runs) again_.push_back(run->id);
}

void Committer::apply_verdict(CachedRun& run, const Entry& entry, const Verdict& verdict) {
  CHECK(verdict.head == run.state.seq);
  run.at = CachedRun::At::idle;
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
  for (const RunTask& task : run.decided) {
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
  run.has_names = false;
  run.one_by_one = run.one_by_one && !run.waiting.empty();
  run.open_steps_max = std::max(run.open_steps_max, run.state.steps.size());
  if (entry.drops_snapshots) run.added_bytes += std::exchange(run.snapshot_size, 0);
  if (is_worth_a_snapshot(run)) keep_snapshot(run);
  runs_.measure(run);
}

// A large state is not written for fewer bytes of events than twice its own: what snapshots cost stays in proportion to
// what they save, and who resumes the run folds two fifths of its events on average.
bool Committer::is_worth_a_snapshot(const CachedRun& run) const {
  const bool is_much = run.folded_events > options_.snapshot_events || run.folded_bytes > snapshot_bytes;
  const std::int64_t open_bytes = static_cast<std::int64_t>(run.open_steps_max) * open_step_bytes;
  return is_much && run.folded_bytes >= std::max(snapshot_spacing * run.snapshot_size, open_bytes);
}

// Others that write the run may have made one that this process does not know of, where there was enough for one.
bool Committer::may_have_snapshots(const CachedRun& run) const {
  return run.snapshot_size > 0 || run.head > options_.snapshot_events || run.added_bytes > snapshot_bytes;
}

void Committer::keep_snapshot(CachedRun& run) {
  const std::int64_t folded_bytes = std::exchange(run.folded_bytes, 0);
  run.folded_events = 0;
  run.open_steps_max = 0;
  if (is_ended(run.state.status)) return;
  CHECK(run.state.seq == run.head);  // pairs with restored_state
  SnapshotRow row;
  row.seq = run.head;
  row.fold_version = fold_version;
  row.chain_hash = run.chain;
  row.state = snapshot_text(run.state, static_cast<std::size_t>(run.snapshot_size + folded_bytes));
  run.snapshot_size = static_cast<std::int64_t>(row.state.size());
  run.added_bytes = 0;
  actions_.snapshots.push_back({run.id, std::move(row)});
}

// Not written. A report whose fence failed is refused: its hold is lost. Everything else is decided again on the run as
// it is now.
void Committer::undo(CachedRun& run, const Verdict& verdict) {
  const bool is_stale = verdict.kind == Verdict::Kind::stale;
  const bool is_closed = verdict.kind == Verdict::Kind::closed;
  ++(is_stale ? counts_.stale : counts_.conflicts);
  std::erase_if(run.decided, [&](const RunTask& task) {
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
void Committer::back_off(CachedRun& run) {
  const bool has_moved = std::exchange(run.conflict_head, run.head) != run.head;
  run.conflicts = has_moved ? 0 : run.conflicts + 1;
  if (run.conflicts == 0 || run.conflicts >= conflicts_max) return;
  run.not_before = now_ + (conflict_pause_us << run.conflicts);
  backing_off_.emplace_back(run.not_before, run.id);
}

void Committer::give_up(CachedRun& run) {
  run.conflicts = 0;
  fail(run,
       {Code::corrupt, "Expected the row of run " + to_string(run.id) + " to agree with its events, which end at " +
                           std::to_string(run.conflict_head) + ", but it does not."});
}

// The database will never take the entry. Its tasks are decided again one by one, which shows the one at fault: a task
// that is refused alone is answered so.
void Committer::refuse_entry(CachedRun& run, const std::string& fault) {
  ++counts_.refused;
  const bool is_alone = std::exchange(run.one_by_one, true);
  if (is_alone)
    refuse_decided(run, {Code::corrupt, "Expected the database to take what run " + to_string(run.id) +
                                            " gains, but it refuses: " + fault});
  take_back(run);
}

void Committer::take_back_group(CachedRun& run) {
  const std::vector<CachedRun*> members = run.group == 0 ? std::vector<CachedRun*>{&run} : groups_.at(run.group);
  for (CachedRun* member : members) take_back(*member);
}

void Committer::refuse_decided(CachedRun& run, const Error& error) {
  for (const RunTask& task : run.decided) reply(task, run, error);
  run.decided.clear();
}

// Decided tasks wait again, first in line and in their order, and the state is read again: it holds events that were
// not committed.
void Committer::take_back(CachedRun& run) {
  if (run.at == CachedRun::At::gathered)
    std::erase(gathered_[static_cast<std::size_t>(shard_of(run.id, options_.shards))], &run);
  if (run.awaits_parent)
    if (CachedRun* parent = run.state.parent ? runs_.find(run.state.parent->run) : nullptr)
      waiting_ -= static_cast<std::int64_t>(parent->waiting.erase_if([&run](const RunTask& task) {
        return task.kind == RunTask::Kind::notice && std::get<FinishChild>(task.what.command).child == run.id;
      }));
  groups_.erase(run.group);
  run.group = 0;
  run.awaits_parent = false;
  run.ended_by = {};
  run.at = CachedRun::At::idle;
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

}  // namespace cairn
