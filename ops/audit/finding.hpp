// A finding of an audit: one fault of a run, at one event. A plain value; safe to read from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "engine/id.hpp"
#include "engine/json.hpp"

namespace cairn {

// The values of `kind`. Faults of the history:
//   altered      the event's hash does not follow from its content and the event before it
//   missing      events that were there are gone: from `seq` on, or before it
//   reordered    the event was written elsewhere in the history
//   inserted     an event without a place in the chain is between two that follow each other
//   duplicated   the event is in the history a second time
//   surplus      the event is after the head in the run's row
//   unfoldable   the event cannot follow by the rules of the engine: no Cairn process wrote it
//   unsupported  the event, or the graph it names, is not known to this program
//   blob         a large value that the event refers to is gone or different
//   removed      a run named by a signed checkpoint is gone
//   rewritten    the event's hash differs from the one in a signed checkpoint
//   tombstone    no trusted signature stands under what an erased run left
//   call         a run that this one waits for has ended, and this one's history does not say so
//   unsigned     no trusted signature covers the events from `seq` on, though they are older than the processes take to
//                sign, or stand after a signed end: they were added, or their process was killed
// Faults of derived rows: run, job, question, snapshot. Rows that cannot be checked: unreadable, misplaced. Findings of
// no run: graph, checkpoint, and file, which names a run if that run alone is more than a reader of exports takes.
struct Finding {
  RunId run;             // nil: of no run
  std::int64_t seq = 0;  // the event; for a derived row, the head it belongs to; 0: none
  std::string kind;
  std::string says;  // one sentence
  bool operator==(const Finding&) const = default;
};

// {"run", "seq", "kind", "says"}; `run` is null if it is of none.
Json finding_json(const Finding& finding);

}  // namespace cairn
