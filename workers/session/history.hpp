// From stored rows to folded states: what the committer and the client share. `read` functions block on the store; the
// others are pure. Safe from any thread.
#pragma once

#include <span>

#include "engine/graph.hpp"
#include "engine/state.hpp"
#include "storage/store.hpp"
#include "workers/session/committer.hpp"

namespace cairn {

inline constexpr std::int32_t history_page = 2'000;  // events read at once

// The answers to loads, in their order: of each the events that come first; all of them when they are few. Throws
// StoreUnavailable.
std::vector<History> read_histories(Store& store, std::span<const Load> loads);

// The versions of graphs that folding the event needs.
std::vector<std::string> graphs_named_by(const EventBody& body);

// Decodes one row. Refuses `unsupported`, `corrupt`.
Result<Event> event_of(const EventRow& row);

// Folds the rows that follow the state. Refuses `unsupported` (an unknown event or graph version), `corrupt`; then the
// state is to be dropped.
Status fold_rows(RunState& state, std::span<const EventRow> rows, const Graphs& graphs);

}  // namespace cairn
