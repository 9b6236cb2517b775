#include "workers/session/store_calls.hpp"

#include <algorithm>

namespace cairn {
namespace {

constexpr std::int32_t sweep_rows = 200;
constexpr std::int64_t stalled_after_ms = 10'000;

struct Purpose {
  const char* operator()(const OpenSession&) const { return "open a session"; }
  const char* operator()(const CloseSession&) const { return "close the session"; }
  const char* operator()(const ReadGraphs&) const { return "read the graphs"; }
  const char* operator()(const ReadHistories&) const { return "read histories"; }
  const char* operator()(const Commit&) const { return "commit"; }
  const char* operator()(const PutSnapshot&) const { return "keep a snapshot"; }
  const char* operator()(const ClaimRequest&) const { return "claim steps"; }
  const char* operator()(const LetGo&) const { return "let go of steps"; }
  const char* operator()(const ReadBlobs&) const { return "read large values"; }
  const char* operator()(const KeepBlobs&) const { return "keep large values"; }
  const char* operator()(const LookAround&) const { return "look after the other sessions"; }
  const char* operator()(const Bury&) const { return "bury a session"; }
};

struct CarryingOut {
  Store& store;
  const std::function<TimeUs()>& steady;

  StoreAnswer operator()(const OpenSession& call) const {
    SessionOpened opened;
    opened.database_us = store.database_time();
    opened.steady_us = steady();
    opened.graphs = store.graphs();
    opened.queue_settings = store.queue_settings();
    SessionRow row = call.row;
    row.started_at = opened.database_us;
    row.beat_at = opened.database_us;
    store.open_session(row);
    return opened;
  }

  StoreAnswer operator()(const CloseSession& call) const {
    store.close_session(call.session);
    return Done{};
  }

  StoreAnswer operator()(const ReadGraphs&) const { return store.graphs(); }

  StoreAnswer operator()(const ReadHistories& call) const {
    HistoriesRead read;
    const bool wants_graphs =
        std::any_of(call.loads.begin(), call.loads.end(), [](const Load& one) { return one.graphs; });
    if (wants_graphs) read.graphs = store.graphs();
    read.histories = read_histories(store, call.loads);
    return read;
  }

  StoreAnswer operator()(const Commit& commit) const {
    return store.commit(commit.batch.shard, *commit.batch.entries, {.notify = commit.batch.wakes});
  }

  StoreAnswer operator()(const PutSnapshot& put) const {
    store.put_snapshot(put.run, put.row);
    return Done{};
  }

  StoreAnswer operator()(const ClaimRequest& request) const { return store.claim(request); }

  StoreAnswer operator()(const LetGo& let_go) const {
    store.release(let_go.holds, let_go.run_at_us);
    store.notify();
    return Done{};
  }

  StoreAnswer operator()(const ReadBlobs& call) const {
    Work& work = *call.work;
    if (work.recorded) {  // before large values are put back: the record's inputs stand for them too
      work.answer = call.records->answer(store, *work.recorded, work.input, work.handler, *call.handlers, call.graphs);
    }
    put_back(work.input, [&](const Hash& hash) { return store.blob(call.shard, hash); });
    return Done{};
  }

  StoreAnswer operator()(const KeepBlobs& call) const {
    for (const Blob& blob : call.blobs) store.put_blob(call.shard, blob.hash, blob.bytes);
    return Done{};
  }

  StoreAnswer operator()(const LookAround& look) const {
    Seen seen;
    seen.now_us = look.now_us;
    store.end_stalled(stalled_after_ms);
    if (look.at_jobs) look_at_jobs(look, seen);
    seen.database_us = store.database_time();
    seen.steady_us = steady();
    seen.sessions = store.sessions();
    seen.orphans = store.orphans(sweep_rows);
    seen.queue_settings = store.queue_settings();
    return seen;
  }

  void look_at_jobs(const LookAround& look, Seen& seen) const {
    const TimeUs began_us = steady();
    seen.held = store.scan_held(look.session, look.now_us, look.held_max);
    seen.jobs_took_us = steady() - began_us;
  }

  StoreAnswer operator()(const Bury& bury) const {
    std::vector<HeldJob> held = store.held_by(bury.session, sweep_rows);
    if (held.empty()) store.close_session(bury.session);
    return held;
  }
};

}  // namespace

const char* purpose(const StoreCall& call) { return std::visit(Purpose{}, call); }

StoreAnswer carry_out(Store& store, const StoreCall& call, const std::function<TimeUs()>& steady) {
  return std::visit(CarryingOut{store, steady}, call);
}

}  // namespace cairn
