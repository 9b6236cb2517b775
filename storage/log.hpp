// The log's rows: runs and their events, with what is kept for a run besides (questions, snapshots), the graphs, and
// the filters and requests by which they are read. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/event.hpp"
#include "engine/id.hpp"
#include "storage/digest.hpp"

namespace cairn {

// One row of `event`: exactly the bytes that are hashed.
struct EventRow {
  std::int64_t seq = 0;
  TimeUs at_us = 0;
  std::int16_t type = 0;
  std::int16_t version = 0;
  StepId step = 0;
  std::string actor;
  std::string payload;
  std::int64_t commit = 0;  // the id of the batch that wrote it; set by the store
  Hash chain_hash{};        // set by the store
};

// One row of `run`. The hash chain begins from its id and graph version (storage/chain.hpp).
struct RunRow {
  RunId id;
  std::string graph;
  std::string version;
  RunStatus status = RunStatus::running;
  bool waiting = false;
  std::int64_t head = 0;  // seq of the last event
  Hash chain_hash{};      // of the last event
  std::optional<RunId> parent;
  std::optional<RunId> continues;
  std::optional<ForkPoint> forked_from = {};
  TimeUs started_at = 0;
  TimeUs updated_at = 0;
  std::string reason;
  Tags tags;
  std::optional<CauseOfFailure> cause = {};  // of a run that failed or was aborted; read from its last event
};

// The run before this one in its lineage: the origin of a fork, otherwise the run it continues.
inline std::optional<RunId> predecessor(const RunRow& run) {
  return run.forked_from ? std::optional(run.forked_from->run) : run.continues;
}

struct QuestionRow {
  RunId run;
  std::string id;
  StepId step = 0;
  std::string kind;
  Json prompt;
  Json schema;
  std::optional<Json> fallback;
  std::optional<TimeUs> expires_at;
  TimeUs asked_at = 0;
};

// A question's place in the order in which all of them are listed.
struct QuestionPlace {
  TimeUs asked_at = 0;
  RunId run;
  std::string id;
};

// A called run whose end was committed without its caller.
struct LooseEnd {
  RunId run;
  bool caller_is_open = false;
  friend bool operator==(const LooseEnd&, const LooseEnd&) = default;
};

struct SnapshotRow {
  std::int64_t seq = 0;
  std::int32_t fold_version = 0;
  Hash chain_hash{};  // of event `seq`
  std::string state;
};

// The part of a run's history to read for a fold.
struct HistoryRequest {
  RunId run;
  std::int64_t after_seq = 0;
  std::optional<std::int32_t> fold_version = {};  // begin with the newest snapshot of this version, if there is one
};
struct StoredHistory {
  std::optional<SnapshotRow> snapshot;
  std::vector<EventRow> events;  // after the snapshot, otherwise after `after_seq`; in order
};

struct RunFilter {
  std::string graph;  // "": any
  std::optional<RunStatus> status;
  std::optional<bool> waiting;
  Tags tags;                                           // all must match
  std::optional<TimeUs> since;                         // started at or after
  std::optional<TimeUs> until = {};                    // started before
  std::string version = {};                            // of the graph, or how it begins
  std::string reason = {};                             // stands in the reason, in any case of letters
  std::string error = {};                              // of the cause
  std::string node = {};                               // of the cause
  std::string tool = {};                               // a call of it is on record; not with `lineage`
  TimeUs lasted_us = 0;                                // from the start to the last event at least
  std::optional<RunId> parent = {};                    // called by this run
  std::optional<RunId> lineage = {};                   // this run, its predecessors, and all successors of one of them
  std::optional<std::pair<TimeUs, RunId>> after = {};  // start and id of the last run of the page before
  std::int32_t limit = 100;
};

struct GraphRow {
  std::string name;
  std::string version;
  std::string text;
  bool current = false;
  std::string actor = {};  // put it there, or made it current last; empty: unknown
  TimeUs at_us = 0;        // of that; set by the store
};

// Where an imported run came from.
struct ImportOrigin {
  TimeUs at_us = 0;              // of the import
  std::string by;                // who imported
  std::string database;          // identity of the database that exported
  Hash file_digest{};            // SHA-256 of the file's bytes
  std::optional<Hash> key = {};  // fingerprint of the trusted key whose signature over its head was checked
};

// A signed statement of a process about the heads it committed; see storage/proof/checkpoint.hpp.
struct Checkpoint {
  std::int64_t process = 0;  // one start of a process; never used again
  std::int64_t n = 0;        // 1, 2, 3 ... of the process
  TimeUs at_us = 0;
  Hash key{};             // fingerprint of the public key
  std::string heads;      // as text
  Hash previous{};        // hash of the process's checkpoint before this one
  std::string signature;  // bytes
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

}  // namespace cairn
