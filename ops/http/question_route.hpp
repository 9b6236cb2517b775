// GET /questions: the open questions of all runs that a filter and the token's scope cover, oldest first, a page at a
// time. Safe from any thread.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

RouteReply list_questions(RouteCall& call);

}  // namespace cairn
