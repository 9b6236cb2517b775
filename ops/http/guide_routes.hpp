// The guides over HTTP, for agents: /llms.txt and the pages that it leads to. Without a token: they hold nothing of the
// database. Safe from any thread.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

RouteReply show_llms(RouteCall& call);
RouteReply show_guide(RouteCall& call);

}  // namespace cairn
