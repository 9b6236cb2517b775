// From stored rows to folded states: what the committer and the client share. `read` functions block on the store; the
// others are pure. Safe from any thread.
#pragma once

#include <span>

#include "engine/graph.hpp"
#include "engine/state.hpp"
#include "storage/store.hpp"
#include "workers/committer.hpp"

namespace cairn {

inline constexpr std::int32_t history_page = 2'000;

// The answer to a Load: one page. Throws StoreUnavailable.
History read_history(Store& store, const Load& load);

// Decodes one row. Refuses `unsupported`, `corrupt`.
Result<Event> event_of(const EventRow& row);

// Folds the rows that follow the state. Refuses `unsupported` (an unknown event or graph version), `corrupt`; then the
// state is to be dropped.
Status fold_rows(RunState& state, std::span<const EventRow> rows, const Graphs& graphs);

}  // namespace cairn
