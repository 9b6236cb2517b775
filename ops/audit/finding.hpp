// What an audit has against a run: one thing, at one event. A plain value.
#pragma once

#include <cstdint>
#include <string>

#include "engine/id.hpp"
#include "engine/json.hpp"

namespace cairn {

// The words of `kind`. Of the history:
//   altered      the event's hash does not follow from its content and the event before it
//   missing      events that were there are gone: from `seq` on, or before it
//   reordered    the event was written elsewhere in the history
//   inserted     an event that nobody wrote stands between two that follow each other
//   duplicated   the event is in the history a second time
//   surplus      the event lies beyond the head that the run's row knows
//   unfoldable   the event cannot follow: whoever wrote it, it was none of ours
//   unsupported  the event, or the graph it names, is not known to this program
//   blob         a value of the event that lies beside the history is gone or another
//   removed      a run is gone that a signed checkpoint speaks of
//   rewritten    the event has another hash than a signed checkpoint says
// Of what is derived from it: run, job, question, snapshot. Of what cannot be looked into: unreadable, misplaced. Of
// no run: graph, checkpoint, file.
struct Finding {
  RunId run;             // nil: of no run
  std::int64_t seq = 0;  // the event; of what is derived: the head it belongs to; 0: none
  std::string kind;
  std::string says;  // one sentence
  bool operator==(const Finding&) const = default;
};

// {"run", "seq", "kind", "says"}; `run` is null if it is of none.
Json finding_json(const Finding& finding);

}  // namespace cairn
