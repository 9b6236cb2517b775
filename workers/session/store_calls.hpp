// What a session asks of the store, and what comes back: plain values. carry_out() blocks on the store and is safe from
// any thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "storage/store.hpp"
#include "workers/session/committer.hpp"
#include "workers/session/executor.hpp"
#include "workers/session/history.hpp"
#include "workers/session/recorded_answers.hpp"

namespace cairn {

struct OpenSession {
  SessionRow row;  // its start is the database's time
};
struct SessionOpened {
  TimeUs database_us = 0;
  TimeUs steady_us = 0;  // at that moment
  std::vector<GraphRow> graphs;
  std::vector<QueueSettings> queue_settings;
};
struct CloseSession {
  SessionId session = 0;
};
struct ReadGraphs {};

struct ReadHistories {
  std::vector<Load> loads;
};
struct HistoriesRead {
  std::vector<History> histories;  // of the loads, in their order
  std::vector<GraphRow> graphs;    // if a load asked for them
};
struct Commit {
  CommitBatch batch;
};
struct LetGo {
  std::vector<std::pair<RunId, Fence>> holds;
  TimeUs run_at_us = 0;
};

// Two calls about what the step in `slot` reads and leaves beside its events: large values, and of a fork that takes
// its answers from the record, that record.
struct ReadBlobs {
  Ticket slot = 0;
  Shard shard = 0;
  std::shared_ptr<Work> work;  // made whole in place; the call's alone while it is under way
  Graphs graphs;               // for a record, with the handlers
  const HandlerTable* handlers = nullptr;
  std::shared_ptr<StepRecords> records = {};
};
struct KeepBlobs {
  Ticket slot = 0;
  Shard shard = 0;
  std::vector<Blob> blobs;
  Command command;  // the report that names them
};

// One look at all sessions, and where asked for at all jobs that are held: no index knows them (a held row moves to its
// next step without one), so that costs as much as there are jobs.
struct LookAround {
  SessionId session = 0;
  std::int32_t held_max = 0;
  TimeUs now_us = 0;
  bool at_jobs = true;
};
struct Seen {
  TimeUs now_us = 0;  // when it was asked for
  std::vector<SessionRow> sessions;
  std::vector<SessionId> gone;  // of these, whose process is no more; told by whoever carries the call out
  HeldScan held;
  TimeUs jobs_took_us = 0;  // to look at; steady
  std::vector<RunId> orphans;
  std::vector<QueueSettings> queue_settings;
  TimeUs database_us = 0;
  TimeUs steady_us = 0;  // at that moment
};
struct Bury {  // answered by what it still held; if that is nothing, its row is gone
  SessionId session = 0;
};

using StoreCall = std::variant<OpenSession, CloseSession, ReadGraphs, ReadHistories, Commit, PutSnapshot, ClaimRequest,
                               LetGo, ReadBlobs, KeepBlobs, LookAround, Bury>;
using StoreAnswer = std::variant<Done, SessionOpened, HistoriesRead, std::vector<GraphRow>, std::vector<Verdict>,
                                 ClaimedBatch, std::vector<HeldJob>, Seen>;

// For a sentence: "Expected to <claim steps>, but ..."
const char* purpose(const StoreCall& call);

// Throws StoreUnavailable: then it happened or not. `steady`: a monotonic clock.
StoreAnswer carry_out(Store& store, const StoreCall& call, const std::function<TimeUs()>& steady);

}  // namespace cairn
