// Runs that others write, too. An entry that was decided on a head that others move is mostly in vain, and so is the
// state that it evolved: nothing is decided before the run is locked.
#include "workers/runs/committer_records.hpp"

namespace cairn {
namespace {

constexpr TimeUs lock_pause_share = 8;  // of the time that locking and writing took
constexpr TimeUs lock_pause_max_us = 20'000;

// Held branches that are held no more, less those that are held from now on.
std::int32_t slots_freed(const Entry& entry) {
  std::int32_t freed = 0;
  for (const JobWrite& write : entry.jobs) {
    const bool was_held = std::any_of(entry.fences.begin(), entry.fences.end(),
                                      [&](const Fence& fence) { return fence.branch == write.job.branch; });
    if (write.op == JobWrite::Op::insert_held) --freed;
    if (was_held && (write.op == JobWrite::Op::offer || write.op == JobWrite::Op::drop)) ++freed;
  }
  return freed;
}

// Each of them is locked, or new, or comes after all that are locked, as writers lock runs in the order of their ids.
bool lock_in_order(const std::vector<CachedRun*>& leaving, const std::set<RunId>& locked) {
  return std::all_of(leaving.begin(), leaving.end(), [&](const CachedRun* run) {
    return run->head == 0 || locked.contains(run->id) || *locked.rbegin() < run->id;
  });
}

}  // namespace

void Committer::await_lock(CachedRun& run) {
  run.at = CachedRun::At::to_lock;
  to_lock_[static_cast<std::size_t>(shard_of(run.id, options_.shards))].push_back(&run);
}

// One lane stays free for runs without rivals, as the others wait for locks. A run waits until its tasks have gathered.
bool Committer::depart_locked(Shard shard) {
  std::deque<CachedRun*>& queue = to_lock_[static_cast<std::size_t>(shard)];
  const auto waiting =
      std::count_if(batches_.begin(), batches_.end(), [](const auto& entry) { return entry.second->is_undecided; });
  if (queue.empty() || waiting >= std::max(options_.lanes - 1, 1)) return false;
  auto batch = std::make_unique<Batch>();
  std::erase_if(queue, [&](CachedRun* run) {
    if (run->lock_after > now_ || batch->runs.size() >= options_.batch_max) return false;
    run->at = CachedRun::At::under_way;
    batch->runs.push_back(run);
    return true;
  });
  if (batch->runs.empty()) return false;
  batch->id = ++last_batch_;
  batch->shard = shard;
  batch->is_undecided = batch->is_locked = true;
  batch->asked_at = now_;
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
  const std::vector<CachedRun*> runs = std::exchange(batch.runs, {});
  CHECK(locked.size() == runs.size());
  for (const CachedRun* run : runs) batch.locked.insert(run->id);
  for (std::size_t place = 0; place < runs.size(); ++place) decide_locked(*runs[place], locked[place], batch);
  set_commit_id(batch);
  return {batch.entries, {.notify = offers(batch.entries, database_)}, refill(batch)};
}

// Slots that the batch frees take other jobs of its runs in the same transaction: where many workers write one wide
// run, claims of a few jobs each cost more than all else.
std::optional<ClaimRequest> Committer::refill(const Batch& batch) const {
  ClaimRequest request;
  std::int32_t freed = 0;
  for (const Entry& entry : batch.entries) {
    if (entry.fences.empty() || is_ended(entry.run.status)) continue;
    freed += slots_freed(entry);
    request.only_runs.push_back(entry.run.id);
  }
  request.limit = keep_rules_.refills_of(freed);
  if (request.limit <= 0) return std::nullopt;
  request.shard = batch.shard;
  request.queues = keep_rules_.open_queues();
  request.session = options_.session;
  request.now_us = database_;
  request.default_timeout_ms = options_.default_timeout_ms;
  return request;
}

void Committer::decide_locked(CachedRun& run, const LockedRun& locked, Batch& batch) {
  CHECK(run.at == CachedRun::At::under_way && !run.entry);
  run.at = CachedRun::At::idle;
  again_.push_back(run.id);
  if (!catch_up(run, locked)) return;
  run.is_locked = run.processing = true;
  while (!run.waiting.empty() && process_front(run)) {
  }
  run.is_locked = run.processing = false;
  if (run.at != CachedRun::At::gathered) return;  // nothing is to be written
  const std::vector<CachedRun*> leaving = leaving_with(run);
  if (!has_room(batch, leaving) || !lock_in_order(leaving, batch.locked)) return;  // it leaves as others do
  for (CachedRun* member : leaving) {
    std::erase(gathered_[static_cast<std::size_t>(batch.shard)], member);
    add_to_batch(*member, batch);
  }
}

// False: the run cannot be decided now. It is read again, because its lock brought too many events for one answer or
// contradicts what is known of it; or it cannot be read.
bool Committer::catch_up(CachedRun& run, const LockedRun& locked) {
  const Hash chain = locked.missed.empty() ? run.chain : locked.missed.back().chain_hash;
  const bool is_whole = locked.head == run.head + std::ssize(locked.missed);
  if (!is_whole || chain != locked.chain_hash) {
    ++counts_.conflicts;
    back_off(run);
    is_whole || locked.head < run.head ? reload(run) : load(run, true, false);
    return false;
  }
  run.has_missed = !locked.missed.empty();
  if (run.has_missed) run.rivals_until = now_ + rivals_us;
  const Status folded = fold(run, {run.id, {}, locked.missed, true, false});
  if (run.at == CachedRun::At::loading) return false;
  run.fresh = ++serial_;
  if (!folded) fail(run, folded.error());
  return folded.ok();
}

bool Committer::has_rivals(const CachedRun& run) const { return now_ < run.rivals_until; }

// Others have written it, and there is more than one branch for them to go on with.
void Committer::note_rivals(CachedRun& run) {
  if (run.rows.size() > 1) run.rivals_until = now_ + rivals_us;
}

// The dearer its lock, the longer do its tasks gather before the next one: the writers of a run share its row, and none
// of them spends most of its time on it.
void Committer::gather_for_a_while(CachedRun& run, TimeUs took_us) const {
  run.lock_after = now_ + std::min(lock_pause_share * took_us, lock_pause_max_us);
}

}  // namespace cairn
