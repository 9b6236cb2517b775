#include "workers/session/store_calls.hpp"

#include <algorithm>

#include "workers/session/worker_options.hpp"

namespace cairn {
namespace {

constexpr std::int32_t loose_ends_max = 50;  // each may cost two histories
constexpr std::int32_t orphans_max = 1'000;  // open children looked at by one scan

}  // namespace

void OpenSession::carry_out(const CallSite& at) {
  answer.database_us = at.store.database_time();
  answer.steady_us = at.steady();
  answer.graphs = new_graphs(at.store, known);
  answer.queue_settings = at.store.queue_settings();
  row.started_at = row.beat_at = answer.database_us;
  at.store.open_session(row);
}

void ReadHistories::carry_out(const CallSite& at) {
  const bool wants_graphs = std::any_of(loads.begin(), loads.end(), [](const Load& one) { return one.graphs; });
  if (wants_graphs) answer.graphs = new_graphs(at.store, known);
  answer.histories = read_histories(at.store, loads);
}

void CommitLocked::carry_out(const CallSite& at) {
  answer = at.store.commit_locked(commit.shard, commit.runs, [&](std::vector<LockedRun> runs) {
    return at.decide_locked(commit.batch, std::move(runs));
  });
}

void LetGo::carry_out(const CallSite& at) const {
  at.store.release(holds, run_at_us);
  at.store.notify();
}

// The record is asked first: its keys are made of inputs in which large values are still references.
void ReadBlobs::carry_out(const CallSite& at) const {
  if (work->recorded)
    work->answer = records->answer(at.store, *work->recorded, work->input, work->handler, *handlers, graphs);
  put_back(*work, [&](const Hash& hash) { return texts->read(at.store, shard, hash); });
}

void KeepBlobs::carry_out(const CallSite& at) const {
  for (const Blob& blob : blobs) at.store.put_blob(shard, blob.hash, blob.bytes);
}

void ScanSessions::carry_out(const CallSite& at) {
  answer = {};
  at.store.end_stalled(session_silence_ms);
  if (scans_jobs) {
    const TimeUs began_us = at.steady();
    answer.held = at.store.scan_held(session, now_us, held_max);
    answer.jobs_took_us = at.steady() - began_us;
  }
  answer.database_us = at.store.database_time();
  answer.steady_us = at.steady();
  answer.sessions = at.store.sessions();
  answer.orphans = at.store.orphans(orphans_from, orphans_max);
  answer.loose_ends = at.store.loose_ends(loose_after, loose_ends_max);
  answer.are_last = std::ssize(answer.loose_ends) < loose_ends_max;
  answer.queue_settings = at.store.queue_settings();
  if (!at.has_exited) return;
  for (const SessionRow& row : answer.sessions)
    if (at.has_exited(row)) answer.exited.push_back(row.id);
}

void ReapSession::carry_out(const CallSite& at) {
  answer = at.store.held_by(session, holds_max, share);
  if (answer.empty() && share.of == 1) at.store.close_session(session);
}

const char* purpose(const StoreCall& call) {
  return std::visit([](const auto& one) { return one.purpose(); }, call);
}

void carry_out(StoreCall& call, const CallSite& at) {
  std::visit([&at](auto& one) { one.carry_out(at); }, call);
}

}  // namespace cairn
