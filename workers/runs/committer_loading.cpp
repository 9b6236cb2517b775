// The committer reads runs: what comes moves a cached state forward, or takes its place.
#include "engine/snapshot.hpp"
#include "storage/chain.hpp"
#include "workers/runs/committer_records.hpp"

namespace cairn {
namespace {

constexpr TimeUs loss_said_every_us = 60'000'000;

}  // namespace

// Events that would be read again without a new snapshot.
void Committer::count_folded(CachedRun& run, const std::vector<EventRow>& rows) {
  run.folded_events += static_cast<std::int64_t>(rows.size());
  run.folded_bytes += bytes_of(rows);
}

void Committer::load(CachedRun& run, bool snapshot, bool graphs) {
  run.at = CachedRun::At::loading;
  // Now, not when the answer comes: what is read may be older than a task that arrives meanwhile, and a refusal of that
  // task must not rest on it.
  run.asked = ++serial_;
  // The last known event is read again: a server that took over without it, or a restored backup, has another one or
  // none, and then the state is of a history that is no more.
  if (run.state.seq == 1) run.drop_state();
  actions_.loads.push_back({run.id, std::max<std::int64_t>(run.state.seq - 1, 0), snapshot, graphs || run.wants_names,
                            run.wants_names, false});
}

void Committer::reload(CachedRun& run) {
  lose_state(run);
  load(run, true, false);
}

// The store contradicts it. The head that was known is compared with the one that is read next.
void Committer::lose_state(CachedRun& run) {
  if (run.head > run.lost_head) {
    run.lost_head = run.head;
    run.lost_chain = run.chain;
  }
  run.drop_state();
}

void Committer::doubt(const RunId& id) {
  CachedRun* run = runs_.find(id);
  if (run != nullptr && run->at == CachedRun::At::idle) lose_state(*run);
}

// Whether the rows, read after the state or from its last event on, are of the history that the state was folded from.
bool Committer::continues(const CachedRun& run, std::span<const EventRow> rows, Shard shard) {
  if (run.head == 0 || rows.empty()) return true;
  const EventRow& first = rows.front();
  if (first.seq == run.head) return first.chain_hash == run.chain;
  return first.seq == run.head + 1 && first.chain_hash == chain_next(run.chain, shard, run.id, first);
}

void Committer::load_failed(const RunId& id) {
  CachedRun* run = runs_.find(id);
  if (run == nullptr || run->at != CachedRun::At::loading) return;
  const bool names = run->wants_names;
  loads_again_.push_back(
      {now_ + again_us, {id, std::max<std::int64_t>(run->state.seq - 1, 0), true, names, names, true}});
}

void Committer::history(History history) {
  CachedRun* run = runs_.find(history.run);
  if (run == nullptr || run->at != CachedRun::At::loading) return;
  run->at = CachedRun::At::idle;
  const std::int64_t head_before = run->head;
  // At least the last known event was asked for.
  if (history.fits && run->head > 0 && history.rows.empty()) return reload(*run);
  if (!history.fault
           .empty())  // another process's login, or a repaired page, may give it: as a version of a newer program
    return fail(*run, {Code::unsupported, "Expected the database to give the history of run " + to_string(run->id) +
                                              ", but it refuses: " + history.fault + "."});
  if (history.graphs && std::exchange(run->wants_names, false)) run->has_names = true;
  const Status folded = history.fits ? fold(*run, history) : Status(no_memory());
  if (run->at == CachedRun::At::loading) return;
  if (!folded) return fail(*run, folded.error());
  const bool is_new = !run->loaded;
  if (is_new) count_folded(*run, history.rows);
  if (!history.complete) return load(*run, false, false);
  if (run->lost_head > 0) note_gone_back(*run);
  if (is_new || run->head > head_before) note_rivals(*run);
  if (is_new && has_rivals(*run))
    run->folded_events = run->folded_bytes = 0;  // their snapshot is their writers' affair
  run->loaded = true;
  run->fresh = run->asked;
  runs_.measure(*run);
  if (run->head == 0 && !run->waiting.empty() && !std::holds_alternative<StartRun>(run->waiting.front().what.command))
    return fail(*run, no_such_run(to_string(run->id)));
  process(*run);
}

// An older backup or a standby that lagged is in the database's place. Without any event the run may have been
// archived.
void Committer::note_gone_back(CachedRun& run) {
  const std::int64_t known = std::exchange(run.lost_head, 0);
  const bool is_less = run.head > 0 && run.head < known;
  const bool is_other = run.head == known && run.chain != run.lost_chain;
  if ((!is_less && !is_other) || now_ < silent_of_loss_until_) return;
  silent_of_loss_until_ = now_ + loss_said_every_us;
  actions_.gone_back.push_back({run.id, known, run.head});
}

// False if the history cannot be folded now and is read again. Refuses what never will be folded.
Result<bool> Committer::restore(CachedRun& run, const History& history) {
  Result<RunState> restored = restored_state(*history.snapshot, graphs());
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
Status Committer::fold(CachedRun& run, const History& history) {
  if (!continues(run, history.rows, shard_of(run.id, options_.shards))) {
    reload(run);
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
  if (const Status folded = fold_rows(run.state, rows, graphs(), touched); !folded) {
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
  CHECK(run.state.seq == run.head);  // the next entry is built on the state and names the head
  run.added_bytes += bytes_of(rows);
  return Done{};
}

// The run cannot be read: all that waits for it is refused; nothing else is disturbed.
void Committer::fail(CachedRun& run, const Error& error) {
  const std::vector<RunTask> tasks = run.waiting.drain();
  waiting_ -= static_cast<std::int64_t>(tasks.size());
  CHECK(waiting_ >= 0);  // pairs with enqueue()
  run.drop_state();
  for (const RunTask& task : tasks) refuse(task, run, error);
  if (!run.is_busy()) runs_.forget(run);
}

// `run` cannot be read. A called run's end waits for it, unless there is no such run.
void Committer::refuse(const RunTask& task, const CachedRun& run, const Error& error) {
  if (task.kind != RunTask::Kind::notice) return reply(task, run, error);
  error.code == Code::not_found ? free_child(task) : hold_up_child(task, error);
}

std::string to_sentence(const GoneBack& gone) {
  return "The database has gone back: run " + to_string(gone.run) + " stands at event " + std::to_string(gone.found) +
         ", and event " + std::to_string(gone.known) +
         " of it was committed. An older backup or a standby that lagged is in its place; `cairn verify --all` "
         "names what is gone.";
}

}  // namespace cairn
