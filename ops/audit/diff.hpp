// The difference between two histories, or two moments of one: the first event that differs, then the resulting states.
// Times, workers, actors and run ids do not count as differences. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/state.hpp"
#include "workers/client.hpp"

namespace cairn {

// One side: a run up to an event.
struct DiffSide {
  RunState state;
  // Its events after `after_seq`, a page; empty: there are no more.
  std::function<std::vector<Event>(std::int64_t after_seq)> events;
};
// The run whose state it is, up to there. REQUIRES: the client outlives it.
DiffSide diff_side(Client& client, RunState state);

// {"same", "a": {"run", "seq", "status", "cost", "ms"}, "b": likewise, "first": {"a": EVENT|null, "b":
// EVENT|null}|null,
//  "channels", "plan", "budgets", "questions": [{"path", "a"?, "b"?}], "decisions": {"a": [EVENT], "b": [EVENT]}}
// A fork is compared with its origin from where they part; `first` of two moments of one run is the event after the
// earlier one. Decisions are those after the first difference; cost is that of all the events compared.
Json diff_json(const DiffSide& a, const DiffSide& b);

}  // namespace cairn
