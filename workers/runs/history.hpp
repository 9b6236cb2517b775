// The reading of histories: turns stored rows into graphs and folded states, for the committer, the client and the
// recorded answers. read_histories() blocks on the store; the others are pure functions. Safe from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/state.hpp"
#include "storage/store.hpp"

namespace cairn {

inline constexpr std::int32_t history_page = 2'000;  // events read at once

// A request to read a run's history.
struct Load {
  RunId run;
  std::int64_t after_seq = 0;  // 0: begin with the newest snapshot, if `snapshot`
  bool snapshot = true;
  bool graphs = false;  // read the graphs first: one is missing
  bool names = false;   // read the names' current versions first: a graph that is called is missing; with `graphs`
  bool alone = false;   // was read together with others before, which failed, perhaps because of this one
};

// The answer to a Load: the snapshot if asked for and there, then the events after it (or after `after_seq`).
struct History {
  RunId run;
  std::optional<SnapshotRow> snapshot;
  std::vector<EventRow> rows;
  bool complete = true;    // false: there are more
  bool graphs = false;     // the graphs were read before
  bool fits = true;        // false: the memory is used up, and nothing was read
  std::string fault = {};  // the database refuses to read it, and would again; nothing was read
};

// The answers to the loads, in their order: the first events of each, all of them where they are few. Throws
// StoreUnavailable.
std::vector<History> read_histories(Store& store, std::span<const Load> loads);

// The versions of graphs that folding the event needs.
std::vector<std::string> graphs_named_by(const EventBody& body);

// The refusal `limit` where memory ran out: not the history's fault.
Error no_memory();

// The graph of a stored row: the known one of that version, or else parsed. Refuses `corrupt` where its text is no
// graph, or not that of the version, which is its hash: rules that were altered in the database decide nothing; and
// no_memory(). One such row stops the runs of that graph: a reader of many goes on with the next one.
Result<GraphRef> graph_of(const GraphRow& row, const Graphs& known);

// The state that a snapshot holds. Refuses `unsupported` (a graph version that is not known), `corrupt` (it cannot be
// read; as it is only a cache, the events give the same state), no_memory().
Result<RunState> restored_state(const SnapshotRow& snapshot, const Graphs& graphs);

// Decodes one row. Refuses `unsupported`, `corrupt`.
Result<Event> event_of(const EventRow& row);

// Folds the rows that follow the state; `touched` gains the branches whose job may have changed, with repeats. Refuses
// `unsupported` (an unknown event or graph version), `corrupt`, no_memory(); then the state must be dropped.
Status fold_rows(RunState& state, std::span<const EventRow> rows, const Graphs& graphs, std::vector<BranchId>& touched);
Status fold_rows(RunState& state, std::span<const EventRow> rows, const Graphs& graphs);

}  // namespace cairn
