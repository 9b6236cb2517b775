// POST /api/v1/bulk: a command to all runs that match a filter. Used by one thread.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

// {"runs", "statuses": {WORD: n}, "refused", "refusals": [{"run", "message"}, ...], "refused_more", "next": CURSOR or
// null}. The first 1,000 refusals are listed, up to 1,000,000 bytes; `refused_more` counts the others, which smaller
// pieces (`limit`) list as well. With `list` in the request it has `listed`, the runs; given again as `only`, they are
// the only ones of those that match which the command acts on. With a cursor more runs may match: the same request with
// it as `after` goes on.
RouteReply command_many_runs(RouteCall& call);

}  // namespace cairn
