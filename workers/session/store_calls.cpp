#include "workers/session/store_calls.hpp"

#include <algorithm>

#include "storage/commit_rules.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {
namespace {

constexpr std::int32_t loose_ends_max = 50;  // each may cost two histories
constexpr const char* no_memory_for_entry = "the memory for it is used up";
constexpr std::int32_t orphans_max = 1'000;  // open children looked at by one scan

// The report of the same attempt without what takes room, or what the database does not take.
Command failed_instead(const Command& report, Failure failure) {
  if (const auto* complete = std::get_if<CompleteStep>(&report))
    return FailStep{complete->step, complete->attempt, std::move(failure), complete->worker, complete->started_at};
  FailStep failed = std::get<FailStep>(report);
  failed.failure.facts.clear();
  return failed;
}

// As the session reports an outcome that the database does not take.
Failure refused(const std::string& what, const std::exception& fault) {
  return {"invalid", "Expected the database to " + what + ", but it refuses: " + fault.what(), true, {}};
}

// Each unit, an entry or several that are linked, for itself: one that there is no memory for is refused, and the
// others are committed. In doubt: the answer for all may be what there was no memory for.
std::vector<Verdict> commit_apart(Store& store, Shard shard, std::span<const Entry> entries, CommitOptions options) {
  std::vector<Verdict> verdicts(entries.size());
  const auto is_linked = [](const Entry& one, const Entry& other) { return one.link != 0 && one.link == other.link; };
  for (std::size_t from = 0, to = 0; from < entries.size(); from = to) {
    for (to = from + 1; to < entries.size() && is_linked(entries[from], entries[to]);) ++to;
    const std::span<Verdict> of_unit = std::span(verdicts).subspan(from, to - from);
    try {
      const std::span<const Entry> part = entries.subspan(from, to - from);
      std::vector<Entry> unit(part.begin(), part.end());
      for (Entry& entry : unit) entry.in_doubt = entry.commit != 0;
      std::ranges::move(store.commit(shard, unit, options), of_unit.begin());
    } catch (const std::bad_alloc&) {
      for (Verdict& verdict : of_unit) {
        verdict.kind = Verdict::Kind::refused;
        verdict.fault = no_memory_for_entry;
      }
    }
  }
  return verdicts;
}

}  // namespace

void OpenSession::carry_out(const CallSite& at) {
  answer.database_us = at.store.database_time();
  answer.steady_us = at.steady();
  answer.graphs = read_new_graphs(at.store, known, wants_queues);
  answer.queue_limits = at.store.limits().queue_limits();
  row.started_at = row.beat_at = answer.database_us;
  at.store.sessions().open(row);
}

void SetBegun::carry_out(const CallSite& at) {
  at.store.sessions().set_begun(session, attempts);
  answer = at.store.jobs().standing_begun(holds);
}

void ReadHistories::carry_out(const CallSite& at) {
  try {
    answer.histories = read_histories(at.store, loads);
    answer.graphs = read_graphs_of(at.store, loads, answer.histories);
  } catch (const std::bad_alloc&) {
    if (loads.size() > 1) throw;  // each is read alone then
    answer.histories = {History{.run = loads.front().run, .snapshot = {}, .rows = {}, .fits = false}};
  } catch (const StoreUnavailable&) {
    throw;
  } catch (const std::exception& fault) {
    if (!loads.front().alone) throw;
    answer.histories = {History{.run = loads.front().run, .snapshot = {}, .rows = {}, .fault = fault.what()}};
  }
}

std::vector<ReadHistories> calls_of(std::vector<Load> loads) {
  constexpr std::size_t histories_max = 100;  // in one call
  std::vector<ReadHistories> calls;
  ReadHistories together;
  for (Load& load : loads) {
    if (load.alone) {  // it must not keep the others from being read
      calls.push_back({{std::move(load)}});
      continue;
    }
    together.loads.push_back(std::move(load));
    if (together.loads.size() == histories_max) calls.push_back(std::exchange(together, {}));
  }
  if (!together.loads.empty()) calls.push_back(std::move(together));
  return calls;
}

void Commit::carry_out(const CallSite& at) {
  try {
    answer = at.store.commit(batch.shard, *batch.entries, {.notify = batch.notify});
  } catch (const std::bad_alloc&) {
    answer = commit_apart(at.store, batch.shard, *batch.entries, {.notify = batch.notify});
  }
}

void CommitLocked::carry_out(const CallSite& at) {
  bool was_asked = false;
  LockedDecision decision;
  const auto decide = [&](std::vector<LockedRun> runs) {
    was_asked = true;
    return decision = at.decide_locked(commit.batch, std::move(runs));
  };
  try {
    try {
      answer = at.store.commit_locked(commit.shard, commit.runs, decide);
    } catch (const std::bad_alloc&) {
      if (was_asked) throw;
      lock_without_missed(at.store, decide);
    }
  } catch (const std::bad_alloc&) {
    if (decision.entries.empty()) throw;
    answer = {commit_apart(at.store, commit.shard, decision.entries, decision.options)};
  }
}

// There is no memory for what the runs have missed. Each is asked for alone: one that has missed nothing is decided
// under its lock, and the others are read again, in pieces; that says so if there is no memory for one of them.
void CommitLocked::lock_without_missed(Store& store, const DecideLocked& decide) {
  std::vector<LockedRun> all(commit.runs.size(), run_not_given());
  std::vector<KnownRun> to_lock;
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < commit.runs.size(); ++at) {
    try {
      (void)store.commit_locked(commit.shard, {&commit.runs[at], 1}, [&](std::vector<LockedRun> alone) {
        all[at] = std::move(alone.front());
        return LockedDecision{};
      });
    } catch (const std::bad_alloc&) {
      continue;
    }
    if (!std::exchange(all[at].missed, {}).empty()) continue;
    to_lock.push_back(commit.runs[at]);
    places.push_back(at);
  }
  answer = store.commit_locked(commit.shard, to_lock, [&](std::vector<LockedRun> locked) {
    for (std::size_t at = 0; at < places.size(); ++at) all[places[at]] = std::move(locked[at]);
    return decide(std::move(all));
  });
}

void LetGo::carry_out(const CallSite& at) {
  answer = is_of_others ? at.store.jobs().release_unbegun(holds, run_at_us) : at.store.jobs().release(holds, run_at_us);
  at.store.notify();
}

// The record is asked first: its keys are made of inputs in which large values are still references.
void ReadBlobs::carry_out(const CallSite& at) const {
  try {
    if (work->recorded)
      work->answer = records->answer(at.store, *work->recorded, work->input, work->handler, *handlers, graphs);
    put_back(*work, [&](const Hash& hash) { return texts->read(at.store, shard, hash); });
  } catch (const std::bad_alloc&) {
    work->answer = memory_used_up();
  } catch (const StoreUnavailable&) {
    throw;
  } catch (const std::exception& fault) {
    work->answer = refused("give the large values that the step reads", fault);
  }
}

void KeepBlobs::carry_out(const CallSite& at) {
  try {
    for (const Blob& blob : blobs) at.store.values().put(shard, blob.hash, blob.bytes);
  } catch (const std::bad_alloc&) {
    command = failed_instead(command, memory_used_up());
  } catch (const StoreUnavailable&) {
    throw;
  } catch (const std::exception& fault) {
    command = failed_instead(command, refused("keep the large values that the step leaves", fault));
  }
}

void ScanSessions::carry_out(const CallSite& at) {
  answer = {};
  at.store.sessions().end_stalled(session_silence_ms);
  if (scans_jobs) {
    const TimeUs began_us = at.steady();
    answer.held = at.store.sessions().scan_held(session, now_us, held_max);
    answer.jobs_took_us = at.steady() - began_us;
  }
  answer.database_us = at.store.database_time();
  answer.steady_us = at.steady();
  answer.sessions = at.store.sessions().all();
  answer.orphans = at.store.all_runs().orphans(orphans_from, orphans_max);
  answer.loose_ends = at.store.all_runs().loose_ends(loose_after, loose_ends_max);
  answer.are_last = std::ssize(answer.loose_ends) < loose_ends_max;
  answer.queue_limits = at.store.limits().queue_limits();
  if (!at.has_exited) return;
  for (const SessionRow& row : answer.sessions)
    if (at.has_exited(row)) answer.exited.push_back(row.id);
}

void ReapSession::carry_out(const CallSite& at) {
  answer = at.store.sessions().held_by(session, holds_max, share);
  if (answer.empty() && share.of == 1) at.store.sessions().close(session);
}

const char* purpose(const StoreCall& call) {
  return std::visit([](const auto& one) { return one.purpose(); }, call);
}

void carry_out(StoreCall& call, const CallSite& at) {
  std::visit([&at](auto& one) { one.carry_out(at); }, call);
}

}  // namespace cairn
